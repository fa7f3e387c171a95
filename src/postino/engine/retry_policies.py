"""Retry policies and time limits from the settings."""

from collections.abc import Mapping

from postino.config import Config
from postino.rules.retry import Exponential, RetryOverride, RetryPolicy


def load_default_policy(config: Config) -> RetryPolicy:
    queue = config.queue
    return RetryPolicy(queue.max_attempts, Exponential(**queue.retry_backoff), queue.time_limit or None)


def load_channel_overrides(config: Config) -> dict[str, RetryOverride]:
    return {
        name: RetryOverride(
            channel.max_attempts,
            None if channel.retry_backoff is None else Exponential(**channel.retry_backoff),
            channel.time_limit,
        )
        for name, channel in config.channels.items()
    }


def collect_time_limits(
    default: RetryPolicy, channels: Mapping[str, RetryOverride], types: Mapping[str, RetryOverride]
) -> dict[str, float]:
    """Return all time limits in seconds: "" is the default, "channel NAME" and "type NAME" override it."""
    limits = {
        "": default.time_limit,
        **{f"channel {name}": override.time_limit for name, override in channels.items()},
        **{f"type {name}": override.time_limit for name, override in types.items()},
    }
    return {owner: seconds for owner, seconds in limits.items() if seconds is not None}
