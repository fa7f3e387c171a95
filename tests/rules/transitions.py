"""When the clocks of a zone change, found by looking at its offset day by day: nothing here knows what a gap is."""

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
    """At this instant the offset changes."""

    at: datetime
    before: timedelta
    after: timedelta


@cache
def transitions(name: str) -> list[Transition]:
    place = get_zone(name)
    found = []
    before = _offset(place, FIRST)
    for second in range(FIRST + DAY, LAST, DAY):
        after = _offset(place, second)
        if after != before:
            found.append(Transition(_moment(place, second - DAY, second), before, after))
            before = after
    return found


def _moment(place: ZoneInfo, old: int, new: int) -> datetime:
    """To the second, by halving."""
    before = _offset(place, old)
    while new - old > 1:
        middle = (old + new) // 2
        if _offset(place, middle) == before:
            old = middle
        else:
            new = middle
    return datetime.fromtimestamp(new, UTC)


def _offset(place: ZoneInfo, second: int) -> timedelta:
    offset = datetime.fromtimestamp(second, place).utcoffset()
    assert offset is not None
    return offset
