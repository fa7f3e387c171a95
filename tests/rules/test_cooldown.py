"""How long a cooldown lasts after a 429 response, as a table and by properties."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.cooldown import MAX_DEFAULT_WAIT, MIN_WAIT, extend_cooldown
from postino.rules.failures import MAX_WAIT

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
MONTH = timedelta(days=30)
INSTANT = timedelta(microseconds=1)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


@pytest.mark.parametrize(
    ("times", "until", "count"),
    [
        (0, seconds(60), 1), (1, seconds(120), 2), (2, seconds(240), 3), (3, minutes(8), 4), (4, minutes(16), 5),
        (5, minutes(32), 6), (6, minutes(60), 7), (7, minutes(60), 8), (1_000_000, minutes(60), 1_000_001),
    ],
)  # fmt: skip
def test_without_retry_after_the_cooldown_doubles_up_to_an_hour(times: int, until: timedelta, count: int) -> None:
    assert extend_cooldown(None, times, NOW - seconds(5) if times else None, NOW) == (NOW + until, count)


@pytest.mark.parametrize(
    ("times", "ended", "count"),
    [
        (1, minutes(0), 2),
        (1, minutes(10) - INSTANT, 2),  # a cooldown of a minute, but ten are the least
        (1, minutes(10), 1),
        (4, minutes(10) - INSTANT, 5),
        (4, minutes(10), 1),
        (5, minutes(16) - INSTANT, 6),
        (5, minutes(16), 1),
        (9, minutes(60) - INSTANT, 10),
        (9, minutes(60), 1),
        (0, minutes(1), 1),
    ],
)
def test_the_count_restarts_after_at_least_ten_quiet_minutes(times: int, ended: timedelta, count: int) -> None:
    assert extend_cooldown(None, times, NOW - ended, NOW)[1] == count


@pytest.mark.parametrize(
    ("requested", "until"),
    [
        (seconds(1), seconds(1)),  # sooner than a guess: the network knows best
        (seconds(90), seconds(90)),
        (minutes(600), minutes(600)),  # longer than any guess
        (MAX_WAIT, MAX_WAIT),
        (MAX_WAIT + INSTANT, MAX_WAIT),
        (timedelta(days=9999), MAX_WAIT),
    ],
)
def test_the_wait_that_the_network_requests_is_respected(requested: timedelta, until: timedelta) -> None:
    assert extend_cooldown(NOW + requested, 2, NOW - minutes(1), NOW) == (NOW + until, 2)


@pytest.mark.parametrize("requested", [seconds(0), -minutes(5)])
def test_a_requested_time_that_has_passed_is_a_short_wait_and_not_counted(requested: timedelta) -> None:
    assert extend_cooldown(NOW + requested, 2, NOW - minutes(1), NOW) == (NOW + MIN_WAIT, 2)


def test_rate_limits_with_a_requested_wait_do_not_double_the_next_one_without() -> None:
    until_at, times = NOW, 0
    for _ in range(10):
        until_at, times = extend_cooldown(until_at + seconds(4), times, until_at, until_at)
    assert extend_cooldown(None, times, until_at, until_at) == (until_at + seconds(60), 1)


@pytest.mark.parametrize(
    ("requested", "until"),
    [(None, minutes(3)), (minutes(1), minutes(3)), (minutes(3), minutes(3)), (minutes(9), minutes(9))],
)
def test_late_429_responses_count_as_the_same_cooldown(requested: timedelta | None, until: timedelta) -> None:
    requested_at = None if requested is None else NOW + requested
    assert extend_cooldown(requested_at, 2, NOW + minutes(3), NOW) == (NOW + until, 2)


def test_late_429_response_without_a_time_does_not_extend_a_requested_wait() -> None:
    assert extend_cooldown(None, 0, NOW + seconds(3), NOW) == (NOW + seconds(3), 0)


around_now = st.timedeltas(-MONTH, MONTH).map(lambda away: NOW + away)


@given(st.none() | around_now, st.integers(0, 100), st.none() | around_now)
def test_a_cooldown_never_ends_before_the_requested_time(
    requested: datetime | None, times: int, last_until_at: datetime | None
) -> None:
    until_at, count = extend_cooldown(requested, times, last_until_at, NOW)
    assert until_at > NOW
    assert 0 <= count <= times + 1
    if requested is not None:
        assert until_at >= min(requested, NOW + MAX_WAIT)
    if last_until_at is not None:
        assert until_at >= last_until_at
    longest = NOW + (MAX_DEFAULT_WAIT if requested is None else MAX_WAIT)
    assert until_at <= max(longest, last_until_at or longest)


@given(st.lists(st.tuples(st.integers(0, 7200), st.none() | st.integers(0, 86_400)), max_size=30))
def test_a_running_cooldown_only_grows(history: list[tuple[int, int | None]]) -> None:
    now, times = NOW, 0
    until_at: datetime | None = None
    for later, requested in history:
        now += seconds(later)
        before = until_at
        until_at, times = extend_cooldown(None if requested is None else now + seconds(requested), times, before, now)
        assert until_at > now
        if before is not None:
            assert until_at >= before
