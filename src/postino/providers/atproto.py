"""The AT Protocol: record keys, and links, mentions and tags in a text by their byte offsets."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any
from uuid import UUID

TID_ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"
DAY_MICROSECONDS = 24 * 3600 * 1_000_000

LINK = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
TRAILING_PUNCTUATION = ".,;:!?'\""
HANDLE = r"(?:[a-z0-9][a-z0-9-]{0,62}\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]"
MENTION = re.compile(rf"(?<![\w@/])@({HANDLE})(?![\w@])", re.IGNORECASE)
TAG = re.compile(r"(?<!\w)[#＃]((?!\ufe0f)[^\s#＃.,;:!?…'\"()\[\]{}<>]+)")
MAX_TAG_LENGTH = 64


def derive_record_key(post: UUID, part: int) -> str:
    """Return the record key of one part of a post: a timestamp identifier (TID), always the same for the same part.

    Its timestamp is a pseudo-random microsecond within the 24 hours before the post was created: never in the future,
    and two posts practically never get the same.
    """
    digest = int.from_bytes(hashlib.sha256(f"{post}/{part}".encode()).digest()[:12], "big")
    created = (post.int >> 80) * 1000  # a UUIDv7 begins with its milliseconds
    clock, offset = digest % 1024, (digest >> 10) % DAY_MICROSECONDS
    value = ((created - offset) % 2**53) << 10 | clock
    return "".join(TID_ALPHABET[value >> shift & 31] for shift in range(60, -1, -5))


def format_timestamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Span:
    """A link, mention or tag in a text, by its byte offsets."""

    kind: str
    value: str
    start: int
    end: int

    def to_facet(self, value: str | None = None) -> dict[str, Any]:
        name = {"link": "uri", "mention": "did", "tag": "tag"}[self.kind]
        feature = {"$type": f"app.bsky.richtext.facet#{self.kind}", name: value or self.value}
        return {"index": {"byteStart": self.start, "byteEnd": self.end}, "features": [feature]}


def find_spans(text: str) -> list[Span]:
    """Return all spans in the order of the text. A mention or tag inside a link is part of the link."""
    offsets = [*accumulate((len(letter.encode()) for letter in text), initial=0)]
    taken = bytearray(len(text))
    spans: list[Span] = []
    for kind, value, start, end in _find_candidates(text):
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            spans.append(Span(kind, value, offsets[start], offsets[end]))
    return sorted(spans, key=lambda span: span.start)


def _find_candidates(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the kind, value, start and end of links, then of mentions, then of tags."""
    for match in LINK.finditer(text):
        link = _strip_trailing_punctuation(match[0])
        yield "link", link, match.start(), match.start() + len(link)
    for match in MENTION.finditer(text):
        yield "mention", match[1].lower(), match.start(), match.end()
    for match in TAG.finditer(text):
        if len(match[1]) <= MAX_TAG_LENGTH and not match[1].isdigit():
            yield "tag", match[1], match.start(), match.end()


def _strip_trailing_punctuation(link: str) -> str:
    """Remove a full stop or bracket that belongs to the sentence around the link."""
    end, unopened = len(link), link.count(")") - link.count("(")
    while end and (link[end - 1] in TRAILING_PUNCTUATION or (link[end - 1] == ")" and unopened > 0)):
        end -= 1
        unopened -= link[end] == ")"
    return link[:end]


def build_embed(files: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the embed of a record: one video, or images; None without files."""
    videos = [file for file in files if file["kind"] == "video"]
    if videos:
        return {"$type": "app.bsky.embed.video", "video": videos[0]["blob"], "alt": videos[0]["alt"]}
    images = [{"alt": file["alt"], "image": file["blob"]} for file in files]
    return {"$type": "app.bsky.embed.images", "images": images} if images else None
