"""The ledger: steps, intents and receipts of a job, so that nothing visible is done twice.

An intent is stored before a visible call is sent, a receipt once its result is known. State changes and intents are
fenced by the token of the claim. Receipts are accepted from anyone: they are facts about the network.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from postino.values.outcome import Outcome
from postino.values.provider import Call, Failure, Http, Receipt


class Verdict(StrEnum):
    """The result of a visible call."""

    ACCEPTED = "accepted"
    REFUSED = "refused"  # definitely: nothing was published


class ReceiptSource(StrEnum):
    """Where a receipt comes from."""

    CALL = "call"  # the network's response
    LOOKUP = "lookup"  # a later lookup
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEntry:
    """An invisible step with its result as JSON, once there is one."""

    name: str
    position: int
    asked_at: datetime
    done_at: datetime | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentEntry:
    """A visible call about to leave. Nobody begins it after `send_before_at` or looks it up before `lookup_at`."""

    step: str
    position: int
    number: int
    intended_at: datetime
    send_before_at: datetime
    lookup_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptEntry:
    """What is known about one intent."""

    step: str
    number: int
    verdict: Verdict
    source: ReceiptSource
    receipt: Receipt | None = None
    why: str | None = None
    at: datetime | None = None  # None: not written yet


@dataclass(frozen=True, slots=True)
class Ledger:
    """All steps, intents and receipts of one job."""

    steps: tuple[StepEntry, ...] = ()
    intents: tuple[IntentEntry, ...] = ()
    receipts: tuple[ReceiptEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIntent:
    """A visible call about to leave: it begins within so many seconds, and nobody asks after it for so many more."""

    job_id: UUID
    token: UUID | None
    step: str
    position: int
    number: int
    send_within: float
    settles_within: float
    limit: float | None = None  # seconds from now until the job's new deadline


@dataclass(frozen=True, slots=True)
class RecordedReceipt:
    """The effect of storing a receipt: which other job has the same remote post, and whether the step is live twice."""

    lookup_at: datetime | None  # None: nothing is uncertain any more
    held_by: UUID | None = None
    is_duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """How a call deals with the service it calls."""

    timeout: timedelta = timedelta(seconds=30)  # until a response must be there
    visibility: timedelta = timedelta(seconds=5)  # until a new post must show up in the service's own lists
    send_within: timedelta = timedelta(seconds=5)  # from the intent until the request must leave
    secrets: frozenset[str] = frozenset()  # redacted in logs and errors
    public: bool = False  # a user gave the address: private addresses need a setting
    # Called with a failure before it ends the run; may raise to end the run in another way.
    on_failure: Callable[[Failure], Awaitable[None]] | None = None


class GuardedCall(Call, Protocol):
    """A call as a handler gets it, before it chooses the policy of the service it calls."""

    @property
    def http(self) -> Http:
        """An HTTP client for requests that are neither remembered nor visible to others."""
        ...

    async def handle_failure(self, failure: Failure) -> Outcome:
        """Return the outcome of a failure that a network reported. A rate limit also starts a cooldown."""
        ...

    def with_policy(self, policy: CallPolicy) -> "GuardedCall":
        """Return this call with another policy. Its steps begin again at the first; finished ones are remembered."""
        ...
