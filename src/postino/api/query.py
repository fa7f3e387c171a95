"""What an address asks for: the part after the question mark, checked like a body."""

from datetime import UTC, datetime
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import Request

from postino.api.body_limits import BROKEN
from postino.api.problems import nearest
from postino.errors import WrongUse
from postino.values.post import PageCursor

FEWEST, USUAL, MOST = 1, 50, 200


def query_of(request: Request, *known: str) -> dict[str, str]:
    said: dict[str, str] = {}
    # What is not UTF-8 comes out as half characters: it is to be told, and not to be replaced.
    raw = request.scope["query_string"].decode("latin-1")
    for name, text in parse_qsl(raw, keep_blank_values=True, errors="surrogateescape"):
        if name not in known:
            shown = BROKEN.sub("\ufffd", name[:100])
            raise WrongUse(f"{shown}: there is no such parameter.{nearest(name, known)}", shown)
        if BROKEN.search(text):
            raise WrongUse(f"{name} holds a broken character: type it again instead of pasting it.", name)
        if name in said:
            raise WrongUse(f"{name} is there twice: say it once.", name)
        said[name] = text
    return said


def limit_of(query: dict[str, str]) -> int:
    text = query.get("limit", str(USUAL))
    if not text.isascii() or not text.isdigit() or not FEWEST <= int(text[:9]) <= MOST:
        raise WrongUse(f"limit must be a whole number from {FEWEST} to {MOST}, not {text[:40]!r}.", "limit")
    return int(text)


def truth_of(query: dict[str, str], name: str) -> bool:
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise WrongUse(f"{name} must be true or false, not {text[:40]!r}.", name)
    return text == "true"


def place_of(query: dict[str, str]) -> PageCursor | None:
    """A cursor of a list by time: when, and which."""
    text = query.get("cursor")
    if text is None:
        return None
    at, _, which = text.partition("_")
    try:
        found = PageCursor(UUID(which), datetime.fromisoformat(at))
        if found.at.tzinfo is None:
            raise ValueError
    except ValueError:
        told = f"cursor must be a `next_cursor` of an earlier answer to the same question, not {text[:80]!r}."
        raise WrongUse(told, "cursor") from None
    return found


def cursor_at(place: PageCursor) -> str:
    return f"{place.at.astimezone(UTC).isoformat().replace('+00:00', 'Z')}_{place.id}"


def cursor_of(query: dict[str, str]) -> UUID | None:
    text = query.get("cursor")
    if text is None:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise WrongUse(f"cursor must be a `next_cursor` of an earlier answer, not {text[:80]!r}.", "cursor") from None
