"""Quotas in rolling and calendar periods, as tables and by properties, also around clock changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postino.errors import WrongUse
from postino.rules.quota import (
    CalendarPeriod,
    Quota,
    QuotaUse,
    count_remaining,
    find_refill_time,
    get_cost,
    get_window_start,
)
from postino.values.gate import Scope
from postino.values.time_zones import list_zone_names
from tests.rules.transitions import transitions

INSTANT = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
PACIFIC = "America/Los_Angeles"
# Half-hour changes, midnights that are missing or occur twice, no changes at all.
TRICKY = (
    PACIFIC, "Europe/Rome", "Australia/Lord_Howe", "America/Havana", "America/Santiago", "Africa/Cairo", "Asia/Beirut",
    "Atlantic/Azores", "America/Nuuk", "Pacific/Chatham", "Africa/Casablanca", "Antarctica/Troll", "Asia/Kolkata",
    "Etc/UTC",
)  # fmt: skip


def rolling_quota(most: int = 10, period: timedelta = HOUR) -> Quota:
    return Quota(name="a", most=most, period=period, whose=Scope.ACCOUNT, costs={"post": 1})


def calendar_quota(calendar: CalendarPeriod, timezone: str = PACIFIC, most: int = 10) -> Quota:
    costs = {"post": 1}
    return Quota(name="a", most=most, calendar=calendar, timezone=timezone, whose=Scope.CHANNEL, costs=costs)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("operation", "cost"),
    [
        ("post", 3), ("post 1", 3), ("post 12", 3), ("media 1", 1), ("media 2 ready", 0), ("record 1", 0),
        ("compost", 0), ("post1", 0), ("post one", 0), ("comment 1", 7), ("comment 2", 5), ("", 0),
    ],
)  # fmt: skip
def test_a_step_costs_the_price_of_its_name_without_its_number(operation: str, cost: int) -> None:
    costs = {"post": 3, "media": 1, "comment": 5, "comment 1": 7}
    quota = Quota(name="a", most=10, period=HOUR, whose=Scope.ACCOUNT, costs=costs)
    assert get_cost(quota, operation) == cost


@pytest.mark.parametrize(
    ("ago", "remaining"),
    [(timedelta(0), 6), (HOUR - INSTANT, 6), (HOUR, 10), (HOUR + INSTANT, 10), (-INSTANT, 6)],
)
def test_a_use_exactly_one_period_ago_no_longer_counts(ago: timedelta, remaining: int) -> None:
    assert count_remaining(rolling_quota(), [QuotaUse(NOW - ago, 4)], NOW) == remaining


@pytest.mark.parametrize(
    ("spent", "cost", "free"),
    [
        ([], 1, 0),
        ([], 10, 0),
        ([(50, 9)], 1, 0),
        ([(50, 10)], 1, 10),
        ([(50, 5), (20, 5)], 5, 10),
        ([(50, 5), (20, 5)], 6, 40),
        ([(20, 5), (50, 5)], 6, 40),  # in any order
        ([(50, 1), (40, 1), (30, 8)], 2, 20),
        ([(50, 10)], 0, 0),  # a cost of zero never waits
        ([(50, 25)], 1, 10),  # more than the quota: the network once allowed it
        ([(60, 10)], 10, 0),
        ([(99, 10)], 10, 0),
    ],
)
def test_a_quota_refills_when_enough_uses_are_old(spent: list[tuple[int, int]], cost: int, free: int) -> None:
    past = [QuotaUse(NOW - timedelta(minutes=ago), was) for ago, was in spent]
    assert find_refill_time(rolling_quota(), past, cost, NOW) == NOW + timedelta(minutes=free)


def test_a_cost_above_the_quota_never_fits() -> None:
    assert find_refill_time(rolling_quota(most=10), [], 11, NOW) is None


@pytest.mark.parametrize(
    ("calendar", "timezone", "now", "start", "end"),
    [
        # Midnight Pacific, on a day of summer, of winter, of 23 hours and of 25.
        (CalendarPeriod.DAY, PACIFIC, "2026-07-01T06:59:59", "2026-06-30T07:00", "2026-07-01T07:00"),
        (CalendarPeriod.DAY, PACIFIC, "2026-11-16T12:00", "2026-11-16T08:00", "2026-11-17T08:00"),
        (CalendarPeriod.DAY, PACIFIC, "2026-03-08T12:00", "2026-03-08T08:00", "2026-03-09T07:00"),
        (CalendarPeriod.DAY, PACIFIC, "2026-11-01T12:00", "2026-11-01T07:00", "2026-11-02T08:00"),
        (CalendarPeriod.DAY, PACIFIC, "2026-11-02T08:00", "2026-11-02T08:00", "2026-11-03T08:00"),
        # Midnight occurs twice and the day begins at the first; or midnight is missing and the day begins at 01:00.
        (CalendarPeriod.DAY, "America/Havana", "2025-11-02T04:30", "2025-11-02T04:00", "2025-11-03T05:00"),
        (CalendarPeriod.DAY, "America/Havana", "2025-11-02T05:30", "2025-11-02T04:00", "2025-11-03T05:00"),
        (CalendarPeriod.DAY, "America/Santiago", "2026-09-06T05:00", "2026-09-06T04:00", "2026-09-07T03:00"),
        (CalendarPeriod.DAY, "America/Santiago", "2026-09-06T03:59", "2026-09-05T04:00", "2026-09-06T04:00"),
        (CalendarPeriod.MONTH, PACIFIC, "2026-11-01T06:59", "2026-10-01T07:00", "2026-11-01T07:00"),
        (CalendarPeriod.MONTH, PACIFIC, "2026-11-01T07:00", "2026-11-01T07:00", "2026-12-01T08:00"),
        (CalendarPeriod.MONTH, PACIFIC, "2026-12-31T23:00", "2026-12-01T08:00", "2027-01-01T08:00"),
        (CalendarPeriod.MONTH, "Etc/UTC", "2028-02-29T23:59:59", "2028-02-01T00:00", "2028-03-01T00:00"),
        (CalendarPeriod.HOUR, "Asia/Kolkata", "2026-11-16T12:29", "2026-11-16T11:30", "2026-11-16T12:30"),
        # A repeated hour is two windows, a skipped hour is none.
        (CalendarPeriod.HOUR, PACIFIC, "2026-11-01T08:30", "2026-11-01T08:00", "2026-11-01T09:00"),
        (CalendarPeriod.HOUR, PACIFIC, "2026-11-01T09:30", "2026-11-01T09:00", "2026-11-01T10:00"),
        (CalendarPeriod.HOUR, PACIFIC, "2026-03-08T09:30", "2026-03-08T09:00", "2026-03-08T10:00"),
        # A repeated half hour makes a window longer, a skipped half hour makes it shorter.
        (CalendarPeriod.HOUR, "Australia/Lord_Howe", "2026-04-04T15:10", "2026-04-04T14:00", "2026-04-04T15:30"),
        (CalendarPeriod.HOUR, "Australia/Lord_Howe", "2026-10-03T15:40", "2026-10-03T15:30", "2026-10-03T16:00"),
    ],
)
def test_a_calendar_window_begins_in_local_time(
    calendar: CalendarPeriod, timezone: str, now: str, start: str, end: str
) -> None:
    quota = calendar_quota(calendar, timezone)
    assert get_window_start(quota, at(now)) == at(start)
    assert find_refill_time(quota, [QuotaUse(at(start), 10)], 1, at(now)) == at(end)
    assert find_refill_time(quota, [QuotaUse(at(start) - INSTANT, 10)], 1, at(now)) == at(now)
    assert count_remaining(quota, [QuotaUse(at(start), 10)], at(end)) == 10


def check_windows_adjoin(calendar: CalendarPeriod, timezone: str, changes: int) -> None:
    quota = calendar_quota(calendar, timezone, most=1)
    for transition in transitions(timezone)[:changes]:
        for minutes in (-181, -121, -91, -61, -30, -1, 0, 1, 29, 31, 61, 91, 121, 181):
            now = transition.at + timedelta(minutes=minutes)
            start, end = get_window_start(quota, now), find_refill_time(quota, [QuotaUse(now, 1)], 1, now)
            assert end is not None
            assert start <= now < end, (timezone, now)
            assert get_window_start(quota, start) == get_window_start(quota, end - INSTANT) == start, (timezone, now)
            assert get_window_start(quota, end) == end, (timezone, now)


@pytest.mark.parametrize("calendar", CalendarPeriod)
@pytest.mark.parametrize("timezone", TRICKY)
def test_windows_have_no_gaps_around_unusual_clock_changes(calendar: CalendarPeriod, timezone: str) -> None:
    check_windows_adjoin(calendar, timezone, changes=4)


@pytest.mark.slow
def test_days_have_no_gaps_in_any_zone() -> None:
    for timezone in sorted(list_zone_names()):
        check_windows_adjoin(CalendarPeriod.DAY, timezone, changes=2)


quotas = st.one_of(
    st.builds(rolling_quota, st.integers(1, 30), st.timedeltas(INSTANT, timedelta(days=3))),
    st.builds(calendar_quota, st.sampled_from(CalendarPeriod), st.sampled_from(TRICKY), st.integers(1, 30)),
)
instants = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
past = st.lists(st.tuples(st.timedeltas(-timedelta(minutes=1), timedelta(days=3)), st.integers(0, 12)), max_size=20)


def fits(quota: Quota, spent: Sequence[QuotaUse], cost: int, now: datetime) -> bool:
    start = get_window_start(quota, now)
    return sum(one.cost for one in spent if one.at >= start) + cost <= quota.most


@given(quotas, instants, past, st.integers(1, 30))
@example(rolling_quota(), NOW, [(HOUR, 10)], 10)
@example(rolling_quota(), NOW, [(HOUR - INSTANT, 10)], 10)
@example(calendar_quota(CalendarPeriod.DAY), at("2026-11-01T06:59:59.999999"), [(timedelta(0), 10)], 1)
def test_a_cost_fits_at_the_refill_time_and_not_earlier(
    quota: Quota, now: datetime, ages: list[tuple[timedelta, int]], cost: int
) -> None:
    spent = [QuotaUse(now - ago, was) for ago, was in ages]
    free = find_refill_time(quota, spent, cost, now)
    if free is None:
        assert cost > quota.most
        return
    assert free >= now
    assert fits(quota, spent, cost, free)
    assert free == now or not fits(quota, spent, cost, free - INSTANT)
    assert (free == now) is (count_remaining(quota, spent, now) >= cost)


@given(quotas, instants, past)
def test_the_remaining_quota_is_never_negative_nor_above_the_maximum(
    quota: Quota, now: datetime, ages: list[tuple[timedelta, int]]
) -> None:
    spent = [QuotaUse(now - ago, was) for ago, was in ages]
    assert 0 <= count_remaining(quota, spent, now) <= quota.most
    assert count_remaining(quota, spent, now + timedelta(days=40)) == quota.most


@given(st.integers(1, 8), st.timedeltas(INSTANT, timedelta(days=2)), instants, st.lists(st.integers(1, 8), max_size=20))
def test_waiting_for_the_refill_time_never_exceeds_the_quota(
    most: int, period: timedelta, now: datetime, costs: list[int]
) -> None:
    quota, spent = rolling_quota(most, period), list[QuotaUse]()
    for cost in costs:
        free = find_refill_time(quota, spent, min(cost, most), now)
        assert free is not None
        now = free
        spent.append(QuotaUse(now, min(cost, most)))
    for first in spent:
        assert sum(one.cost for one in spent if first.at <= one.at < first.at + period) <= most


@pytest.mark.parametrize(
    ("wrong", "field", "value"),
    [
        ({"most": 0}, "most", "0"),
        ({"most": -5}, "most", "-5"),
        ({"period": None}, "period", "either"),
        ({"period": timedelta(0)}, "period", "0:00:00"),
        ({"period": -HOUR}, "period", "-1 day"),
        ({"calendar": CalendarPeriod.DAY}, "period", "either"),
        ({"calendar": CalendarPeriod.DAY, "period": None}, "timezone", "timezone"),
        ({"timezone": "Europe/Rome"}, "timezone", "timezone"),
        ({"calendar": CalendarPeriod.DAY, "period": None, "timezone": "Europe/Roma"}, "timezone", "Europe/Roma"),
        ({"whose": Scope.BRAND}, "whose", "brand"),
        ({"whose": Scope.ALL}, "whose", "all"),
        ({"costs": {}}, "costs", "{}"),
        ({"costs": {"post": 1, "media": 0}}, "costs", "'media': 0"),
    ],
)
def test_an_invalid_quota_is_refused_with_field_and_value(wrong: dict[str, Any], field: str, value: str) -> None:
    right: dict[str, Any] = {"name": "a", "most": 1, "period": HOUR, "whose": Scope.ACCOUNT, "costs": {"post": 1}}
    with pytest.raises(WrongUse) as refusal:
        Quota(**right | wrong)
    assert refusal.value.field == field
    assert value in str(refusal.value)
