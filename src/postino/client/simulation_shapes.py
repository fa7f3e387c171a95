"""What is told of the days ahead: what would run when, and what would not."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from postino.client.words import At, GateKind, QueueName, Scope, Uuid, WaitKind


class Wait(TypedDict):
    """What a job would wait for."""

    kind: WaitKind
    sentence: str
    until_at: At | None


class SimulatedJob(TypedDict):
    """A job in a simulation."""

    id: Uuid
    type: str
    channel: str
    account: str | None
    brand: str | None
    queue: QueueName
    scheduled_at: At


class Ran(SimulatedJob):
    """One that would run, `late_by` so many seconds."""

    started_at: At
    ended_at: At
    late_by: float
    waited_for: list[Wait]


class Left(SimulatedJob):
    """One that was due and would not have run by then."""

    waits_for: list[Wait]


class Total(TypedDict):
    """Of one channel, and how many seconds the latest was late."""

    channel: str
    ran: int
    left: int
    latest_late_by: float


class SimulatedGate(TypedDict):
    """A gate that is closed at some time in between."""

    scope: Scope
    name: str
    kind: GateKind
    since_at: At | None
    until_at: At | None
    sentence: str


Simulated = TypedDict(
    "Simulated",
    {
        "from": At,
        "until": At,
        "workers": int,
        "slots": int,
        "ran": list[Ran],
        "left": list[Left],
        "totals": list[Total],
        "gates": list[SimulatedGate],
        "notes": list[str],
        "picture": NotRequired[str],
    },
)
Simulated.__doc__ = "What would run when, as things are now, and what would not."
