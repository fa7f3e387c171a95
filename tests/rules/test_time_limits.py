"""The strongest time limit comes first, in the order in which retry policies are resolved."""

import pytest

from postino.rules.retry import RetryOverride, RetryPolicy, resolve_retry_policy
from postino.rules.time_limits import TimeLimit, rank_time_limits

DEFAULT = RetryPolicy(time_limit=100.0)
CHANNELS = {"slow": RetryOverride(time_limit=300.0), "plain": RetryOverride(max_attempts=3)}
TYPES = {"report": RetryOverride(time_limit=20.0), "other": RetryOverride()}


def test_time_limits_are_ranked_channel_type_default() -> None:
    assert rank_time_limits(DEFAULT, CHANNELS, TYPES) == (
        TimeLimit(300.0, channel="slow"),
        TimeLimit(20.0, type="report"),
        TimeLimit(100.0),
    )


def test_limits_that_are_not_set_do_not_appear() -> None:
    assert rank_time_limits(RetryPolicy(), {"plain": RetryOverride()}, {}) == ()


@pytest.mark.parametrize("channel", ["slow", "plain", "unknown"])
@pytest.mark.parametrize("type_", ["report", "other", "unknown"])
def test_first_match_is_the_limit_of_the_resolved_policy(channel: str, type_: str) -> None:
    ranked = rank_time_limits(DEFAULT, CHANNELS, TYPES)
    matching = [limit for limit in ranked if limit.channel in (None, channel) and limit.type in (None, type_)]
    policy = resolve_retry_policy(DEFAULT, CHANNELS.get(channel), TYPES.get(type_))
    assert matching[0].seconds == policy.time_limit
