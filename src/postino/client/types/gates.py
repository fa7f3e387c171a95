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
    channel: NotRequired[Annotated[str, Doc("The channel, if `scope` is `channel`.")]]
    brand: NotRequired[Annotated[str, Doc("The brand, if `scope` is `brand`.")]]
    account: NotRequired[Annotated[str, Doc("The account, if `scope` is `account`.")]]
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
    more: Annotated[int, Doc("Number of further jobs that the blackout delays.")]
    complete: Annotated[bool, Doc("False if Postino did not check all pending jobs.")]
    preview: Annotated[bool, Doc("True if nothing was saved.")]


class CircuitView(TypedDict):
    """The circuit breaker of one service."""

    service: Annotated[
        str, Doc("Name of the service: `NETWORK@HOST` is one server, a network's name is all its servers.")
    ]
    state: Annotated[
        CircuitState,
        Doc("`closed`: Postino calls the service. `open`: it makes no calls. `half_open`: it sends probes."),
    ]
    since_at: Annotated[Timestamp | None, Doc("When the state began.")]
    until_at: Annotated[
        Timestamp | None,
        Doc("When the circuit becomes half-open, or the next probe may start; null if only a person closes it."),
    ]
    failures: Annotated[int, Doc("Number of recent failures.")]
    trips: Annotated[int, Doc("How often the circuit has opened since the last successful call.")]
    probes: Annotated[int, Doc("Maximum number of concurrent probe requests while half-open.")]
    reason: Annotated[str | None, Doc("Why the circuit is open.")]
    manual: Annotated[bool, Doc("True if a person opened the circuit.")]


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
    name: Annotated[str, Doc("Name of the queue, channel, brand, account or service.")]
    kind: Annotated[GateKind, Doc("Why the gate is closed.")]
    since_at: Annotated[Timestamp | None, Doc("When the gate closed.")]
    until_at: Annotated[Timestamp | None, Doc("When the gate opens; null if only a person opens it.")]
    reason: Annotated[str | None, Doc("Reason of the actor.")]
    manual: Annotated[bool, Doc("True for a circuit that a person opened.")]
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
