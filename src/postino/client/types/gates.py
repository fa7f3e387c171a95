"""What keeps jobs from starting: blackouts, circuit breakers, pauses, cooldowns and caps."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from postino.client.types.literals import BlackoutScope, CircuitState, GateKind, QueueName, Scope
from postino.client.types.schema import Doc, Timestamp, Uuid
from postino.client.types.workers import RegisteredWorkerView


class BlackoutView(TypedDict):
    """A window of local time, on some or all days of the week, in which Postino publishes nothing."""

    id: Annotated[Uuid, Doc("Id of the blackout.")]
    scope: Annotated[BlackoutScope, Doc("What the blackout applies to.")]
    channel: NotRequired[Annotated[str, Doc("The channel, if that is the scope.")]]
    brand: NotRequired[Annotated[str, Doc("The brand, if that is the scope.")]]
    account: NotRequired[Annotated[str, Doc("The account, if that is the scope.")]]
    start: Annotated[str, Doc("Local time at which the window starts, such as `22:00`.")]
    end: Annotated[str, Doc("Local time at which the window ends, on the same or the next day.")]
    timezone: Annotated[str, Doc("Time zone of `start` and `end`.")]
    days: Annotated[
        list[int], Doc("Weekdays on which the window starts, from 0 (Sunday) to 6 (Saturday); empty for every day.")
    ]
    reason: Annotated[str | None, Doc("Why the blackout exists.")]
    sentence: Annotated[str, Doc("The blackout in one sentence.")]


class DelayedJobView(TypedDict):
    """A job that a blackout delays."""

    job_id: Annotated[Uuid, Doc("Id of the job.")]
    type: Annotated[str, Doc("Type of the job.")]
    channel: Annotated[str, Doc("Channel of the job.")]
    account: Annotated[str | None, Doc("Account of the job.")]
    brand: Annotated[str | None, Doc("Brand of the job.")]
    scheduled_at: Annotated[Timestamp, Doc("When the job was scheduled to run.")]
    goes_at: Annotated[Timestamp, Doc("When the job would run without the blackout.")]
    moves_to: Annotated[Timestamp | None, Doc("When the job runs instead; null if the blackouts leave no time.")]


class CreatedBlackoutView(BlackoutView):
    """A new blackout, or its preview, with the jobs that it delays."""

    shifts: Annotated[list[DelayedJobView], Doc("The first jobs that the blackout delays.")]
    more: Annotated[int, Doc("Number of further jobs that it delays.")]
    unlooked: Annotated[bool, Doc("True if Postino did not check all jobs.")]
    preview: Annotated[bool, Doc("True if nothing was saved.")]


class CircuitView(TypedDict):
    """The circuit breaker of one service."""

    service: Annotated[str, Doc("Name of the service.")]
    state: Annotated[
        CircuitState, Doc("Closed: Postino calls the service. Open: it makes no calls. Half-open: it sends probes.")
    ]
    since_at: Annotated[Timestamp | None, Doc("When the state began.")]
    until_at: Annotated[Timestamp | None, Doc("When the circuit becomes half-open; null if only a person closes it.")]
    failures: Annotated[int, Doc("Number of recent failures.")]
    trips: Annotated[int, Doc("How often the circuit opened in a row.")]
    probes: Annotated[int, Doc("Number of probe requests in progress.")]
    reason: Annotated[str | None, Doc("Why the circuit is open.")]
    by_hand: Annotated[bool, Doc("True if a person opened it.")]


class QueueView(TypedDict):
    """The number of unfinished jobs of one channel and queue."""

    channel: Annotated[str, Doc("Name of the channel.")]
    queue: Annotated[QueueName, Doc("Name of the queue.")]
    pending: Annotated[int, Doc("Number of pending jobs.")]
    running: Annotated[int, Doc("Number of running jobs.")]
    uncertain: Annotated[int, Doc("Number of uncertain jobs.")]
    oldest_run_at: Annotated[Timestamp | None, Doc("Run time of the job that has been due for the longest.")]


class GateView(TypedDict):
    """A closed gate: no job that it covers starts."""

    scope: Annotated[Scope, Doc("What the gate covers.")]
    name: Annotated[str, Doc("Name of the queue, channel, brand or account.")]
    kind: Annotated[GateKind, Doc("Why the gate is closed.")]
    since_at: Annotated[Timestamp | None, Doc("When the gate closed.")]
    until_at: Annotated[Timestamp | None, Doc("When the gate opens; null if only a person opens it.")]
    reason: Annotated[str | None, Doc("Reason of the actor.")]
    by_hand: Annotated[bool, Doc("True if a person closed it.")]
    sentence: Annotated[str, Doc("The gate in one sentence.")]


class ChannelCapView(TypedDict):
    """How many jobs of a channel may run at once."""

    channel: Annotated[str, Doc("Name of the channel.")]
    cap: Annotated[int | None, Doc("Maximum of running jobs; null for no maximum.")]


class DispatchResultView(TypedDict):
    """The result of waking the workers for due jobs."""

    dispatched: Annotated[int, Doc("Number of due jobs.")]


class QueuesView(TypedDict):
    """All queues, closed gates, caps and workers."""

    data: Annotated[list[QueueView], Doc("One item for each channel and queue with unfinished jobs.")]
    next_cursor: Annotated[None, Doc("Always null: there is one page.")]
    gates: Annotated[list[GateView], Doc("All closed gates.")]
    caps: Annotated[dict[str, int], Doc("Maximum of running jobs, by channel.")]
    workers: Annotated[list[RegisteredWorkerView], Doc("All registered workers.")]
