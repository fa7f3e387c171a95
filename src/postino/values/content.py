"""What people write once for many networks: frozen values, refused when they are made if Postino cannot take them.

What a network takes is another matter: `rules.rendering` and `rules.limits` tell.
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from postino.errors import WrongUse

MOST_TITLE = 500
MOST_BODY = 5000
MOST_HASHTAGS = 30
MOST_NETWORK = 40
MOST_ADDRESS = 2000
MOST_PARTS = 50
MOST_MEDIA = 100
MOST_PLACEHOLDERS = 100
MOST_TOGETHER = 100_000  # characters, if every placeholder were the longest
BROKEN = re.compile("[\0\ud800-\udfff]")


class MediaKind(StrEnum):
    IMAGE = "image"
    VIDEO = "video"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRef:
    """A picture or film by its address. What is absent is not known: the kind is then guessed from the address."""

    url: str
    alt: str = ""
    kind: MediaKind | None = None
    checksum: str | None = None
    size: int | None = None  # bytes

    @property
    def reference(self) -> str:
        """What tells it from another one: its checksum, else its address."""
        return f"checksum:{self.checksum}" if self.checksum else f"url:{self.url}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What is said otherwise on one network; None: as everywhere."""

    body: str | None = None
    thread: tuple[str, ...] | None = None
    title: str | None = None
    hashtags: tuple[str, ...] | None = None
    media: tuple[MediaRef, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is to be said. `thread` holds the parts after the body; `placeholders` what to put for `{{name}}`."""

    body: str = ""
    thread: tuple[str, ...] = ()
    title: str | None = None
    hashtags: tuple[str, ...] = ()
    media: tuple[MediaRef, ...] = ()
    placeholders: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Override] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _number(self.placeholders, "placeholders", MOST_PLACEHOLDERS)
        longest = max(map(len, self.placeholders.values()), default=0)
        _check(self, "")
        _together(self, "", longest)
        for name, text in self.placeholders.items():
            _sound(name, "placeholders")
            _text(text, f"placeholders.{name}", MOST_BODY)
        for network, override in self.overrides.items():
            _text(network, "overrides", MOST_NETWORK)
            _check(override, f"overrides.{network}.")
            _together(override, f"overrides.{network}.", longest)


class Severity(StrEnum):
    ERROR = "error"  # the network would refuse it
    WARNING = "warning"  # it would go out, but perhaps not as meant


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a content on a network, in words for who wrote it. `field` is as in `POST /v1/posts`."""

    severity: Severity
    field: str
    message: str


def _check(said: Content | Override, prefix: str) -> None:
    _text(said.body or "", f"{prefix}text", MOST_BODY)
    _text(said.title or "", f"{prefix}title", MOST_TITLE)
    _number(said.thread or (), f"{prefix}thread", MOST_PARTS)
    _number(said.media or (), f"{prefix}media", MOST_MEDIA)
    for number, part in enumerate(said.thread or ()):
        _text(part, f"{prefix}thread[{number}]", MOST_BODY)
    for number, ref in enumerate(said.media or ()):
        _text(ref.url, f"{prefix}media[{number}].url", MOST_ADDRESS)
        _text(ref.alt, f"{prefix}media[{number}].alt", MOST_BODY)
    _tags(said.hashtags or (), f"{prefix}hashtags")


def _number(these: Collection[object], name: str, most: int) -> None:
    if len(these) > most:
        raise WrongUse(f"{name}: {len(these):,} are too many, {most} are the most.", field=name)


def _together(said: Content | Override, prefix: str, longest: int) -> None:
    """Nothing that is short when it is written may become huge when it is filled in."""
    texts = (said.body or "", *(said.thread or ()), *(ref.alt for ref in said.media or ()))
    size = sum(len(text) + text.count("{{") * longest for text in texts)
    if size > MOST_TOGETHER:
        told = f"with all parts, and placeholders filled in, it could have {size:,} characters"
        raise WrongUse(f"{prefix}text: {told}, {MOST_TOGETHER:,} are the most.", field=f"{prefix}text")


def _tags(hashtags: Sequence[str], name: str) -> None:
    if len(hashtags) > MOST_HASHTAGS:
        raise WrongUse(f"{name}: {len(hashtags)} hashtags are too many, {MOST_HASHTAGS} are the most.", field=name)
    for tag in hashtags:
        _text(tag, name, MOST_TITLE)


def _text(text: str, name: str, most: int) -> None:
    if len(text) > most:
        excess = f"{len(text) - most:,} of its {len(text):,} characters are too many"
        raise WrongUse(f"{name} is too long: {excess}, {most:,} are the most.", field=name)
    _sound(text, name)


def _sound(text: str, name: str) -> None:
    """NUL and halves of surrogate pairs cannot be stored, sent or hashed."""
    if BROKEN.search(text):
        raise WrongUse(f"{name} holds a broken character: type it again instead of pasting it.", field=name)


def check_networks(content: Content, known: Collection[str]) -> None:
    """Refuses what is said for a network that is not among these: it would be said nowhere."""
    for network in content.overrides:
        if network not in known:
            nearest = difflib.get_close_matches(network, known, n=1)
            hint = f"Did you mean {nearest[0]}?" if nearest else f"There are: {', '.join(known)}."
            raise WrongUse(f"overrides: there is no network {network!r}. {hint}", field="overrides")
