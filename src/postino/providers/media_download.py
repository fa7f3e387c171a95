"""Pictures and films for networks that want the bytes themselves."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta

from postino.outbound.ssrf import DownloadRefused
from postino.rules.failures import classify_status
from postino.values.provider import Failure, FailureKind, Http, Media

# How files begin, because servers say the wrong type, or none.
BEGINNINGS = (
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
)

SLOWEST_UPLOAD = 1_000_000  # bytes a second
MOST_EXTRA_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class File:
    """What was fetched."""

    data: bytes
    type: str

    @property
    def name(self) -> str:
        """As networks want to see one: they judge by the ending."""
        return f"media.{self.type.partition('/')[2].replace('jpeg', 'jpg').replace('quicktime', 'mov')}"


def upload_seconds(usual: timedelta, file: File) -> float:
    """How long the answer to an upload is waited for: a large file takes its time, but a step has an end."""
    return usual.total_seconds() + min(len(file.data) / SLOWEST_UPLOAD, MOST_EXTRA_SECONDS)


class Shelf:
    """Files that were fetched and are about to be sent: a visible call must not wait for them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._files: OrderedDict[str, File] = OrderedDict()

    def put(self, name: str, file: File) -> None:
        """The oldest make room, so that what is never sent does not stay."""
        self._files.pop(name, None)
        self._files[name] = file
        while len(self._files) > 1 and sum(len(it.data) for it in self._files.values()) > self._most:
            self._files.popitem(last=False)

    def get(self, name: str) -> File | None:
        return self._files.get(name)

    def drop(self, name: str) -> None:
        self._files.pop(name, None)


async def fetch(http: Http, media: Media, most: int) -> File | Failure:
    """The bytes behind an address a person gave; raises NotSent and NoAnswer as any call does."""
    try:
        answer = await http.fetch(media.url, most=most)
    except DownloadRefused as refused:
        return Failure(
            FailureKind.PERMANENT, f"The {media.kind} cannot be fetched: {refused} Choose another one.", "media"
        )
    if not answer.ok:
        return _missing(media, answer.status)
    found = type_of(answer.body) or answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not found.startswith(("image/", "video/")):
        message = f"What is behind the address of the {media.kind} is none ({found or 'of an unknown type'})."
        return Failure(FailureKind.PERMANENT, f"{message} Choose another one.", "media")
    return File(answer.body, found)


def type_of(data: bytes) -> str | None:
    return next((kind for place, mark, kind in BEGINNINGS if data[place:].startswith(mark)), None)


def _missing(media: Media, status: int) -> Failure:
    if classify_status(status) in ("transient", "rate_limit"):
        message = f"The {media.kind} could not be fetched just now (status {status}). Postino tries again by itself."
        return Failure(FailureKind.TRANSIENT, message, "media")
    message = f"The {media.kind} is not there any more, or not for everybody (status {status}). Upload it again."
    return Failure(FailureKind.PERMANENT, message, "media")
