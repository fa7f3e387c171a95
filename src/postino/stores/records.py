"""The arguments and results of operations of the store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from postino.rules.blackout import Blackout
from postino.rules.blockers import JobSnapshot
from postino.rules.circuit_breaker import Breaker
from postino.rules.claim_order import ClaimSource
from postino.rules.gates import GateSources
from postino.rules.quota import QuotaUse
from postino.rules.settlement import DeadLetterCause, Settlement
from postino.rules.time_limits import TimeLimit
from postino.values.database import DatabaseState
from postino.values.gate import Gate
from postino.values.job import Job, Queue, State
from postino.values.ledger import StepEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to enqueue. Its id is chosen by the caller; a key makes a repeated call the same job."""

    id: UUID
    type: str
    channel: str
    queue: Queue
    payload: bytes
    key: str | None = None  # None: its id serves as its key
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
    """A job, and whether this call created it; if not, its key was known and the job is as it is now."""

    job: Job
    created: bool


@dataclass(frozen=True, slots=True)
class PollResult:
    """What a poll found: due sources, gates, the number of heartbeats of every worker."""

    now: datetime
    heads: tuple[ClaimSource, ...] = ()
    types: frozenset[str] = frozenset()  # of the jobs that the worker handles
    hinted: bool = False  # there are hints to apply
    orphaned: bool = False  # running jobs have lost their worker; read only with a heartbeat
    gate_sources: GateSources = field(default_factory=GateSources)
    service_circuits: tuple[Breaker, ...] = ()  # of the services that the poll asked about
    heartbeats: Mapping[str, int] = field(default_factory=dict)
    held: frozenset[tuple[UUID, UUID]] = frozenset()  # this worker's jobs and tokens; read only with a heartbeat
    database: DatabaseState = field(default_factory=lambda: DatabaseState(here=""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """What a worker wants to claim. It chooses the token, so that it can find its jobs if the response is lost."""

    worker: str
    token: UUID
    free: int
    poll: PollResult
    marks: Mapping[tuple[str, str, Queue], datetime] = field(default_factory=dict)
    low_is_running: bool = False
    # Strongest first; a job's own limit goes before them. A job that has not ended within its limit and the grace after
    # its claim is taken from its worker.
    limits: Sequence[TimeLimit] = ()
    grace: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LostIntent:
    """An intent that a process remembers and the database does not, with the steps that its job remembered."""

    job_id: UUID
    step: str
    position: int
    number: int
    intended_at: datetime
    send_before_at: datetime
    lookup_at: datetime
    id_scope: str = ""
    steps: tuple[StepEntry, ...] = ()

    def to_row(self) -> dict[str, Any]:
        """Return the columns of the intent."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "steps"}


@dataclass(frozen=True, slots=True)
class RememberedCount:
    """How many batches of intents a witness has committed, as one machine remembers.

    The machine enters the intents up to batch `entered` itself; only the witness knows those of the later ones.
    """

    witness: str
    n: int
    entered: int

    def to_row(self) -> dict[str, Any]:
        return {"witness": self.witness, "n": self.n, "entered": self.entered}


@dataclass(frozen=True, slots=True)
class AttemptError:
    """The error of one attempt, for the history; without a class if no exception caused it."""

    error_class: str | None
    message: str
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class SettledJob:
    """A job, as claimed, and its settlement. The claim's token fences the write."""

    job: Job
    settlement: Settlement
    error: AttemptError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt in a job's history."""

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
    """A failed job with all that is needed to understand and replay it; kept until a person resolves it."""

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
    """A worker process, alive as long as its heartbeats go up."""

    id: str
    host: str
    pid: int
    started_at: datetime | None = None
    heartbeats: int = 0
    types: tuple[str, ...] = ()  # of the jobs that it handles
    trouble: str | None = None  # why it cannot claim
    trouble_since_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExplainInput:
    """Everything that may keep a job from running, the workers that can run the job, and the time of the read."""

    facts: JobSnapshot
    workers: tuple[WorkerInfo, ...]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list, newest first, before the cursor."""

    states: tuple[State, ...] = ()
    type: str | None = None
    channel: str | None = None
    account: str | None = None
    brands: tuple[str, ...] | None = None  # None: all
    queue: Queue | None = None
    parent_id: UUID | None = None
    before: UUID | None = None
    limit: int = 50
    max_bytes: int | None = None  # of payloads and results; the job that exceeds it is the last


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs in order, and the cursor of the next page. A page may be empty and still have a next one."""

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
    brands: tuple[str, ...] | None = None  # None: all
    resolved: bool = False
    before: UUID | None = None
    limit: int = 50
    max_bytes: int | None = None  # of payloads and traces; the dead letter that exceeds it is the last


@dataclass(frozen=True, slots=True)
class AuditContext:
    """Who acts, and why: for the audit trail."""

    actor: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One entry of the audit trail; its hash covers the entry before it, and its proof is keyed."""

    seq: int
    at: datetime
    actor: str
    action: str
    subject: str
    reason: str
    detail: str
    hash: str
    proof: str | None = None


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How many unfinished jobs of a channel and queue are in a state."""

    channel: str
    queue: Queue
    state: State
    jobs: int
    oldest_run_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastInput:
    """The jobs that may run by a time and all that may hold them up, as they are now."""

    now: datetime
    jobs: tuple[Job, ...]  # without their payloads
    posts: Mapping[UUID, datetime | None] = field(default_factory=dict)  # deadlines of posts
    gates: tuple[Gate, ...] = ()
    blackouts: tuple[Blackout, ...] = ()
    circuits: tuple[Breaker, ...] = ()  # of channels, and of the services of these jobs' accounts
    services: Mapping[str, str] = field(default_factory=dict)  # accounts whose service has one of these circuits
    caps: Mapping[str, int] = field(default_factory=dict)
    served: Mapping[tuple[str, str], datetime] = field(default_factory=dict)  # last turn, by channel and brand
    spent: tuple[tuple[str, str, str, QuotaUse], ...] = ()  # recent use of channel, account and quota
    lasted: Mapping[str, timedelta] = field(default_factory=dict)  # usual duration, by channel


# Decides what becomes of a job whose worker died: the job, the time, and whether the job may have killed the worker.
RescueRule = Callable[[Job, datetime, bool], Settlement]


@dataclass(frozen=True, slots=True)
class BrandCount:
    """How many posts of a brand are in a state, counted up to a bound."""

    brand: str
    state: State
    posts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUsageFilter:
    """Whose use of a quota to read, since when. The account is '' where all accounts share the quota."""

    channel: str
    quota: str
    account: str
    since_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDelay:
    """The open transaction that keeps events from all listeners. `prepared` is its name if it is a prepared one."""

    pid: int | None
    application: str | None
    database: str | None
    prepared: str | None
    since_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSettings:
    """The blackout windows and caps that hold for all workers, as JSON."""

    version: int
    content: str
    written_by: str
    written_at: datetime
    is_new: bool  # this call changed it


@dataclass(frozen=True, slots=True)
class VaultKey:
    """The check value of a vault key: `proof` opens with this key alone. `source` says where the key was."""

    id: str
    proof: bytes
    source: str
