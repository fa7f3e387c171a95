"""Retry policies from the settings."""

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
