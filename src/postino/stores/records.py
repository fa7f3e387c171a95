"""The contract of a store: what the engine asks of a database, and the values that go in and out.

A store selects, fences and writes; it decides nothing. Decisions come in as values or as pure functions of `rules`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from postino.rules.blackout import Blackout
from postino.rules.blockers import JobSnapshot
from postino.rules.circuit_breaker import Breaker
from postino.rules.claim_order import ClaimSource
from postino.rules.gates import GateSources
from postino.rules.quota import QuotaUse
from postino.rules.settlement import DeadLetterCause, Settlement
from postino.values.gate import Gate
from postino.values.job import Job, Queue, State


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job about to be enqueued, under an id of its own; a key makes a repeated call the same job."""

    id: UUID
    type: str
    channel: str
    queue: Queue
    payload: bytes
    key: str | None = None  # None: nobody can ask for it again, so its id serves as its key
    run_at: datetime | None = None  # None: now
    account: str | None = None
    brand: str | None = None
    user_id: str | None = None
    parent_id: UUID | None = None
    correlation_id: str | None = None
    max_attempts: int | None = None
    backoff: str | None = None
    time_limit: float | None = None


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """The job, and whether this call created it; otherwise its key was known and it comes back as it is now."""

    job: Job
    created: bool


@dataclass(frozen=True, slots=True)
class PollResult:
    """One look at the store: what is due where, which gates stand, how far each worker's beats have come."""

    now: datetime
    heads: tuple[ClaimSource, ...] = ()
    hinted: bool = False  # lanes have been told of that nobody has looked at yet
    orphaned: bool = False  # jobs are running whose worker is gone; with a beat only
    known: GateSources = field(default_factory=GateSources)
    heartbeats: Mapping[str, int] = field(default_factory=dict)
    held: frozenset[tuple[UUID, UUID]] = frozenset()  # what the asking worker runs, by job and token; with a beat only


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """What a worker asks for. The token is its own choice, so that it can find what it holds after a lost answer."""

    worker: str
    token: UUID
    free: int
    poll: PollResult
    marks: Mapping[tuple[str, Queue], datetime] = field(default_factory=dict)
    low_is_running: bool = False
    # Seconds a run may take, by "channel NAME", "type NAME" and "" for all others; a job's own limit goes before them.
    # So long and a grace after its claim, a job that has not ended is taken from its worker.
    limits: Mapping[str, float] = field(default_factory=dict)
    grace: float = 0.0


@dataclass(frozen=True, slots=True)
class AttemptError:
    """What went wrong in one attempt, for the history; without a class where no exception told of it."""

    error_class: str | None
    message: str
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class SettledJob:
    """A job, as claimed, and what becomes of it. The claim's token fences the write."""

    job: Job
    settlement: Settlement
    error: AttemptError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One line of a job's history."""

    generation: int
    number: int
    started_at: datetime
    ended_at: datetime
    worker: str
    outcome: str
    error_class: str | None = None
    message: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A job that failed, with all one needs to understand and replay it; kept until a person resolves it."""

    job: Job
    cause: DeadLetterCause
    died_at: datetime
    error: str | None
    trace: str | None
    history: tuple[Attempt, ...]
    resolved_at: datetime | None = None
    resolution: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker process, alive as long as its beats go up."""

    id: str
    host: str
    pid: int
    started_at: datetime | None = None
    heartbeats: int = 0


@dataclass(frozen=True, slots=True)
class ExplainInput:
    """What is around a job: all that may keep it from running, who could run it, and when that was seen."""

    facts: JobSnapshot
    workers: tuple[WorkerInfo, ...]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list: newest first, after the cursor."""

    states: tuple[State, ...] = ()
    type: str | None = None
    channel: str | None = None
    account: str | None = None
    brand: str | None = None
    brands: tuple[str, ...] | None = None  # None: whatever they are
    queue: Queue | None = None
    parent_id: UUID | None = None
    before: UUID | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs in their order, and before which to go on: perhaps without any, when much was looked through in vain."""

    jobs: Sequence[Job]
    next: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """Which dead letters to list or replay; resolved ones only on request."""

    ids: tuple[UUID, ...] = ()
    type: str | None = None
    channel: str | None = None
    cause: DeadLetterCause | None = None
    account: str | None = None
    brands: tuple[str, ...] | None = None  # None: whatever they are
    resolved: bool = False
    before: UUID | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class AuditContext:
    """Who does something by hand, and why: for the audit trail."""

    actor: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of the audit trail; its hash covers the line before it."""

    seq: int
    at: datetime
    actor: str
    action: str
    subject: str
    reason: str
    detail: str
    hash: str


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How many live jobs of a channel and queue are in a state."""

    channel: str
    queue: Queue
    state: State
    jobs: int
    oldest_run_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastInput:
    """What may run by a time and all that may hold it up, as they are now: what a rehearsal of it starts from."""

    now: datetime
    jobs: tuple[Job, ...]  # without their payloads
    posts: Mapping[UUID, datetime | None] = field(default_factory=dict)  # until when they may be published
    gates: tuple[Gate, ...] = ()
    blackouts: tuple[Blackout, ...] = ()
    circuits: tuple[Breaker, ...] = ()
    caps: Mapping[str, int] = field(default_factory=dict)
    served: Mapping[tuple[str, str], datetime] = field(default_factory=dict)  # when each brand last was, by channel
    spent: tuple[tuple[str, str, str, QuotaUse], ...] = ()  # lately, of a channel's account's quota
    lasted: Mapping[str, timedelta] = field(default_factory=dict)  # how long a job usually takes, by channel


# About a job whose worker died: the job, the time, and whether it may have been this job's doing.
RescueRule = Callable[[Job, datetime, bool], Settlement]


@dataclass(frozen=True, slots=True)
class BrandCount:
    """How many posts of a brand are in a state; counting stops where it would take long."""

    brand: str
    state: State
    posts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUsageFilter:
    """What was spent of a quota since a time: an account's, or that of all together, whose account is ''."""

    channel: str
    quota: str
    account: str
    since_at: datetime
