"""The rate limit of a caller: a token bucket with a burst and a rate."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from postino.rules.api_rate_limit import TokenBucket, take_token


def test_a_new_caller_has_the_whole_burst() -> None:
    decision = take_token(None, 10, 3, 5.0)
    assert (decision.allowed, decision.remaining, decision.retry_after, decision.reset) == (True, 2, 0, 1)


def test_a_refused_caller_gets_a_retry_after() -> None:
    decision = take_token(TokenBucket(0.25, 5.0), 0.5, 3, 5.0)
    assert (decision.allowed, decision.remaining, decision.retry_after, decision.reset) == (False, 0, 2, 6)
    assert take_token(decision.bucket, 0.5, 3, 7.0).allowed


@given(
    waits=some.lists(some.floats(0, 5), min_size=1, max_size=60),
    rate=some.floats(0.1, 50),
    burst=some.integers(1, 20),
)
def test_no_caller_exceeds_the_burst_and_the_rate(waits: list[float], rate: float, burst: int) -> None:
    bucket, now, allowed = None, 0.0, 0
    for wait in waits:
        now += wait
        decision = take_token(bucket, rate, burst, now)
        bucket, allowed = decision.bucket, allowed + decision.allowed
        assert 0 <= decision.remaining < burst or not decision.allowed
    assert allowed <= burst + rate * now + 1e-6


def test_a_clock_set_back_refills_nothing() -> None:
    assert not take_token(TokenBucket(0.0, 100.0), 10, 5, 50.0).allowed
