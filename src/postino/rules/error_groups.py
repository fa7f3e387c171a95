"""Which failures are alike: the same words but for numbers, ids and names in quotes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from postino.rules.settlement import Cause

SOMETHING = "…"
PARTICULAR = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|'[^']{0,500}'|\"[^\"]{0,500}\"|\d+(?:[.,:]\d+)*"
)
MOST_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Dead letters that failed alike, one of them by its id."""

    cause: Cause
    channel: str
    type: str
    error: str
    letters: int
    first_at: datetime
    last_at: datetime
    example: UUID


def pattern(error: str | None) -> str:
    """An error without what is particular to one job."""
    return PARTICULAR.sub(SOMETHING, (error or "")[:MOST_WORDS])


def together(troubles: Iterable[Trouble]) -> list[Trouble]:
    """Alike are one; the largest first."""
    groups: dict[tuple[str, str, str, str], Trouble] = {}
    for one in troubles:
        said = pattern(one.error)
        key = (one.cause, one.channel, one.type, said)
        known = groups.get(key)
        if known is None:
            groups[key] = replace(one, error=said)
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
