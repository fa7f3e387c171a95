"""Contents: what people write once for many networks. They raise WrongUse when Postino cannot store them.

Whether a network accepts a content is decided by `rules.rendering` and `rules.content_limits`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from postino.errors import WrongUse
from postino.values.suggestions import suggest_name
from postino.values.text import INVALID_CHARACTERS, INVALID_CHARACTERS_MESSAGE

MAX_TITLE = 500
MAX_BODY = 5000
MAX_HASHTAGS = 30
MAX_NETWORK_NAME = 40
MAX_URL = 2000
MAX_PARTS = 50
MAX_MEDIA = 100
MAX_PLACEHOLDERS = 100
MAX_TOTAL = 100_000  # characters, if every placeholder were the longest


class MediaKind(StrEnum):
    IMAGE = "image"
    VIDEO = "video"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRef:
    """An image or video by its URL. Without `kind`, Postino guesses it from the URL."""

    url: str
    alt: str = ""
    kind: MediaKind | None = None
    checksum: str | None = None
    size: int | None = None  # bytes

    @property
    def reference(self) -> str:
        """The identity of the file: its checksum, else its URL."""
        return f"checksum:{self.checksum}" if self.checksum else f"url:{self.url}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentOverride:
    """What differs on one network. None means the same as everywhere."""

    body: str | None = None
    thread: tuple[str, ...] | None = None
    title: str | None = None
    hashtags: tuple[str, ...] | None = None
    media: tuple[MediaRef, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The text and media of a post. `thread` has the parts after the body, `placeholders` the values of `{{name}}`."""

    body: str = ""
    thread: tuple[str, ...] = ()
    title: str | None = None
    hashtags: tuple[str, ...] = ()
    media: tuple[MediaRef, ...] = ()
    placeholders: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, ContentOverride] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_count(self.placeholders, "placeholders", MAX_PLACEHOLDERS)
        longest = max(map(len, self.placeholders.values()), default=0)
        _check_fields(self, "")
        _check_total(self, "", longest)
        for name, text in self.placeholders.items():
            _check_characters(name, "placeholders")
            _check_text(text, f"placeholders.{name}", MAX_BODY)
        for network, override in self.overrides.items():
            _check_text(network, "overrides", MAX_NETWORK_NAME)
            _check_fields(override, f"overrides.{network}.")
            _check_total(override, f"overrides.{network}.", longest)


class Severity(StrEnum):
    ERROR = "error"  # the network would refuse it
    WARNING = "warning"  # the network accepts it, but perhaps not as intended


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a content on a network, for its author. `field` is a field of `POST /v1/posts`."""

    severity: Severity
    field: str
    message: str


def _check_fields(content: Content | ContentOverride, prefix: str) -> None:
    _check_text(content.body or "", f"{prefix}text", MAX_BODY)
    _check_text(content.title or "", f"{prefix}title", MAX_TITLE)
    _check_count(content.thread or (), f"{prefix}thread", MAX_PARTS)
    _check_count(content.media or (), f"{prefix}media", MAX_MEDIA)
    for number, part in enumerate(content.thread or ()):
        _check_text(part, f"{prefix}thread[{number}]", MAX_BODY)
    for number, ref in enumerate(content.media or ()):
        _check_text(ref.url, f"{prefix}media[{number}].url", MAX_URL)
        _check_text(ref.alt, f"{prefix}media[{number}].alt", MAX_BODY)
    _check_hashtags(content.hashtags or (), f"{prefix}hashtags")


def _check_count(these: Collection[object], name: str, most: int) -> None:
    if len(these) > most:
        raise WrongUse(f"{name}: {len(these):,} are too many; the maximum is {most}.", field=name)


def _check_total(content: Content | ContentOverride, prefix: str, longest: int) -> None:
    """Check the size with all placeholders filled in: a short text must not become huge."""
    alts = (ref.alt for ref in content.media or ())
    texts = (content.body or "", content.title or "", *(content.thread or ()), *(content.hashtags or ()), *alts)
    size = sum(len(text) + text.count("{{") * longest for text in texts)
    if size > MAX_TOTAL:
        message = f"with all parts and placeholders it could have {size:,} characters; the maximum is {MAX_TOTAL:,}."
        raise WrongUse(f"{prefix}text: {message}", field=f"{prefix}text")


def _check_hashtags(hashtags: Sequence[str], name: str) -> None:
    if len(hashtags) > MAX_HASHTAGS:
        raise WrongUse(f"{name}: {len(hashtags)} hashtags are too many; the maximum is {MAX_HASHTAGS}.", field=name)
    for tag in hashtags:
        _check_text(tag, name, MAX_TITLE)


def _check_text(text: str, name: str, most: int) -> None:
    if len(text) > most:
        message = f"{name} is too long: it has {len(text):,} characters, and the maximum is {most:,}."
        raise WrongUse(message, field=name)
    _check_characters(text, name)


def _check_characters(text: str, name: str) -> None:
    """Refuse characters that Postino cannot store, send or hash."""
    if INVALID_CHARACTERS.search(text):
        raise WrongUse(f"{name} {INVALID_CHARACTERS_MESSAGE}", field=name)


def check_networks(content: Content, known: Collection[str]) -> None:
    """Raise WrongUse if an override names an unknown network: Postino would never publish it."""
    for network in content.overrides:
        if network not in known:
            message = f"overrides: network {network!r} does not exist. {suggest_name(network, known)}"
            raise WrongUse(message, field="overrides")
