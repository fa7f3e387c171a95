"""The clock changes of a time zone, found by comparing its offsets day by day, independently of the rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from postino.values.time_zones import get_zone

DAY = 86_400
FIRST = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp())
LAST = int(datetime(2038, 1, 1, tzinfo=UTC).timestamp())


class Transition(NamedTuple):
    """An instant at which the offset of a zone changes."""

    at: datetime
    before: timedelta
    after: timedelta


@cache
def transitions(name: str) -> list[Transition]:
    """Return the clock changes of a zone from 2025 to 2037."""
    zone = get_zone(name)
    changes = []
    before = _get_offset(zone, FIRST)
    for second in range(FIRST + DAY, LAST, DAY):
        after = _get_offset(zone, second)
        if after != before:
            changes.append(Transition(_find_change(zone, second - DAY, second), before, after))
            before = after
    return changes


def _find_change(zone: ZoneInfo, old: int, new: int) -> datetime:
    """Return the second of a change between two days, by bisection."""
    before = _get_offset(zone, old)
    while new - old > 1:
        middle = (old + new) // 2
        if _get_offset(zone, middle) == before:
            old = middle
        else:
            new = middle
    return datetime.fromtimestamp(new, UTC)


def _get_offset(zone: ZoneInfo, second: int) -> timedelta:
    offset = datetime.fromtimestamp(second, zone).utcoffset()
    assert offset is not None
    return offset
