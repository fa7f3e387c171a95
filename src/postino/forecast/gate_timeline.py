"""The gates that are closed at some time during a forecast, as far as is known now."""

from collections.abc import Iterable
from datetime import datetime

from postino.forecast.result import WaitReason
from postino.rules.blackout import describe_blackout, list_windows
from postino.rules.circuit_breaker import CircuitState
from postino.rules.gates import describe_closed_gate, is_blocking, to_gate
from postino.stores.records import ForecastInput
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job


class GateTimeline:
    """Finds the gates that block a job in a span of time."""

    def __init__(self, queue: ForecastInput, until_at: datetime) -> None:
        self.services = queue.services
        self.all: list[Gate] = []
        self.by_place: dict[tuple[Scope, str], list[Gate]] = {}
        for gate in sorted(list_gates(queue, until_at), key=lambda gate: gate.since_at or queue.now):
            self.add(gate)

    def add(self, gate: Gate) -> None:
        self.all.append(gate)
        self.by_place.setdefault((gate.scope, gate.name), []).append(gate)

    def find_blocking(self, job: Job, since_at: datetime, until_at: datetime) -> list[WaitReason]:
        """Return the gates that block this job at some time of the span."""
        places = [
            (Scope.ALL, ""), (Scope.QUEUE, job.queue.label), (Scope.CHANNEL, job.channel), (Scope.BRAND, job.brand),
            (Scope.ACCOUNT, job.account), (Scope.SERVICE, self.services.get(job.account or "")),
        ]  # fmt: skip
        near = [gate for scope, name in places for gate in self.by_place.get((scope, name or ""), ())]
        return [
            WaitReason(gate.kind.value, describe_closed_gate(gate), gate.until_at)
            for gate in near
            if is_blocking(gate, job)
            and (gate.since_at or since_at) < until_at
            and (gate.until_at or until_at) > since_at
        ]


def list_gates(queue: ForecastInput, until_at: datetime) -> Iterable[Gate]:
    """Yield the stored gates, open circuits and blackout windows of the span."""
    for gate in queue.gates:
        if gate.until_at is None or gate.until_at > queue.now:
            yield gate
    for breaker in queue.circuits:
        if breaker.state is CircuitState.OPEN and (breaker.until_at is None or breaker.until_at > queue.now):
            yield to_gate(breaker)
    for blackout in queue.blackouts:
        for window in list_windows(blackout, queue.now, until_at):
            yield Gate(
                scope=blackout.scope,
                name=blackout.name,
                kind=GateKind.BLACKOUT,
                since_at=window.since_at,
                until_at=window.until_at,
                reason=blackout.reason or describe_blackout(blackout),
            )
