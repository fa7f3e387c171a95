"""Who guesses waits longer each time, and never for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.login_throttle import (
    ADDRESS,
    IDLE,
    USER,
    Patience,
    Tries,
    failed,
    is_idle,
    is_over,
    until,
    worth_noting,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, None), (4, None), (5, 1), (6, 2), (7, 4), (14, 512), (15, 900), (100, 900), (10**9, 900)],
)
def test_how_long_the_next_guess_at_a_password_waits(failures: int, seconds: int | None) -> None:
    waits = None if seconds is None else NOW + timedelta(seconds=seconds)
    assert until(Tries(failures, NOW), USER) == waits


def test_an_address_has_more_free_tries_than_a_name() -> None:
    assert until(Tries(19, NOW), ADDRESS) is None
    assert until(Tries(20, NOW), ADDRESS) == NOW + timedelta(seconds=1)


@given(failures=st.integers(0, 10**6), free=st.integers(1, 50))
def test_more_failures_never_mean_a_shorter_wait_and_no_wait_is_longer_than_the_longest(
    failures: int, free: int
) -> None:
    patience = Patience(free)
    now, next_one = (until(Tries(count, NOW), patience) or NOW for count in (failures, failures + 1))
    assert NOW <= now <= next_one <= NOW + patience.longest


def test_failures_add_up_until_they_lie_long_behind() -> None:
    once = failed(Tries(), USER, NOW)
    twice = failed(once, USER, NOW + timedelta(hours=23))
    assert (once, twice.failures) == (Tries(1, NOW), 2)
    assert failed(twice, USER, NOW + timedelta(days=3)).failures == 1


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (is_over(None, NOW), False),
        (is_over(NOW, NOW), True),
        (is_over(NOW + timedelta(seconds=1), NOW), False),
        (is_idle(NOW - IDLE, NOW), True),
        (is_idle(NOW - IDLE + timedelta(seconds=1), NOW), False),
        (worth_noting(None, NOW), True),
        (worth_noting(NOW - timedelta(seconds=59), NOW), False),
        (worth_noting(NOW - timedelta(seconds=60), NOW), True),
    ],
)
def test_when_things_are_over_idle_or_worth_a_note(said: bool, wanted: bool) -> None:
    assert said is wanted
