"""Check images and videos against the limits of a network, as far as their URLs and sizes tell."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from postino.rules.text_length import LengthLimit
from postino.values.content import MediaKind, MediaRef, Problem, Severity

EXTENSIONS = {
    **dict.fromkeys(("jpg", "png", "gif", "webp", "avif", "heic", "heif", "bmp", "tiff", "svg"), MediaKind.IMAGE),
    **dict.fromkeys(("mp4", "m4v", "mov", "webm", "mkv", "avi", "mpg", "3gp", "ogv", "wmv"), MediaKind.VIDEO),
}
SAME_TYPE = {"jpeg": "jpg", "jfif": "jpg", "tif": "tiff", "mpeg": "mpg", "qt": "mov"}
SINGULAR = {MediaKind.IMAGE: "image", MediaKind.VIDEO: "video"}
PLURAL = {MediaKind.IMAGE: "images", MediaKind.VIDEO: "videos"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaKindLimits:
    """The limits of a network for one kind of media."""

    most: int
    types: tuple[str, ...]
    bytes: int | None = None
    alt: LengthLimit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """The media limits of a network. It accepts only what `kinds` lists."""

    most: int = 0
    least: int = 0
    mixed: bool = False  # images and videos in one post
    kinds: Mapping[MediaKind, MediaKindLimits] = field(default_factory=dict)


def guess_file_type(url: str) -> str | None:
    """Return the file type that a URL ends with; None if it has no known ending."""
    try:
        name = urlsplit(url).path.rpartition("/")[2]
    except ValueError:
        return None
    ending = name.rpartition(".")[2].lower()
    ending = SAME_TYPE.get(ending, ending)
    return ending if ending in EXTENSIONS else None


def guess_kind(ref: MediaRef) -> MediaKind | None:
    return ref.kind or EXTENSIONS.get(guess_file_type(ref.url) or "")


def fill_kinds(media: Sequence[MediaRef]) -> tuple[MediaRef, ...]:
    """Return the media with their kinds. A file of unknown kind counts as an image."""
    return tuple(replace(ref, kind=guess_kind(ref) or MediaKind.IMAGE) for ref in media)


def check_kinds(media: Sequence[MediaRef], where: str) -> Iterator[Problem]:
    for number, ref in enumerate(media):
        if guess_kind(ref) is None:
            message = (
                f"The URL of attachment {number + 1} does not show whether it is an image or a video. Postino treats it"
                " as an image. If it is a video, set its kind."
            )
            yield Problem(Severity.WARNING, f"{where}[{number}]", message)


def check_media(media: Sequence[MediaRef], limits: MediaLimits, network: str, where: str) -> Iterator[Problem]:
    """Return the problems of media with known kinds on a network."""
    yield from (Problem(Severity.ERROR, where, message) for message in _check_counts(media, limits, network))
    for number, ref in enumerate(media):
        if ref.kind is not None and ref.kind in limits.kinds:
            yield from _check_file(ref, limits.kinds[ref.kind], network, f"{where}[{number}]", number + 1)


def _check_counts(media: Sequence[MediaRef], limits: MediaLimits, network: str) -> list[str]:
    if len(media) < limits.least:
        return [
            f"{network} needs media in every post. Add one: {' or '.join(SINGULAR[kind] for kind in limits.kinds)}."
        ]
    counts = Counter(ref.kind for ref in media if ref.kind is not None)
    messages = [message for kind, count in counts.items() if (message := _check_count(kind, count, limits, network))]
    if len(counts) > 1 and not limits.mixed and counts.keys() <= limits.kinds.keys():
        messages.append(f"{network} does not accept images and videos in one post. Choose one of the two.")
    if not messages and len(media) > limits.most:
        messages.append(_describe_excess(network, f"{limits.most} attachments", len(media), limits.most))
    return messages


def _check_count(kind: MediaKind, count: int, limits: MediaLimits, network: str) -> str | None:
    if kind not in limits.kinds:
        return f"{network} does not accept {PLURAL[kind]}. Remove {'it' if count == 1 else 'them'}."
    most = limits.kinds[kind].most
    taken = f"{most} {SINGULAR[kind] if most == 1 else PLURAL[kind]}"
    return _describe_excess(network, taken, count, most) if count > most else None


def _describe_excess(network: str, taken: str, count: int, most: int) -> str:
    return f"{network} accepts {taken} in a post, and there are {count}. Remove {count - most}."


def _check_file(ref: MediaRef, limits: MediaKindLimits, network: str, where: str, number: int) -> Iterator[Problem]:
    name = f"{SINGULAR[ref.kind or MediaKind.IMAGE].capitalize()} {number}"
    kind = guess_file_type(ref.url)
    if kind is not None and kind not in limits.types:
        known = ", ".join(each.upper() for each in limits.types)
        message = f"{name} is a {kind.upper()} file, which {network} does not accept. Save it as one of {known}."
        yield Problem(Severity.ERROR, where, message)
    if ref.size is not None and limits.bytes is not None and ref.size > limits.bytes:
        sizes = f"{_format_megabytes(ref.size)} MB, and {network} accepts {_format_megabytes(limits.bytes)} MB"
        yield Problem(Severity.ERROR, where, f"{name} is too large: it has {sizes}. Make it smaller.")
    if limits.alt is not None and (excess := limits.alt.count(ref.alt) - limits.alt.most) > 0:
        message = f"The description of {name.lower()} is {excess:,} characters too long for {network}. Shorten it."
        yield Problem(Severity.ERROR, f"{where}.alt", message)


def _format_megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.2f}".rstrip("0").rstrip(".")
