"""Retry delays and the resolution of retry policies, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta

import pytest

from postino.rules.retry import (
    Backoff,
    Exponential,
    RetryOverride,
    RetryPolicy,
    Schedule,
    compute_delay,
    parse_backoff,
    resolve_retry_policy,
    serialize_backoff,
)

PUBLISH = Schedule([60, 300, 900])
GENERIC = Exponential()


@pytest.mark.parametrize(
    ("backoff", "attempt", "seconds"),
    [
        (PUBLISH, 1, 60), (PUBLISH, 2, 300), (PUBLISH, 3, 900), (PUBLISH, 4, 900), (PUBLISH, 100, 900),
        (GENERIC, 1, 60), (GENERIC, 2, 120), (GENERIC, 3, 240), (GENERIC, 6, 1920), (GENERIC, 7, 3600),
        (GENERIC, 100_000, 3600),
        (Exponential(1, 1, 10), 50, 1), (Exponential(0, 2, 10), 9, 0), (Exponential(5, 3, 4), 1, 4),
        (Schedule([0]), 1, 0), (Schedule([2.5]), 8, 2.5),
    ],
)  # fmt: skip
def test_the_delay_follows_the_backoff(backoff: Backoff, attempt: int, seconds: float) -> None:
    assert compute_delay(attempt, backoff, 0) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("jitter", "seconds"), [(0, 100), (0.5, 110), (1, 120)])
def test_jitter_adds_up_to_a_fifth_and_never_shortens_a_delay(jitter: float, seconds: float) -> None:
    assert compute_delay(1, Schedule([100]), jitter) == timedelta(seconds=seconds)


@pytest.mark.parametrize("delays", [[], [-1], [60, -0.1], [math.nan]])
def test_a_schedule_without_delays_or_with_negative_ones_is_refused(delays: Sequence[float]) -> None:
    with pytest.raises(ValueError, match="backoff: a schedule needs"):
        Schedule(delays)


@pytest.mark.parametrize("wrong", [{"base": -1}, {"factor": 0.5}, {"max": -1}, {"max": math.nan}])
def test_a_shrinking_or_negative_exponential_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="backoff: base and max"):
        Exponential(**wrong)


@pytest.mark.parametrize("backoff", [PUBLISH, GENERIC, Exponential(0.5, 1.5, 7), Schedule([0])])
def test_a_backoff_stored_with_a_job_comes_back_the_same(backoff: Backoff) -> None:
    assert parse_backoff(serialize_backoff(backoff)) == backoff


DEFAULT = RetryPolicy(max_attempts=5, backoff=GENERIC, time_limit=None)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ((), DEFAULT),
        ((None, None, None), DEFAULT),
        ((RetryOverride(), RetryOverride(), RetryOverride()), DEFAULT),
        (
            (RetryOverride(max_attempts=1), RetryOverride(max_attempts=2), RetryOverride(max_attempts=3)),
            RetryPolicy(1, GENERIC),
        ),
        ((None, RetryOverride(max_attempts=2), RetryOverride(max_attempts=3)), RetryPolicy(2, GENERIC)),
        ((None, None, RetryOverride(max_attempts=3)), RetryPolicy(3, GENERIC)),
        (
            (
                RetryOverride(time_limit=1.5),
                RetryOverride(backoff=PUBLISH, time_limit=9),
                RetryOverride(max_attempts=3),
            ),
            RetryPolicy(3, PUBLISH, 1.5),
        ),
    ],
)
def test_job_overrides_channel_overrides_type_overrides_default(
    overrides: tuple[RetryOverride | None, ...], expected: RetryPolicy
) -> None:
    assert resolve_retry_policy(DEFAULT, *overrides) == expected
