"""What the settings say about retrying, as the rules want it."""

from collections.abc import Mapping

from postino.config import Config
from postino.rules.retry import Exponential, Override, RetryPolicy


def default_policy(config: Config) -> RetryPolicy:
    queue = config.queue
    return RetryPolicy(queue.max_attempts, Exponential(**queue.retry_backoff), queue.time_limit or None)


def channel_overrides(config: Config) -> dict[str, Override]:
    return {
        name: Override(
            said.max_attempts,
            None if said.retry_backoff is None else Exponential(**said.retry_backoff),
            said.time_limit,
        )
        for name, said in config.channels.items()
    }


def time_limits(
    default: RetryPolicy, channels: Mapping[str, Override], types: Mapping[str, Override]
) -> dict[str, float]:
    """How long runs may take, as a claim wants to know it."""
    said = {
        "": default.time_limit,
        **{f"channel {name}": override.time_limit for name, override in channels.items()},
        **{f"type {name}": override.time_limit for name, override in types.items()},
    }
    return {whose: seconds for whose, seconds in said.items() if seconds is not None}
