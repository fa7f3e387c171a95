"""Closing and opening gates: by people, with a line in the audit trail, and by what networks say."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from postino.rules.circuit_breaker import Breaker, BreakerPolicy, Circuit, after, closed_by_hand, opened, reset
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.text import clean_text
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, ask
from postino.values.event import EventType

CIRCUIT_EVENTS = {
    Circuit.CLOSED: EventType.CIRCUIT_CLOSED,
    Circuit.OPEN: EventType.CIRCUIT_OPENED,
    Circuit.HALF_OPEN: EventType.CIRCUIT_HALF_OPENED,
}


def record_response(service: str, healthy: bool, policy: BreakerPolicy, why: str | None) -> Operation[Breaker]:
    before, now = yield from lock_breaker(service)
    now_is = after(before, healthy, policy, now, clean_text(why))
    if now_is is not before:
        yield from write_breaker(before, now_is)
    return now_is


def open_circuit(service: str, until_at: datetime | None, probes: int, act: AuditContext) -> Operation[Breaker]:
    def by(breaker: Breaker, now: datetime) -> Breaker:
        return opened(breaker, now, until_at=until_at, reason=act.reason or None, probes=probes)

    return (yield from change_circuit(service, by, act))


def close_circuit(service: str, act: AuditContext) -> Operation[Breaker]:
    return (yield from change_circuit(service, closed_by_hand, act))


def reset_circuit(service: str, act: AuditContext) -> Operation[Breaker]:
    return (yield from change_circuit(service, lambda breaker, _: reset(breaker), act))


def change_circuit(
    service: str, change: Callable[[Breaker, datetime], Breaker], act: AuditContext
) -> Operation[Breaker]:
    before, now = yield from lock_breaker(service)
    now_is = change(before, now)
    yield from write_breaker(before, now_is)
    yield from write_audit_entry(act, CIRCUIT_EVENTS[now_is.state], f"circuit:{service}")
    return now_is


def lock_breaker(service: str) -> Operation[tuple[Breaker, datetime]]:
    [row] = yield ask("lock_circuit", service=service)
    return to_breaker(row), row["now_at"]


def write_breaker(before: Breaker, now_is: Breaker) -> Operation[None]:
    failures = json.dumps([at.isoformat() for at in now_is.failures])
    names = ("service", "state", "since_at", "until_at", "trips", "probes", "reason", "by_hand")
    yield ask("update_circuit", failures=failures, **{name: getattr(now_is, name) for name in names})
    if now_is.state is not before.state or now_is.trips > before.trips:
        yield from insert_circuit_event(now_is)


def insert_circuit_event(breaker: Breaker) -> Operation[None]:
    until = {"until_at": breaker.until_at.isoformat()} if breaker.until_at else {}
    said = {"service": breaker.service, "reason": breaker.reason or "", **until}
    yield from insert_event(CIRCUIT_EVENTS[breaker.state], None, said)


def half_open_circuits(services: Iterable[str]) -> Operation[None]:
    """The time of these open circuits is over, and somebody is about to find out how they are."""
    for row in (yield ask("half_open_circuits", services=sorted(services))):
        yield from insert_event(EventType.CIRCUIT_HALF_OPENED, None, {"service": row["service"]})


def list_circuits() -> Operation[list[Breaker]]:
    return [to_breaker(row) for row in (yield ask("list_circuits"))]


def to_breaker(row: Mapping[str, Any]) -> Breaker:
    return Breaker(
        service=row["service"],
        state=Circuit(row["state"]),
        since_at=row["since_at"],
        until_at=row["until_at"],
        failures=tuple(datetime.fromisoformat(at) for at in json.loads(row["failures"])),
        trips=row["trips"],
        probes=row["probes"],
        reason=row["reason"],
        by_hand=bool(row["by_hand"]),
    )
