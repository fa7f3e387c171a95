"""Retry policies: how often and when to retry. Time and randomness are arguments."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

MAX_JITTER = 0.2
MAX_SECONDS = 366 * 86400.0  # a year


@dataclass(frozen=True, slots=True)
class Exponential:
    """Seconds: base, base × factor, base × factor², … at most `max`."""

    base: float = 60
    factor: float = 2
    max: float = 3600

    def __post_init__(self) -> None:
        if not (self.base >= 0 and self.factor >= 1 and self.max >= 0):  # NaN is none of these
            raise ValueError(f"backoff: base and max must be at least 0 and factor at least 1, not {self}")

    def seconds(self, attempt: int) -> float:
        # The exponent is bounded because a float overflows.
        return float(min(self.max, self.base * self.factor ** min(attempt - 1, 64)))


@dataclass(frozen=True, slots=True)
class Schedule:
    """Seconds after the first, second, … attempt; the last one repeats."""

    delays: tuple[float, ...]

    def __init__(self, delays: Sequence[float]) -> None:
        if not delays or not all(delay >= 0 for delay in delays):
            raise ValueError(f"backoff: a schedule needs at least one delay and none below 0, not {list(delays)}")
        object.__setattr__(self, "delays", tuple(delays))

    def seconds(self, attempt: int) -> float:
        return self.delays[min(attempt, len(self.delays)) - 1]


Backoff = Exponential | Schedule


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The maximum number of attempts, the wait between them, and the time limit of one (seconds)."""

    max_attempts: int = 5
    backoff: Backoff = field(default_factory=Exponential)
    time_limit: float | None = None


@dataclass(frozen=True, slots=True)
class RetryOverride:
    """The retry settings of a job, its channel or its type. None means not set."""

    max_attempts: int | None = None
    backoff: Backoff | None = None
    time_limit: float | None = None


def resolve_retry_policy(default: RetryPolicy, *overrides: RetryOverride | None) -> RetryPolicy:
    """Return the policy in force. The first override that sets a value wins: job, channel, type, then the default."""

    def first(name: str) -> Any:
        values = (getattr(override, name) for override in overrides if override is not None)
        return next((value for value in values if value is not None), getattr(default, name))

    return RetryPolicy(first("max_attempts"), first("backoff"), first("time_limit"))


def cap_backoff(backoff: Backoff, most: float) -> Backoff:
    """Return the backoff with no wait longer than `most` seconds."""
    if isinstance(backoff, Schedule):
        return Schedule([min(delay, most) for delay in backoff.delays])
    return replace(backoff, max=min(backoff.max, most))


def compute_delay(attempt: int, backoff: Backoff, jitter: float) -> timedelta:
    """Return how long to wait after this attempt. `jitter` in 0…1 adds up to 20 %."""
    return timedelta(seconds=min(backoff.seconds(attempt) * (1 + MAX_JITTER * jitter), MAX_SECONDS))


def serialize_backoff(backoff: Backoff) -> str:
    """Return a backoff as JSON, as stored with a job."""
    match backoff:
        case Exponential(base, factor, highest):
            return json.dumps({"base": base, "factor": factor, "max": highest})
        case Schedule(delays):
            return json.dumps(list(delays))


def parse_backoff(text: str) -> Backoff:
    stored = json.loads(text)
    return Schedule(stored) if isinstance(stored, list) else Exponential(**stored)
