"""Forecasts: which jobs would run when."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from postino.client.types.literals import GateKind, QueueName, Scope, WaitKind
from postino.client.types.schema import Doc, Timestamp, Uuid


class ForecastWaitView(TypedDict):
    """A reason why a job would wait."""

    kind: Annotated[WaitKind, Doc("Kind of reason.")]
    sentence: Annotated[str, Doc("The reason in one sentence.")]
    until_at: Annotated[Timestamp | None, Doc("When it would end; null if it does not end by itself.")]


class ForecastJobView(TypedDict):
    """A job in a forecast."""

    id: Annotated[Uuid, Doc("Id of the job.")]
    type: Annotated[str, Doc("Type of the job.")]
    channel: Annotated[str, Doc("Channel of the job.")]
    account: Annotated[str | None, Doc("Account of the job.")]
    brand: Annotated[str | None, Doc("Brand of the job.")]
    queue: Annotated[QueueName, Doc("Queue of the job.")]
    scheduled_at: Annotated[Timestamp, Doc("When the job is scheduled to run.")]


class ForecastRunView(ForecastJobView):
    """A job that would run."""

    started_at: Annotated[Timestamp, Doc("When it would start.")]
    ended_at: Annotated[Timestamp, Doc("When it would end.")]
    late_by: Annotated[float, Doc("Delay in seconds.")]
    waited_for: Annotated[list[ForecastWaitView], Doc("What would delay it.")]


class ForecastLeftoverView(ForecastJobView):
    """A job that would be due but not run by the end of the forecast."""

    waits_for: Annotated[list[ForecastWaitView], Doc("What it would wait for.")]


class ForecastTotalView(TypedDict):
    """The totals of one channel."""

    channel: Annotated[str, Doc("Name of the channel.")]
    ran: Annotated[int, Doc("Number of jobs that would run.")]
    left: Annotated[int, Doc("Number of jobs that would be due but not run.")]
    latest_late_by: Annotated[float, Doc("Longest delay in seconds.")]


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
        "slots": Annotated[int, Doc("Number of jobs that run at once.")],
        "ran": Annotated[list[ForecastRunView], Doc("Jobs that would run, in the order of their start.")],
        "left": Annotated[list[ForecastLeftoverView], Doc("Jobs that would be due but not run.")],
        "totals": Annotated[list[ForecastTotalView], Doc("Totals by channel.")],
        "gates": Annotated[list[ForecastGateView], Doc("Gates that are closed at some time.")],
        "notes": Annotated[list[str], Doc("What the forecast does not cover.")],
        "picture": NotRequired[Annotated[str, Doc("The forecast as an SVG image.")]],
    },
)
ForecastView.__doc__ = "Which jobs would run when, and which jobs would not run, if nothing changes."
