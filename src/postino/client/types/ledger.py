"""What Postino recorded while it ran a job: attempts, steps, intents and receipts."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from postino.client.types.literals import CallVerdict, Source
from postino.client.types.schema import Doc, Timestamp


class AttemptView(TypedDict):
    """One attempt to run a job."""

    generation: Annotated[int, Doc("Increases by one each time the job is replayed.")]
    number: Annotated[int, Doc("Number of the attempt within its generation.")]
    started_at: Annotated[Timestamp, Doc("When the attempt started.")]
    ended_at: Annotated[Timestamp, Doc("When the attempt ended.")]
    worker: Annotated[str, Doc("Id of the worker that made the attempt.")]
    outcome: Annotated[str, Doc("How the attempt ended.")]
    message: Annotated[str | None, Doc("Error message or reason.")]


class JobAttemptView(AttemptView):
    """One attempt to run a job, with the class of its error."""

    error_class: Annotated[str | None, Doc("Name of the exception class.")]


class TracedAttemptView(JobAttemptView):
    """One attempt to run a job, with the stack trace of its error."""

    trace: Annotated[str | None, Doc("Stack trace of the error.")]


class StepView(TypedDict):
    """A step whose result Postino stores, so that a retry does not repeat the step."""

    name: Annotated[str, Doc("Name of the step.")]
    asked_at: Annotated[Timestamp, Doc("When the step started.")]
    done_at: Annotated[Timestamp | None, Doc("When the step was done; null if the step is not done.")]


class IntentView(TypedDict):
    """A record that Postino commits before it sends a visible call."""

    step: Annotated[str, Doc("Name of the step that makes the call.")]
    number: Annotated[int, Doc("Number of the call within the step.")]
    intended_at: Annotated[Timestamp, Doc("When the intent was recorded.")]
    send_before_at: Annotated[Timestamp, Doc("Postino does not send the call after this time.")]
    lookup_at: Annotated[Timestamp, Doc("Earliest time at which Postino looks up the result on the network.")]


class ReceiptView(TypedDict):
    """The recorded result of a visible call."""

    step: Annotated[str, Doc("Name of the step that made the call.")]
    number: Annotated[int, Doc("Number of the call within the step.")]
    verdict: Annotated[CallVerdict, Doc("Whether the network accepted or refused the call.")]
    source: Annotated[Source, Doc("Source of the verdict: the response, a lookup on the network, or a person.")]
    why: Annotated[str | None, Doc("Reason for a refusal, or the person's reason.")]
    at: Annotated[Timestamp | None, Doc("When the receipt was recorded.")]
    remote_id: Annotated[str | None, Doc("Id of the post on the network.")]
    url: Annotated[str | None, Doc("Public URL of the post.")]
