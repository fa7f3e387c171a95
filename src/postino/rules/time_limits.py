"""Decide which time limit applies to a job. A claim uses the first one that matches the job."""

from collections.abc import Mapping
from dataclasses import dataclass

from postino.rules.retry import RetryOverride, RetryPolicy


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """How many seconds a job of this channel or type may run; None stands for any."""

    seconds: float
    channel: str | None = None
    type: str | None = None


def rank_time_limits(
    default: RetryPolicy, channels: Mapping[str, RetryOverride], types: Mapping[str, RetryOverride]
) -> tuple[TimeLimit, ...]:
    """Return the time limits, strongest first; the first that matches a job without a limit of its own applies to it.

    The order is that of `resolve_retry_policy`: channel, type, default.
    """
    ranked = [
        *((override.time_limit, name, None) for name, override in channels.items()),
        *((override.time_limit, None, name) for name, override in types.items()),
        (default.time_limit, None, None),
    ]
    return tuple(TimeLimit(seconds, channel, type_) for seconds, channel, type_ in ranked if seconds is not None)
