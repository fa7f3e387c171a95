"""What an address asks for: the part after the question mark, checked like a body."""

from uuid import UUID

from fastapi import Request

from postino.api.problems import nearest
from postino.errors import WrongUse

FEWEST, USUAL, MOST = 1, 50, 200


def query_of(request: Request, *known: str) -> dict[str, str]:
    for name in request.query_params:
        if name not in known:
            raise WrongUse(f"{name}: there is no such parameter.{nearest(name, known)}", name)
    return dict(request.query_params)


def limit_of(query: dict[str, str]) -> int:
    text = query.get("limit", str(USUAL))
    if not text.isascii() or not text.isdigit() or not FEWEST <= int(text[:9]) <= MOST:
        raise WrongUse(f"limit must be a whole number from {FEWEST} to {MOST}, not {text[:40]!r}.", "limit")
    return int(text)


def cursor_of(query: dict[str, str]) -> UUID | None:
    text = query.get("cursor")
    try:
        return None if text is None else UUID(text)
    except ValueError:
        raise WrongUse(f"cursor must be a `next_cursor` of an earlier answer, not {text!r}.", "cursor") from None
