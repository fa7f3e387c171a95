"""Suggest the known name that a mistyped name most resembles. Every "Did you mean" comes from here."""

import difflib
from collections.abc import Iterable

MAX_COMPARED = 100  # characters of a name: comparing takes time in proportion to its square


def find_nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that is spelled most like `name`, or None if none is similar."""
    matches = difflib.get_close_matches(name[:MAX_COMPARED], list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else None


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the nearest known name, or with all of them; "" if there are none."""
    names = list(known)
    if nearest := find_nearest(name, names):
        return f"Did you mean {nearest}?"
    return f"Use one of: {', '.join(names)}." if names else ""
