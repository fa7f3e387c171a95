"""Group dead letters by error: the same text except for numbers, ids and quoted names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from postino.rules.settlement import DeadLetterCause

WILDCARD = "…"
DETAILS = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|'[^']{0,500}'|\"[^\"]{0,500}\"|\d+(?:[.,:]\d+)*"
)
MAX_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Dead letters with the same error, with the id of one example."""

    cause: DeadLetterCause
    channel: str
    type: str
    error: str
    letters: int
    first_at: datetime
    last_at: datetime
    example: UUID


def generalize_error(error: str | None) -> str:
    """Return an error message with the details of one job replaced."""
    return DETAILS.sub(WILDCARD, (error or "")[:MAX_CHARACTERS])


def merge_groups(troubles: Iterable[ErrorGroup]) -> list[ErrorGroup]:
    """Merge groups with the same error, the largest first."""
    groups: dict[tuple[str, str, str, str], ErrorGroup] = {}
    for one in troubles:
        error = generalize_error(one.error)
        key = (one.cause, one.channel, one.type, error)
        known = groups.get(key)
        if known is None:
            groups[key] = replace(one, error=error)
            continue
        latest = one if one.last_at > known.last_at else known
        groups[key] = replace(
            known,
            letters=known.letters + one.letters,
            first_at=min(known.first_at, one.first_at),
            last_at=latest.last_at,
            example=latest.example,
        )
    return sorted(groups.values(), key=lambda group: (-group.letters, group.error, group.channel, group.type))
