"""Checks of text in requests: characters that cannot be stored, and suggestions for unknown names."""

import difflib
import re
from collections.abc import Sequence

BROKEN = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates can neither be stored nor sent
BROKEN_CHARACTER = "holds a broken character: type it again instead of pasting it."
MAX_NAME = 100  # characters of a name that are compared or shown


def suggest(name: str, known: Sequence[str]) -> str:
    """Return a sentence with the known name that was probably meant, or all of them."""
    close = difflib.get_close_matches(name[:MAX_NAME], known, n=1)
    return f" Did you mean {close[0]}?" if close else f" There are: {', '.join(known)}." if known else ""
