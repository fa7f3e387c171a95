"""Dead letters: jobs that failed for good."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from postino.client.types.jobs import BulkErrorView, JobView
from postino.client.types.ledger import TracedAttemptView
from postino.client.types.literals import Cause
from postino.client.types.schema import Doc, Timestamp, Uuid


class DeadLetterView(TypedDict):
    """A job that failed for good."""

    id: Annotated[Uuid, Doc("Id of the job.")]
    cause: Annotated[Cause, Doc("Why the job failed for good.")]
    died_at: Annotated[Timestamp, Doc("When the job failed for good.")]
    error: Annotated[str | None, Doc("Error message of the last attempt.")]
    resolved_at: Annotated[Timestamp | None, Doc("When a person resolved the dead letter.")]
    resolution: Annotated[str | None, Doc("How a person resolved the dead letter: `replayed` or `discarded`.")]
    job: Annotated[JobView, Doc("The job.")]


class DeadLetterDetailsView(DeadLetterView):
    """A dead letter with its history."""

    trace: Annotated[str | None, Doc("Stack trace of the last error.")]
    history: Annotated[list[TracedAttemptView], Doc("All attempts, oldest first.")]


class DeadLetterGroupView(TypedDict):
    """Dead letters with the same cause, channel, type and error."""

    cause: Annotated[Cause, Doc("Why the jobs failed for good.")]
    channel: Annotated[str, Doc("Channel of the jobs.")]
    type: Annotated[str, Doc("Type of the jobs.")]
    error: Annotated[str, Doc("Error message without the parts that differ.")]
    letters: Annotated[int, Doc("Number of dead letters.")]
    first_at: Annotated[Timestamp, Doc("When the first job failed.")]
    last_at: Annotated[Timestamp, Doc("When the last job failed.")]
    example: Annotated[Uuid, Doc("Id of one of the jobs.")]


class BulkDeadLetterSuccessView(TypedDict):
    """A dead letter that a bulk request discarded."""

    id: Annotated[Uuid, Doc("Id of the job.")]
    done: Annotated[Literal[True], Doc("Always true.")]
    dead_letter: Annotated[DeadLetterView, Doc("The dead letter after the change.")]


class BulkDeadLetterResultView(TypedDict):
    """The result of a bulk request for each dead letter."""

    data: Annotated[list[BulkDeadLetterSuccessView | BulkErrorView], Doc("One result for each dead letter.")]
    next_cursor: Annotated[Uuid | None, Doc("With a filter: `before` of the next request; null if no job is left.")]
