"""Forecasts: which jobs would run when."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from postino.client.types.literals import GateKind, QueueName, Scope, WaitKind
from postino.client.types.schema import Doc, Timestamp, Uuid


class ForecastWaitView(TypedDict):
    """A reason for which a job would wait."""

    kind: Annotated[WaitKind, Doc("Why the job waits, as a code.")]
    sentence: Annotated[str, Doc("The reason in one sentence.")]
    until_at: Annotated[Timestamp | None, Doc("When the reason ends; null if it does not end by itself.")]


class ForecastJobView(TypedDict):
    """A job in a forecast."""

    id: Annotated[Uuid, Doc("Id of the job.")]
    type: Annotated[str, Doc("Type of the job.")]
    channel: Annotated[str, Doc("Channel of the job.")]
    account: Annotated[str | None, Doc("Account of the job.")]
    brand: Annotated[str | None, Doc("Brand of the job.")]
    queue: Annotated[QueueName, Doc("Queue of the job.")]
    scheduled_at: Annotated[Timestamp, Doc("When the job is scheduled to run.")]


class ForecastStartedJobView(ForecastJobView):
    """A job that would start before the end of the forecast."""

    started_at: Annotated[Timestamp, Doc("When the job would start.")]
    ended_at: Annotated[Timestamp, Doc("When the job would end.")]
    delay_seconds: Annotated[float, Doc("Seconds from `scheduled_at` to `started_at`.")]
    waited_for: Annotated[list[ForecastWaitView], Doc("What would delay the job.")]


class ForecastUnstartedJobView(ForecastJobView):
    """A job that would be due but would not start before the end of the forecast."""

    waits_for: Annotated[list[ForecastWaitView], Doc("What the job would wait for.")]


class ForecastTotalView(TypedDict):
    """The totals of one channel."""

    channel: Annotated[str, Doc("Name of the channel.")]
    started: Annotated[int, Doc("Number of jobs that would start.")]
    unstarted: Annotated[int, Doc("Number of jobs that would be due but would not start.")]
    max_delay_seconds: Annotated[float, Doc("Longest delay of a job in seconds.")]


class ForecastGateView(TypedDict):
    """A gate that is closed at some time during the forecast."""

    scope: Annotated[Scope, Doc("What the gate covers.")]
    name: Annotated[str, Doc("Name of the queue, channel, brand or account.")]
    kind: Annotated[GateKind, Doc("Why the gate is closed.")]
    since_at: Annotated[Timestamp | None, Doc("When the gate closes.")]
    until_at: Annotated[Timestamp | None, Doc("When the gate opens; null if only a person opens it.")]
    sentence: Annotated[str, Doc("The gate in one sentence.")]


ForecastView = TypedDict(
    "ForecastView",
    {
        "from": Annotated[Timestamp, Doc("Start of the forecast.")],
        "until": Annotated[Timestamp, Doc("End of the forecast.")],
        "workers": Annotated[int, Doc("Number of workers assumed.")],
        "slots": Annotated[int, Doc("Number of jobs that each worker runs at once.")],
        "started_jobs": Annotated[list[ForecastStartedJobView], Doc("Jobs that would start, in that order.")],
        "unstarted_jobs": Annotated[list[ForecastUnstartedJobView], Doc("Jobs that would be due but would not start.")],
        "totals": Annotated[list[ForecastTotalView], Doc("Totals by channel.")],
        "gates": Annotated[list[ForecastGateView], Doc("Gates that are closed at some time during the forecast.")],
        "notes": Annotated[list[str], Doc("What the forecast does not cover.")],
        "picture": NotRequired[Annotated[str, Doc("The forecast as an SVG image.")]],
    },
)
ForecastView.__doc__ = "Which jobs would start when, and which would not start, if nothing changes."
