"""How a handler ends. Expected endings are values; exceptions are for bugs."""

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
    """It did not work this time; try again after the backoff, never before `not_before`."""

    reason: str
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Defer:
    """Not now: come back at `until`. Spends no attempt."""

    until: datetime
    reason: str


class GateClosed(Defer):
    """A gate closed: it keeps its place in its lane, and is claimed again when the gate opens."""

    __slots__ = ()


class RateLimited(GateClosed):
    """A network said "too many", which must have an end, too."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Reject:
    """It can never work as it stands: no retry. Missed: it was to be done by a time that has passed."""

    reason: str
    missed: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something may have left and no definite answer came back: never repeated blindly.

    With `lookup_at` the job is looked at again then; without it a person is asked.
    """

    reason: str
    lookup_at: datetime | None = None


Outcome = Done | Retry | Defer | Reject | Unknown
