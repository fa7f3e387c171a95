"""What is answered about jobs of any type: those that wait, those that failed, and those nobody is sure of."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from postino.client.shapes import Blocker, Intent, JobTry, Receipt, TracedTry
from postino.client.words import At, Cause, QueueName, State, Uuid


class Job(TypedDict):
    """One unit of work. Without `run_at` it waits for a person's word."""

    id: Uuid
    type: str
    channel: str
    queue: QueueName
    state: State
    payload: Any
    idempotency_key: str
    scheduled_at: At
    run_at: At | None
    created_at: At
    account: str | None
    brand: str | None
    user_id: str | None
    parent_id: Uuid | None
    correlation_id: str | None
    attempts: int
    max_attempts: int | None
    backoff: Any
    time_limit: float | None
    generation: int
    rescues: int
    deferrals: int
    deferred: str | None
    sent: bool
    look_at: At | None
    remote_id: str | None
    last_error: str | None
    claimed_by: str | None
    claimed_at: At | None
    dispatched_at: At | None
    limited: int
    regardless: bool
    result: Any
    finished_at: At | None


class QueuedJob(Job):
    """A job that was queued, or known already, with what people should know about it."""

    notes: list[str]


class JobDetails(Job):
    """A job with every try."""

    history: list[TracedTry]


class UncertainJob(Job):
    """A job of which something may be out there; which of its calls are in doubt, and what the ledger knows of them."""

    trouble: str | None
    needs_person: bool
    in_doubt: list[str]
    intents: list[Intent]
    receipts: list[Receipt]


class UncertainDetails(UncertainJob):
    """The same with every try."""

    history: list[JobTry]


class Candidate(TypedDict):
    """A post on the network that may be the one."""

    remote_id: str
    url: str | None


class Sight(TypedDict):
    """What a look at the network showed."""

    sighting: Literal["found", "not_found", "cannot_tell"]
    why: str | None
    candidates: list[Candidate]


class Evaluation(TypedDict):
    """Whether a job could run at a time, and what would be in its way."""

    runnable: bool
    in_blackout: bool
    has_collision: bool
    blockers: list[Blocker]


class Evaluated(TypedDict):
    """What a job that is only thought of would meet."""

    channel: str
    run_at: At
    evaluation: Evaluation
    notes: list[str]


class PreviewedJob(Evaluated):
    """What would be queued; `known` is the job that has this key already."""

    preview: Literal[True]
    type: str
    queue: QueueName
    account: str | None
    brand: str | None
    user_id: str | None
    correlation_id: str | None
    max_attempts: int | None
    time_limit: float | None
    known: Uuid | None


class Letter(TypedDict):
    """A job that failed for good, and why."""

    id: Uuid
    cause: Cause
    died_at: At
    error: str | None
    resolved_at: At | None
    resolution: str | None
    job: Job


class LetterDetails(Letter):
    """The same with every try and the last stack trace."""

    trace: str | None
    history: list[TracedTry]


class Trouble(TypedDict):
    """Dead letters that failed alike, one of them by its id."""

    cause: Cause
    channel: str
    type: str
    error: str
    letters: int
    first_at: At
    last_at: At
    example: Uuid


class JobDone(TypedDict):
    """One of many that was done, and the job after it."""

    id: Uuid
    done: Literal[True]
    job: Job


class LetterDone(TypedDict):
    """One of many that was laid aside."""

    id: Uuid
    done: Literal[True]
    dead_letter: Letter


class NotDone(TypedDict):
    """One of many that was refused: with which status, and why."""

    id: Uuid
    done: Literal[False]
    status: int
    detail: str


class JobResults(TypedDict):
    """What became of each job; with a filter, `next_cursor` is the `before` of those that follow."""

    data: list[JobDone | NotDone]
    next_cursor: Uuid | None


class LetterResults(TypedDict):
    """What became of each dead letter; with a filter, `next_cursor` is the `before` of those that follow."""

    data: list[LetterDone | NotDone]
    next_cursor: Uuid | None


class Event(TypedDict):
    """Something that happened, as the stream tells it."""

    id: str
    type: str
    at: At
    job_id: Uuid | None
    brand: str | None
    data: Any
