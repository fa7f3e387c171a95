"""What a simulation says: what would run when, what would not, and what each of them waited for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from postino.rules.blackout import describe_blackout, list_windows
from postino.rules.circuit_breaker import CircuitState
from postino.rules.gates import describe_closed_gate, is_blocking, to_gate
from postino.rules.local_time import format_time
from postino.stores.records import ForecastInput
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job, Queue

TURN, PERSON, MISSED = "turn", "person", "missed"  # beside the kinds of gates


@dataclass(frozen=True, slots=True)
class WaitReason:
    """Something a job waits for, in a sentence; `kind` is that of a gate, or its turn, a person, a time gone by."""

    kind: str
    sentence: str
    until_at: datetime | None = None


ITS_TURN = WaitReason(TURN, "It waits for its turn: for its account, its channel or a worker to be free.")
A_PERSON = WaitReason(
    PERSON, "A person has to say whether it is out: `postino posts resolve` or `postino jobs resolve`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastJob:
    """A job that would run."""

    job_id: UUID
    type: str
    channel: str
    account: str | None
    brand: str | None
    queue: Queue
    scheduled_at: datetime
    started_at: datetime
    ended_at: datetime
    waited_for: tuple[WaitReason, ...] = ()

    @property
    def late_by(self) -> timedelta:
        return max(self.started_at - self.scheduled_at, timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstartedJob:
    """A job that was due and would not have run by then."""

    job_id: UUID
    type: str
    channel: str
    account: str | None
    brand: str | None
    queue: Queue
    scheduled_at: datetime
    waits_for: tuple[WaitReason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTotal:
    """Of one channel."""

    channel: str
    ran: int = 0
    left: int = 0
    latest: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """From a time to another, with so many workers of so many slots each; the gates are those in between."""

    from_at: datetime
    until_at: datetime
    ran: tuple[ForecastJob, ...]
    left: tuple[UnstartedJob, ...]
    gates: tuple[Gate, ...] = ()
    workers: int = 1
    slots: int = 1
    notes: tuple[str, ...] = field(default=())

    def only(self, channel: str | None, brand: str | None) -> "Forecast":
        def wanted(one: ForecastJob | UnstartedJob) -> bool:
            return channel in (None, one.channel) and brand in (None, one.brand)

        return replace(self, ran=tuple(filter(wanted, self.ran)), left=tuple(filter(wanted, self.left)))

    def totals(self) -> list[ChannelTotal]:
        found: dict[str, ChannelTotal] = {}
        every: list[ForecastJob | UnstartedJob] = [*self.ran, *self.left]
        for one in every:
            total = found.get(one.channel, ChannelTotal(channel=one.channel))
            if isinstance(one, ForecastJob):
                found[one.channel] = replace(total, ran=total.ran + 1, latest=max(total.latest, one.late_by))
            else:
                found[one.channel] = replace(total, left=total.left + 1)
        return [found[channel] for channel in sorted(found)]


class GateTimeline:
    """All that is closed at some time in between, and whom it concerns."""

    def __init__(self, outlook: ForecastInput, until_at: datetime) -> None:
        self.all: list[Gate] = []
        self.by_place: dict[tuple[Scope, str], list[Gate]] = {}
        for gate in sorted(gates_between(outlook, until_at), key=lambda gate: gate.since_at or outlook.now):
            self.add(gate)

    def add(self, gate: Gate) -> None:
        self.all.append(gate)
        self.by_place.setdefault((gate.scope, gate.name), []).append(gate)

    def holding(self, job: Job, since_at: datetime, until_at: datetime) -> list[WaitReason]:
        """Those that stood in this job's way at some time from then on, up to then."""
        places = [
            (Scope.ALL, ""), (Scope.QUEUE, job.queue.label), (Scope.CHANNEL, job.channel), (Scope.BRAND, job.brand),
            (Scope.ACCOUNT, job.account),
        ]  # fmt: skip
        near = [gate for scope, name in places for gate in self.by_place.get((scope, name or ""), ())]
        return [
            WaitReason(gate.kind.value, describe_closed_gate(gate), gate.until_at)
            for gate in near
            if is_blocking(gate, job)
            and (gate.since_at or since_at) < until_at
            and (gate.until_at or until_at) > since_at
        ]


def gates_between(outlook: ForecastInput, until_at: datetime) -> Iterable[Gate]:
    """As far as is known now: what people and networks will say is not."""
    for gate in outlook.gates:
        if gate.until_at is None or gate.until_at > outlook.now:
            yield gate
    for breaker in outlook.circuits:
        if breaker.state is CircuitState.OPEN and (breaker.until_at is None or breaker.until_at > outlook.now):
            yield to_gate(breaker)
    for blackout in outlook.blackouts:
        for window in list_windows(blackout, outlook.now, until_at):
            yield Gate(
                scope=blackout.scope,
                name=blackout.name,
                kind=GateKind.BLACKOUT,
                since_at=window.since_at,
                until_at=window.until_at,
                reason=blackout.reason or describe_blackout(blackout),
            )


def render_forecast(simulation: Forecast) -> dict[str, Any]:
    """As programs read it."""
    return {
        "from": format_time(simulation.from_at),
        "until": format_time(simulation.until_at),
        "workers": simulation.workers,
        "slots": simulation.slots,
        "ran": [told_of_ran(ran) for ran in simulation.ran],
        "left": [told_of_job(left) | {"waits_for": told_of_waits(left.waits_for)} for left in simulation.left],
        "totals": [told_of_total(total) for total in simulation.totals()],
        "gates": [told_of_closed(gate) for gate in simulation.gates],
        "notes": [*simulation.notes],
    }


def told_of_ran(ran: ForecastJob) -> dict[str, Any]:
    return told_of_job(ran) | {
        "started_at": format_time(ran.started_at),
        "ended_at": format_time(ran.ended_at),
        "late_by": ran.late_by.total_seconds(),
        "waited_for": told_of_waits(ran.waited_for),
    }


def told_of_job(one: ForecastJob | UnstartedJob) -> dict[str, Any]:
    names = ("type", "channel", "account", "brand")
    said: Mapping[str, Any] = {name: getattr(one, name) for name in names}
    return {"id": str(one.job_id), **said, "queue": one.queue.label, "scheduled_at": format_time(one.scheduled_at)}


def told_of_waits(waits: Iterable[WaitReason]) -> list[dict[str, Any]]:
    return [
        {"kind": wait.kind, "sentence": wait.sentence, "until_at": wait.until_at and format_time(wait.until_at)}
        for wait in waits
    ]


def told_of_total(total: ChannelTotal) -> dict[str, Any]:
    late = total.latest.total_seconds()
    return {"channel": total.channel, "ran": total.ran, "left": total.left, "latest_late_by": late}


def told_of_closed(gate: Gate) -> dict[str, Any]:
    return {
        "scope": gate.scope.value,
        "name": gate.name,
        "kind": gate.kind.value,
        "since_at": gate.since_at and format_time(gate.since_at),
        "until_at": gate.until_at and format_time(gate.until_at),
        "sentence": describe_closed_gate(gate),
    }
