"""Login throttling: each failure lengthens the wait, up to a maximum."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.sign_in import (
    ADDRESS_POLICY,
    SESSION_IDLE_LIMIT,
    USER_POLICY,
    LoginFailures,
    ThrottlePolicy,
    get_next_attempt_time,
    is_expired,
    is_idle,
    is_worth_recording,
    record_failure,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, None), (4, None), (5, 1), (6, 2), (7, 4), (14, 512), (15, 900), (100, 900), (10**9, 900)],
)
def test_the_wait_doubles_with_each_failed_login_up_to_a_maximum(failures: int, seconds: int | None) -> None:
    waits = None if seconds is None else NOW + timedelta(seconds=seconds)
    assert get_next_attempt_time(LoginFailures(failures, NOW), USER_POLICY) == waits


def test_an_address_has_more_free_attempts_than_a_user() -> None:
    assert get_next_attempt_time(LoginFailures(19, NOW), ADDRESS_POLICY) is None
    assert get_next_attempt_time(LoginFailures(20, NOW), ADDRESS_POLICY) == NOW + timedelta(seconds=1)


@given(failures=st.integers(0, 10**6), free=st.integers(1, 50))
def test_more_failures_never_shorten_the_wait_and_the_wait_has_a_maximum(failures: int, free: int) -> None:
    policy = ThrottlePolicy(free)
    now, next_one = (
        get_next_attempt_time(LoginFailures(count, NOW), policy) or NOW for count in (failures, failures + 1)
    )
    assert NOW <= now <= next_one <= NOW + policy.longest


def test_failures_add_up_until_they_are_old() -> None:
    once = record_failure(LoginFailures(), USER_POLICY, NOW)
    twice = record_failure(once, USER_POLICY, NOW + timedelta(hours=23))
    assert (once, twice.failures) == (LoginFailures(1, NOW), 2)
    assert record_failure(twice, USER_POLICY, NOW + timedelta(days=3)).failures == 1


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (is_expired(None, NOW), False),
        (is_expired(NOW, NOW), True),
        (is_expired(NOW + timedelta(seconds=1), NOW), False),
        (is_idle(NOW - SESSION_IDLE_LIMIT, NOW), True),
        (is_idle(NOW - SESSION_IDLE_LIMIT + timedelta(seconds=1), NOW), False),
        (is_worth_recording(None, NOW), True),
        (is_worth_recording(NOW - timedelta(seconds=59), NOW), False),
        (is_worth_recording(NOW - timedelta(seconds=60), NOW), True),
    ],
)
def test_sessions_expire_become_idle_and_record_their_use(result: bool, expected: bool) -> None:
    assert result is expected
