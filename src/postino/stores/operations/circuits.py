"""Circuit breakers: `rules.circuit_breaker` decides what a response makes of one; here it is compared and set."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from postino.rules.circuit_breaker import (
    Breaker,
    BreakerPolicy,
    CircuitState,
    close_manually,
    open_manually,
    record_result,
    reset_breaker,
)
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.text import clean_text
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, ask
from postino.values.event import EventType

CIRCUIT_EVENTS = {
    CircuitState.CLOSED: EventType.CIRCUIT_CLOSED,
    CircuitState.OPEN: EventType.CIRCUIT_OPENED,
    CircuitState.HALF_OPEN: EventType.CIRCUIT_HALF_OPENED,
}


def record_response(service: str, healthy: bool, policy: BreakerPolicy, why: str | None) -> Operation[Breaker]:
    """Count a service's response, or its absence, and return the breaker as it is now."""
    before, now = yield from lock_breaker(service)
    breaker = record_result(before, healthy, policy, now, clean_text(why))
    if breaker is not before:
        yield from write_breaker(before, breaker)
    return breaker


def open_circuit(service: str, until_at: datetime | None, probes: int, audit: AuditContext) -> Operation[Breaker]:
    """Open a circuit by hand, until a time or until somebody closes it."""

    def by(breaker: Breaker, now: datetime) -> Breaker:
        return open_manually(breaker, now, until_at=until_at, reason=audit.reason or None, probes=probes)

    return (yield from change_circuit(service, by, audit))


def close_circuit(service: str, audit: AuditContext) -> Operation[Breaker]:
    """Close a circuit by hand."""
    return (yield from change_circuit(service, close_manually, audit))


def reset_circuit(service: str, audit: AuditContext) -> Operation[Breaker]:
    """Forget all that is known about a circuit."""
    return (yield from change_circuit(service, lambda breaker, _: reset_breaker(breaker), audit))


def change_circuit(
    service: str, change: Callable[[Breaker, datetime], Breaker], audit: AuditContext
) -> Operation[Breaker]:
    """Apply a person's change to a circuit, with an audit entry."""
    before, now = yield from lock_breaker(service)
    breaker = change(before, now)
    yield from write_breaker(before, breaker)
    yield from write_audit_entry(audit, CIRCUIT_EVENTS[breaker.state], f"circuit:{service}")
    return breaker


def lock_breaker(service: str) -> Operation[tuple[Breaker, datetime]]:
    """Lock and return a breaker, and the database's time."""
    [row] = yield ask("lock_circuit", service=service)
    return to_breaker(row), row["now_at"]


def write_breaker(before: Breaker, breaker: Breaker) -> Operation[None]:
    """Write a breaker; insert an event if its state or its trips changed."""
    failures = json.dumps([at.isoformat() for at in breaker.failures])
    names = ("service", "state", "since_at", "until_at", "trips", "probes", "reason", "by_hand")
    yield ask("update_circuit", failures=failures, **{name: getattr(breaker, name) for name in names})
    if breaker.state is not before.state or breaker.trips > before.trips:
        yield from insert_circuit_event(breaker)


def insert_circuit_event(breaker: Breaker) -> Operation[None]:
    """Insert the event of a circuit's new state."""
    until = {"until_at": breaker.until_at.isoformat()} if breaker.until_at else {}
    data = {"service": breaker.service, "reason": breaker.reason or "", **until}
    yield from insert_event(CIRCUIT_EVENTS[breaker.state], None, data)


def half_open_circuits(services: Iterable[str]) -> Operation[None]:
    """Half-open those of these circuits whose time is over, before somebody probes their services."""
    for row in (yield ask("half_open_circuits", services=sorted(services))):
        yield from insert_event(EventType.CIRCUIT_HALF_OPENED, None, {"service": row["service"]})


def list_circuits() -> Operation[list[Breaker]]:
    """Return all breakers."""
    return [to_breaker(row) for row in (yield ask("list_circuits"))]


def to_breaker(row: Mapping[str, Any]) -> Breaker:
    """Return the breaker in a row."""
    return Breaker(
        service=row["service"],
        state=CircuitState(row["state"]),
        since_at=row["since_at"],
        until_at=row["until_at"],
        failures=tuple(datetime.fromisoformat(at) for at in json.loads(row["failures"])),
        trips=row["trips"],
        probes=row["probes"],
        reason=row["reason"],
        by_hand=bool(row["by_hand"]),
    )
