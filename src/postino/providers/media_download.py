"""Download images and videos for networks that want the bytes themselves."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta

from postino.outbound.ssrf import DownloadRefused
from postino.rules.failures import classify_status
from postino.values.provider import Failure, FailureKind, Http, Media

# The first bytes of each file type: servers often send a wrong Content-Type, or none.
SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftyphei", "image/heic"),
    (4, b"ftypmif1", "image/heif"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)  # offset, bytes, media type

SLOWEST_UPLOAD = 1_000_000  # bytes a second
MAX_EXTRA_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A downloaded image or video."""

    data: bytes
    type: str

    @property
    def name(self) -> str:
        """A file name with the right extension: some networks go by it."""
        return f"media.{self.type.partition('/')[2].replace('jpeg', 'jpg').replace('quicktime', 'mov')}"


def compute_upload_timeout(timeout: timedelta, file: MediaFile) -> float:
    """Return how many seconds to wait for the response to an upload: longer for a large file, within limits."""
    return timeout.total_seconds() + min(len(file.data) / SLOWEST_UPLOAD, MAX_EXTRA_SECONDS)


class MediaCache:
    """Files that were downloaded and not sent yet. A visible call must not wait for a download."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._files: OrderedDict[str, MediaFile] = OrderedDict()

    def put(self, name: str, file: MediaFile) -> None:
        """Add a file; the oldest files are dropped when there are too many bytes."""
        self._files.pop(name, None)
        self._files[name] = file
        while len(self._files) > 1 and sum(len(it.data) for it in self._files.values()) > self._max_bytes:
            self._files.popitem(last=False)

    def get(self, name: str) -> MediaFile | None:
        return self._files.get(name)

    def drop(self, name: str) -> None:
        self._files.pop(name, None)


async def download_media(http: Http, media: Media, max_bytes: int) -> MediaFile | Failure:
    """Download the file behind a URL a person entered. Raises NotSent and LostResponse, as every call does."""
    try:
        answer = await http.fetch(media.url, most=max_bytes)
    except DownloadRefused as error:
        message = f"The {media.kind} cannot be downloaded: {error} Choose another {media.kind}."
        return Failure(FailureKind.PERMANENT, message, "media")
    if not answer.ok:
        return _classify_status(media, answer.status)
    media_type = detect_type(answer.body) or answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not media_type.startswith(("image/", "video/")):
        got = media_type or "an unknown type"
        message = f"The URL does not point to an image or a video (got {got}). Choose another {media.kind}."
        return Failure(FailureKind.PERMANENT, message, "media")
    return MediaFile(answer.body, media_type)


def detect_type(data: bytes) -> str | None:
    """Return the media type by the first bytes of a file; None if they are unknown."""
    return next((kind for offset, signature, kind in SIGNATURES if data.startswith(signature, offset)), None)


def _classify_status(media: Media, status: int) -> Failure:
    if classify_status(status) in ("transient", "rate_limit"):
        message = f"The {media.kind} could not be downloaded (status {status}). Postino tries again."
        return Failure(FailureKind.TRANSIENT, message, "media")
    message = f"The {media.kind} does not exist any more or is not public (status {status}). Upload it again."
    return Failure(FailureKind.PERMANENT, message, "media")
