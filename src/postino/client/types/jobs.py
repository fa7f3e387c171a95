"""Jobs of any type, previews of jobs, and the results of bulk requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from postino.client.types.explain import BlockerView
from postino.client.types.ledger import TracedAttemptView
from postino.client.types.literals import QueueName, State
from postino.client.types.schema import Doc, Timestamp, Uuid


class JobView(TypedDict):
    """One unit of work."""

    id: Annotated[Uuid, Doc("Id of the job.")]
    type: Annotated[str, Doc("Type of the job, which selects its handler.")]
    channel: Annotated[str, Doc("Channel, which is the network of a post.")]
    queue: Annotated[QueueName, Doc("Queue, which sets the priority.")]
    state: Annotated[State, Doc("State of the job.")]
    payload: Annotated[Any, Doc("Input of the handler.")]
    idempotency_key: Annotated[
        str, Doc("Hash of the caller's key and the account, else the brand; unique within the channel.")
    ]
    scheduled_at: Annotated[Timestamp, Doc("When the job was scheduled to run.")]
    run_at: Annotated[Timestamp | None, Doc("When the job runs next; null if it waits for a person.")]
    created_at: Annotated[Timestamp, Doc("When the job was created.")]
    account: Annotated[str | None, Doc("Account that the job works for.")]
    brand: Annotated[str | None, Doc("Brand that the job works for.")]
    user_id: Annotated[str | None, Doc("User id that the caller supplied.")]
    parent_id: Annotated[Uuid | None, Doc("Id of the job that created this job.")]
    correlation_id: Annotated[str | None, Doc("Correlation id that the caller supplied.")]
    attempts: Annotated[int, Doc("Number of attempts in this generation.")]
    max_attempts: Annotated[
        int | None, Doc("Maximum number of attempts; null for the default of the channel, else of the type.")
    ]
    backoff: Annotated[Any, Doc("Delays between attempts; null for the default of the channel, else of the type.")]
    time_limit: Annotated[
        float | None, Doc("Maximum seconds per attempt; the time starts again with each step. Null: the default.")
    ]
    generation: Annotated[int, Doc("Increases by one each time the job is replayed.")]
    rescues: Annotated[
        int, Doc("How often a worker died, or stopped with a visible call in doubt, while it ran the job.")
    ]
    deferrals: Annotated[int, Doc("How often the job was deferred without using up an attempt.")]
    deferral_reason: Annotated[str | None, Doc("Reason of the current deferral.")]
    may_be_live: Annotated[bool, Doc("True if the network may have received a visible call of the job.")]
    lookup_at: Annotated[Timestamp | None, Doc("When Postino next looks up an uncertain job on the network.")]
    remote_id: Annotated[str | None, Doc("Id of the result on the network.")]
    last_error: Annotated[str | None, Doc("Error message of the last failed attempt.")]
    claimed_by: Annotated[str | None, Doc("Id of the worker that runs the job.")]
    claimed_at: Annotated[Timestamp | None, Doc("When the worker in `claimed_by` claimed the job.")]
    dispatched_at: Annotated[Timestamp | None, Doc("When a `dispatch-due` request last woke the workers for the job.")]
    rate_limit_count: Annotated[int, Doc("How often a rate limit of the network deferred the job.")]
    ignore_blackouts: Annotated[bool, Doc("True if the job ignores blackouts.")]
    result: Annotated[Any, Doc("Result of the handler.")]
    finished_at: Annotated[Timestamp | None, Doc("When the job reached a final state.")]


class QueuedJobView(JobView):
    """A job that was queued, or the existing job with the same idempotency key."""

    notes: Annotated[list[str], Doc("Notes about the job, such as a blackout that delays it.")]


class JobDetailsView(JobView):
    """A job with its history."""

    history: Annotated[list[TracedAttemptView], Doc("All attempts, oldest first.")]


class EvaluationView(TypedDict):
    """Whether a job could run at a given time."""

    runnable: Annotated[bool, Doc("True if nothing blocks the job at that time.")]
    in_blackout: Annotated[bool, Doc("True if a blackout covers that time.")]
    has_collision: Annotated[
        bool,
        Doc(
            "True if another pending job of the account is scheduled less than a minute before or after that time. If"
            " you pass no account, the jobs of the brand on the channel count. If you pass neither, all jobs of the"
            " channel count."
        ),
    ]
    blockers: Annotated[list[BlockerView], Doc("Everything that blocks the job at that time.")]


class JobEvaluationView(TypedDict):
    """The evaluation of a job that does not exist. Nothing was queued."""

    channel: Annotated[str, Doc("Channel of the job.")]
    run_at: Annotated[Timestamp, Doc("The time that was evaluated.")]
    evaluation: Annotated[EvaluationView, Doc("Whether the job could run then.")]
    notes: Annotated[list[str], Doc("Notes about the job, such as a blackout that delays it.")]


class JobPreviewView(JobEvaluationView):
    """The job that a request would queue. Nothing was queued."""

    preview: Annotated[Literal[True], Doc("Always true.")]
    type: Annotated[str, Doc("Type of the job.")]
    queue: Annotated[QueueName, Doc("Queue, which sets the priority.")]
    account: Annotated[str | None, Doc("Account that the job works for.")]
    brand: Annotated[str | None, Doc("Brand that the job works for.")]
    user_id: Annotated[str | None, Doc("User id that the caller supplied.")]
    correlation_id: Annotated[str | None, Doc("Correlation id that the caller supplied.")]
    max_attempts: Annotated[int | None, Doc("Maximum number of attempts.")]
    time_limit: Annotated[float | None, Doc("Maximum seconds per attempt.")]
    known: Annotated[Uuid | None, Doc("Id of the existing job with the same idempotency key.")]


class BulkJobSuccessView(TypedDict):
    """A job that a bulk request changed."""

    id: Annotated[Uuid, Doc("Id of the job.")]
    done: Annotated[Literal[True], Doc("Always true.")]
    job: Annotated[JobView, Doc("The job after the change.")]


class BulkErrorView(TypedDict):
    """An item of a bulk request that failed."""

    id: Annotated[Uuid, Doc("Id of the job.")]
    done: Annotated[Literal[False], Doc("Always false.")]
    status: Annotated[int, Doc("HTTP status that a request for this item alone would return.")]
    detail: Annotated[str, Doc("What happened and what to do.")]


class BulkJobResultView(TypedDict):
    """The result of a bulk request for each job."""

    data: Annotated[list[BulkJobSuccessView | BulkErrorView], Doc("One result for each job.")]
    next_cursor: Annotated[Uuid | None, Doc("With a filter: `before` of the next request; null if no job is left.")]
