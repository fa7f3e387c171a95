"""Quotas of networks: how much is left in a period, and when there is room again. What was used is an argument."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from postino.errors import WrongUse
from postino.rules.local_time import Overlap, resolve_local_time, to_local_time
from postino.values.gate import Scope
from postino.values.time_zones import get_zone

INSTANT = timedelta(microseconds=1)
# If the clocks go back, an hour or a day is repeated: the nearest start may belong to another window.
NEARBY = range(-2, 3)
HOLDERS = (Scope.ACCOUNT, Scope.CHANNEL)


class CalendarPeriod(StrEnum):
    """Windows that start by the clocks of a zone, however long they last."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A maximum per rolling `period` or per `calendar` window, for an account or for a whole network."""

    name: str
    most: int
    period: timedelta | None = None  # rolling
    calendar: CalendarPeriod | None = None
    timezone: str | None = None  # of the calendar
    whose: Scope
    costs: Mapping[str, int]  # by step; other steps cost nothing

    def __post_init__(self) -> None:
        if self.most < 1:
            raise WrongUse(f"{self.name}: most must be at least 1, not {self.most}", field="most")
        if (self.period is None) is (self.calendar is None):
            raise WrongUse(f"{self.name}: give either a period or a calendar", field="period")
        if self.period is not None and self.period <= timedelta(0):
            raise WrongUse(f"{self.name}: period must be positive, not {self.period}", field="period")
        if (self.calendar is None) is not (self.timezone is None):
            raise WrongUse(f"{self.name}: a calendar has a timezone, a period has none", field="timezone")
        if self.timezone is not None:
            get_zone(self.timezone)
        if self.whose not in HOLDERS:
            raise WrongUse(f"{self.name}: whose must be account or channel, not {self.whose}", field="whose")
        if not self.costs or min(self.costs.values()) < 1:
            raise WrongUse(
                f"{self.name}: costs needs a step, and each costs at least 1, not {dict(self.costs)}",
                field="costs",
            )


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """What a call used, or what is reserved for it."""

    at: datetime
    cost: int


def get_cost(quota: Quota, operation: str) -> int:
    """Return the cost of a step. A numbered one (`post 2`) costs the same as `post`."""
    return quota.costs.get(operation) or quota.costs.get(re.sub(r" \d+$", "", operation, flags=re.ASCII), 0)


def get_window_start(quota: Quota, now: datetime) -> datetime:
    """Return from when on use counts, inclusive."""
    if quota.period is not None:
        return now - quota.period + INSTANT
    return max(begin for begin in _list_window_starts(quota, now) if begin <= now)


def count_remaining(quota: Quota, spent: Iterable[QuotaUse], now: datetime) -> int:
    return max(0, quota.most - sum(one.cost for one in _filter_current(quota, spent, now)))


def find_refill_time(quota: Quota, spent: Iterable[QuotaUse], cost: int, now: datetime) -> datetime | None:
    """Return `now` if the cost fits, else when it will if nothing else is used; None: never."""
    if cost > quota.most:
        return None
    counting = sorted(_filter_current(quota, spent, now), key=lambda one: one.at)
    used = sum(one.cost for one in counting)
    in_the_way: QuotaUse | None = None
    for one in counting:
        if cost < 1 or used + cost <= quota.most:
            break
        used, in_the_way = used - one.cost, one
    return now if in_the_way is None else _find_expiry(quota, in_the_way.at)


def _filter_current(quota: Quota, spent: Iterable[QuotaUse], now: datetime) -> list[QuotaUse]:
    # Use with a time slightly in the future, by another machine's clock, counts as well.
    start_at = get_window_start(quota, now)
    return [one for one in spent if one.at >= start_at]


def _find_expiry(quota: Quota, at: datetime) -> datetime:
    if quota.period is not None:
        return at + quota.period
    return min(begin for begin in _list_window_starts(quota, at) if begin > at)


def _list_window_starts(quota: Quota, at: datetime) -> list[datetime]:
    """Return the starts of the windows around an instant. A repeated hour starts twice; a day or a month once."""
    assert quota.calendar is not None, "a quota without a period has a calendar"
    assert quota.timezone is not None, "a calendar has a timezone"
    begins = []
    local = to_local_time(at, quota.timezone)
    for steps in NEARBY:
        found = resolve_local_time(_compute_window_start(quota.calendar, local, steps), quota.timezone)
        begins.append(found.at)
        if quota.calendar is CalendarPeriod.HOUR and isinstance(found.note, Overlap):
            begins.append(found.note.again_at)
    return begins


def _compute_window_start(calendar: CalendarPeriod, local: datetime, steps: int) -> datetime:
    """Return the local start of the window of this local time, or of one so many steps away."""
    hour = local.replace(minute=0, second=0, microsecond=0)
    match calendar:
        case CalendarPeriod.HOUR:
            return hour + timedelta(hours=steps)
        case CalendarPeriod.DAY:
            return hour.replace(hour=0) + timedelta(days=steps)
        case CalendarPeriod.MONTH:
            years, month = divmod(local.month - 1 + steps, 12)
            return hour.replace(year=local.year + years, month=month + 1, day=1, hour=0)
