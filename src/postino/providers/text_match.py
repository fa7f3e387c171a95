"""Whether a text that comes back from a network is the one that went there."""

import html
import re
import unicodedata

TAG = re.compile(r"<[^>]*>")
BREAK = re.compile(r"<br\s*/?>|</p\s*>", re.IGNORECASE)
# Shown without the server they are on.
MENTION = re.compile(r"@(\w+)@[\w.-]+\w")


def normalised(text: str) -> str:
    """Without what networks change on their own: blanks, ends of lines, forms of the same letter."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def same_text(one: str, other: str) -> bool:
    return normalised(one) == normalised(other)


def same_as_page(text: str, page: str) -> bool:
    """For a text and what it became as HTML."""
    plain = html.unescape(TAG.sub("", BREAK.sub("\n", page)))
    return same_text(MENTION.sub(r"@\1", text), MENTION.sub(r"@\1", plain))
