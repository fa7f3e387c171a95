"""How many requests a caller may make."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from postino.rules.rate_limit import TokenBucket, take_token


def test_who_is_new_has_the_whole_burst() -> None:
    answered = take_token(None, 10, 3, 5.0)
    assert (answered.allowed, answered.remaining, answered.retry_after, answered.reset) == (True, 2, 0, 1)


def test_who_has_nothing_left_is_told_when_to_come_back() -> None:
    answered = take_token(TokenBucket(0.25, 5.0), 0.5, 3, 5.0)
    assert (answered.allowed, answered.remaining, answered.retry_after, answered.reset) == (False, 0, 2, 6)
    assert take_token(answered.bucket, 0.5, 3, 7.0).allowed


@given(
    waits=some.lists(some.floats(0, 5), min_size=1, max_size=60),
    rate=some.floats(0.1, 50),
    burst=some.integers(1, 20),
)
def test_nobody_gets_more_than_the_burst_and_the_rate(waits: list[float], rate: float, burst: int) -> None:
    known, now, allowed = None, 0.0, 0
    for wait in waits:
        now += wait
        answered = take_token(known, rate, burst, now)
        known, allowed = answered.bucket, allowed + answered.allowed
        assert 0 <= answered.remaining < burst or not answered.allowed
    assert allowed <= burst + rate * now + 1e-6


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    assert not take_token(TokenBucket(0.0, 100.0), 10, 5, 50.0).allowed
