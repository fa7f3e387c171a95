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


class Suspicion(StrEnum):
    """The step of an intent that stands for all calls that the database may have lost."""

    RESTORED = "lost by a restore"
    ABSENT = "lost by an absent worker"
    EARLY = "lost by a restore, before its time"  # the post was not due yet, so only a person can have published it


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
    """A visible call that a worker may send until `send_before_at`. A lookup is possible from `lookup_at` on."""

    step: str
    position: int  # of the step in the handler
    number: int  # 1 for the first call of the step
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
    """An intent to store: the call must begin within `send_within` seconds; lookups wait `lookup_delay` more."""

    job_id: UUID
    token: UUID | None
    step: str
    position: int
    number: int
    send_within: float
    lookup_delay: float
    limit: float | None = None  # seconds from now until the job's new deadline
    id_scope: str = ""  # where the remote id that the call returns is unique; empty: in the whole account
    # For the witness file: the account of the post, and the steps whose results the call uses.
    channel: str = ""
    account: str | None = None
    steps: tuple[StepEntry, ...] = ()


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
    listing_delay: timedelta = timedelta(seconds=5)  # until a new post must show up in the service's own lists
    send_within: timedelta = timedelta(seconds=5)  # from the intent until the request must leave
    secrets: frozenset[str] = frozenset()  # redacted in logs and errors
    id_scope: str = ""  # where remote ids are unique; empty: in the whole account
    public: bool = False  # a user gave the address: private addresses need a setting
    service: str = ""  # whose circuit counts the responses; empty: the job's channel
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
