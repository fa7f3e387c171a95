"""Limits of text that apply everywhere: characters that nothing can store, and how much of a value messages repeat."""

import re
import unicodedata
from itertools import pairwise

import regex

INVALID_CHARACTERS = re.compile("[\0\ud800-\udfff]")  # databases cannot store them, and networks refuse them
INVALID_CHARACTERS_MESSAGE = "contains NUL or an unpaired surrogate (U+D800–DFFF). Remove it."
MAX_QUOTED = 100  # characters of a wrong value or name that a message repeats
MANY_MARKS = regex.compile(r"\p{M}{50}")  # no language puts more accents on a letter
FEW = 100  # characters, which cannot hold too many accents


def normalize_unicode(text: str) -> str:
    """Return the text in NFC. Many accents in a row are normalized in pieces: sorting them takes quadratic time."""
    if len(text) <= FEW:
        return unicodedata.normalize("NFC", text)
    ends = [match.end() for match in MANY_MARKS.finditer(text)]
    return "".join(unicodedata.normalize("NFC", text[start:end]) for start, end in pairwise([0, *ends, len(text)]))
