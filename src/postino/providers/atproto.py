"""What the AT protocol prescribes: keys of records, and links in a text by their place in its bytes."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

LETTERS = "234567abcdefghijklmnopqrstuvwxyz"
A_DAY = 24 * 3600 * 1_000_000  # microseconds

LINK = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
AFTER_LINK = ".,;:!?'\""
HANDLE = r"(?:[a-z0-9][a-z0-9-]{0,62}\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]"
MENTION = re.compile(rf"(?<![\w@/])@({HANDLE})(?![\w@])", re.IGNORECASE)
TAG = re.compile(r"(?<!\w)[#＃]((?!\ufe0f)[^\s#＃.,;:!?…'\"()\[\]{}<>]+)")
MOST_TAG = 64


def key_of(post: UUID, part: int) -> str:
    """The record key of a part of a post: a TID, which looks like an instant, always the same for the same part.

    The instant lies within the day before the post was made: so many fit into a day that two of them never meet, and
    none is in the future.
    """
    digest = int.from_bytes(hashlib.sha256(f"{post}/{part}".encode()).digest()[:12], "big")
    made = (post.int >> 80) * 1000  # a UUIDv7 begins with its milliseconds
    clock, offset = digest % 1024, (digest >> 10) % A_DAY
    value = ((made - offset) % 2**53) << 10 | clock
    return "".join(LETTERS[value >> shift & 31] for shift in range(60, -1, -5))


def timestamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Span:
    """A link, mention or tag in a text, by its bytes."""

    kind: str
    value: str
    start: int
    end: int

    def facet(self, value: str | None = None) -> dict[str, Any]:
        name = {"link": "uri", "mention": "did", "tag": "tag"}[self.kind]
        feature = {"$type": f"app.bsky.richtext.facet#{self.kind}", name: value or self.value}
        return {"index": {"byteStart": self.start, "byteEnd": self.end}, "features": [feature]}


def spans(text: str) -> list[Span]:
    """In the order of the text; what is inside a link is part of it."""
    found: list[Span] = []
    for span in _candidates(text):
        if all(span.end <= other.start or span.start >= other.end for other in found):
            found.append(span)
    return sorted(found, key=lambda span: span.start)


def _candidates(text: str) -> Iterator[Span]:
    for match in LINK.finditer(text):
        link = _without_what_follows(match[0])
        yield _span("link", link, text, match.start(), match.start() + len(link))
    for match in MENTION.finditer(text):
        yield _span("mention", match[1].lower(), text, match.start(), match.end())
    for match in TAG.finditer(text):
        if len(match[1]) <= MOST_TAG and not match[1].isdigit():
            yield _span("tag", match[1], text, match.start(), match.end())


def _without_what_follows(link: str) -> str:
    """A full stop or bracket that ends the sentence around a link is not part of it."""
    while link and (link[-1] in AFTER_LINK or (link[-1] == ")" and link.count("(") < link.count(")"))):
        link = link[:-1]
    return link


def _span(kind: str, value: str, text: str, start: int, end: int) -> Span:
    return Span(kind, value, len(text[:start].encode()), len(text[:end].encode()))


def embed(files: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What is shown below the text: pictures, or one film."""
    films = [file for file in files if file["kind"] == "video"]
    if films:
        return {"$type": "app.bsky.embed.video", "video": films[0]["blob"], "alt": films[0]["alt"]}
    pictures = [{"alt": file["alt"], "image": file["blob"]} for file in files]
    return {"$type": "app.bsky.embed.images", "images": pictures} if pictures else None
