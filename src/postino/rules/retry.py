"""When to try again, and how often. Time and chance are arguments."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

MAX_JITTER = 0.2
MAX_SECONDS = 366 * 86400.0  # nobody waits longer than a year


@dataclass(frozen=True, slots=True)
class Exponential:
    """Seconds: base, base × factor, base × factor², … at most `max`."""

    base: float = 60
    factor: float = 2
    max: float = 3600

    def __post_init__(self) -> None:
        if self.base < 0 or self.factor < 1 or self.max < 0:
            raise ValueError(f"backoff: base and max must be at least 0 and factor at least 1, not {self}")

    def seconds(self, attempt: int) -> float:
        # The exponent is bounded because a float overflows long before a patient person gives up.
        return float(min(self.max, self.base * self.factor ** min(attempt - 1, 64)))


@dataclass(frozen=True, slots=True)
class Schedule:
    """Seconds after the first, second, … attempt; the last one repeats."""

    delays: tuple[float, ...]

    def __init__(self, delays: Sequence[float]) -> None:
        if not delays or any(delay < 0 for delay in delays):
            raise ValueError(f"backoff: a schedule needs at least one delay and none below 0, not {list(delays)}")
        object.__setattr__(self, "delays", tuple(delays))

    def seconds(self, attempt: int) -> float:
        return self.delays[min(attempt, len(self.delays)) - 1]


Backoff = Exponential | Schedule


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a job is tried, how long between, and how long one try may take (seconds)."""

    max_attempts: int = 5
    backoff: Backoff = field(default_factory=Exponential)
    time_limit: float | None = None


@dataclass(frozen=True, slots=True)
class RetryOverride:
    """What a job, its channel or its type says about retrying; absent stays absent."""

    max_attempts: int | None = None
    backoff: Backoff | None = None
    time_limit: float | None = None


def resolve_retry_policy(default: RetryPolicy, *overrides: RetryOverride | None) -> RetryPolicy:
    """The policy in force. Strongest first: job, channel, type, then the default."""

    def first(name: str) -> Any:
        said = (getattr(override, name) for override in overrides if override is not None)
        return next((value for value in said if value is not None), getattr(default, name))

    return RetryPolicy(first("max_attempts"), first("backoff"), first("time_limit"))


def compute_delay(attempt: int, backoff: Backoff, jitter: float) -> timedelta:
    """How long to wait after this attempt. `jitter` is a chance in 0…1, worth up to 20 % more, never less."""
    return timedelta(seconds=min(backoff.seconds(attempt) * (1 + MAX_JITTER * jitter), MAX_SECONDS))


def serialize_backoff(backoff: Backoff) -> str:
    """As stored with a job that brings its own."""
    match backoff:
        case Exponential(base, factor, highest):
            return json.dumps({"base": base, "factor": factor, "max": highest})
        case Schedule(delays):
            return json.dumps(list(delays))


def parse_backoff(text: str) -> Backoff:
    stored = json.loads(text)
    return Schedule(stored) if isinstance(stored, list) else Exponential(**stored)
