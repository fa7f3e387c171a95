"""Outcomes: how a handler ends. Expected endings are values; exceptions are for bugs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """It worked."""

    result: Any = None
    remote_id: str | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """It failed this time. Retry after the backoff, never before `not_before`."""

    reason: str
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Defer:
    """Run it again at `until`. Spends no attempt."""

    until: datetime
    reason: str


class GateClosed(Defer):
    """A gate closed. The job keeps its place in its lane and is claimed again when the gate opens."""

    __slots__ = ()


class RateLimited(GateClosed):
    """The network rate-limited the job. `rules.settlement` limits how often that may happen."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Reject:
    """It can never work unchanged, so it is not retried. `missed`: its deadline has passed."""

    reason: str
    missed: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """A request may have left, and no definite response came back: it is never repeated blindly.

    With `lookup_at` Postino looks the request up then; without it a person must resolve the job.
    """

    reason: str
    lookup_at: datetime | None = None


class Held(Unknown):
    """The database has lost whether a request left, and the network cannot tell: a person resolves all such jobs."""

    __slots__ = ()


Outcome = Done | Retry | Defer | Reject | Unknown
