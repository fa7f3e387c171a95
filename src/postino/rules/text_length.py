"""Measure the length of a text as a network counts it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import regex

# The same as `\X`, but in linear time: for each flag, `\X` counts all flags before it. A flag is a pair of letters.
FLAG = r"[\U0001f1e6-\U0001f1ff]{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*+"
GRAPHEME = regex.compile(rf"{FLAG}|\X")
# A link ends before punctuation of the sentence around it. If unsure it ends early, so that the rest counts.
LINK = regex.compile(
    r"""(?<![\w@#$])https?://(?:[\w-]+\.)+\p{L}{2,}(?::\d+)?"""
    r"""(?:[/?#](?:[^\s<>()"]*[^\s<>()?!*"'「」;:=,.$%\[\]~&|@])?)?""",
    regex.IGNORECASE,
)
REMOTE_MENTION = regex.compile(r"(?<![=/\w])(@[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)@\w+(?:[.-]+\w+)*", regex.IGNORECASE)


class Measure(StrEnum):
    GRAPHEMES = "graphemes"  # what people see as one character
    CHARACTERS = "characters"  # code points
    UTF16 = "utf16"  # 16-bit units
    BYTES = "bytes"  # in UTF-8


def count_graphemes(text: str) -> int:
    """Count what people see as characters. ASCII needs no regular expression: only CR LF is one character."""
    return len(text) - text.count("\r\n") if text.isascii() else len(GRAPHEME.findall(text))


COUNTERS: Mapping[Measure, Callable[[str], int]] = {
    Measure.GRAPHEMES: count_graphemes,
    Measure.CHARACTERS: len,
    Measure.UTF16: lambda text: len(text.encode("utf-16-le")) // 2,
    Measure.BYTES: lambda text: len(text.encode()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthLimit:
    """A maximum length. `link`: the length of every link; `short_mentions`: `@me@home.example` counts as `@me`."""

    measure: Measure
    most: int
    link: int | None = None
    short_mentions: bool = False

    def count(self, text: str) -> int:
        if self.link is not None and "://" in text:
            text = LINK.sub("x" * self.link, text)
        if self.short_mentions and "@" in text:
            text = REMOTE_MENTION.sub(r"\1", text)
        return COUNTERS[self.measure](text)
