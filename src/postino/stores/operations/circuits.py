"""Circuit breakers: `rules.circuit_breaker` decides what a response makes of one; here it is compared and set.

The circuit of a channel is a gate that every claim reads. The circuit of a service (see `values.service`) is in the due
times of the lanes of its accounts, however many services there are: each change of its state hints at these lanes.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from postino.rules.gates import FOREVER
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.text import clean_text
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask, each
from postino.values.event import EventType
from postino.values.service import is_origin_service

# Seconds until the next probe if one has no result, for example because its worker died. More where there are many
# accounts, because the due times of all their lanes change with every probe.
NEXT_PROBE_AFTER, PER_ACCOUNT = 2.0, 0.005
UNUSED_AFTER = 86_400.0  # seconds after which the closed circuit of a service is deleted
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
    """Open a circuit by hand, until a time or until a person closes it."""

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
    names = ("service", "state", "since_at", "until_at", "trips", "probes", "reason", "manual")
    held, holds = get_hold_end(before), get_hold_end(breaker)
    if is_origin_service(breaker.service) and held is not None and (holds is None or holds < held):
        yield ask("lock_hints")  # waits for claims that compute later due times by the circuit as it was
    yield ask("update_circuit", failures=failures, **{name: getattr(breaker, name) for name in names})
    if is_origin_service(breaker.service) and holds != held:
        yield ask("hint_services", services=[breaker.service])
    if breaker.state is not before.state or breaker.trips > before.trips:
        yield from insert_circuit_event(breaker)


def get_hold_end(breaker: Breaker) -> datetime | None:
    """Return until when a circuit holds the lanes of its service; None if it does not."""
    return None if breaker.state is CircuitState.CLOSED else breaker.until_at or FOREVER


def insert_circuit_event(breaker: Breaker) -> Operation[None]:
    """Insert the event of a circuit's new state."""
    until = {"until_at": breaker.until_at.isoformat()} if breaker.until_at else {}
    data = {"service": breaker.service, "reason": breaker.reason or "", **until}
    yield from insert_event(CIRCUIT_EVENTS[breaker.state], None, data)


def half_open_circuits(services: Iterable[str]) -> Operation[None]:
    """Half-open those of these circuits whose time is over, before a worker probes their services."""
    for row in (yield ask("half_open_circuits", services=sorted(services))):
        yield from insert_event(EventType.CIRCUIT_HALF_OPENED, None, {"service": row["service"]})


def admit_probes(lanes: Sequence[Row]) -> Operation[list[Row]]:
    """Return the lanes that a claim may take: of a service whose circuit is not closed, as many as it allows probes.

    Only one claim at a time gets probes of a service. The due times of its other lanes are computed anew.
    """
    services = sorted({lane["service"] for lane in lanes if lane["service"]})
    if not services:
        return [*lanes]
    accounts = {row["service"]: row["accounts"] for row in (yield ask("count_service_accounts", services=services))}
    started = yield each(
        "start_probes",
        [
            {"service": service, "seconds": NEXT_PROBE_AFTER + PER_ACCOUNT * accounts.get(service, 0)}
            for service in services
        ],
    )
    names = [row["service"] for row in started]
    counted = (yield ask("count_probes", services=names)) if names else []
    running = {row["service"]: row["running"] for row in counted}
    probes = {row["service"]: row["probes"] for row in started}
    room = Counter({service: probes[service] - running.get(service, 0) for service in probes})
    admitted = []
    for lane in lanes:
        if lane["service"] is None or room[lane["service"]] > 0:
            admitted.append(lane)
            room[lane["service"]] -= 1
    for row in counted:
        if row["free_at"] is not None and row["running"] >= probes[row["service"]]:
            yield ask("advance_probe", service=row["service"], free_at=row["free_at"])
    yield ask("hint_services", services=names)
    for row in started:
        if row["opened"]:
            yield from insert_event(EventType.CIRCUIT_HALF_OPENED, None, {"service": row["service"]})
    return admitted


def read_circuit(service: str) -> Operation[tuple[Breaker, datetime]]:
    """Return the circuit of a service, a new one if it has none, and the database's time."""
    [row] = yield ask("get_circuit", service=service)
    return (Breaker(service=service) if row["service"] is None else to_breaker(row)), row["now_at"]


def list_account_circuits(accounts: Collection[str]) -> Operation[dict[str, Breaker]]:
    """Return the circuits that hold the jobs of these accounts, unless they are closed, by account."""
    rows = yield ask("list_account_circuits", accounts=[*accounts])
    return {row["account"]: to_breaker(row) for row in rows}


def has_service(service: str) -> Operation[bool]:
    """Return whether any account has this service."""
    return bool((yield ask("has_service", service=service)))


def list_service_circuits() -> Operation[list[Breaker]]:
    """Return the circuits that hold the jobs of any account."""
    return [to_breaker(row) for row in (yield ask("list_service_circuits"))]


def delete_unused_circuits() -> Operation[None]:
    """Delete circuits of services that no account has any more, or that have been closed for long."""
    yield ask("delete_unused_circuits", seconds=UNUSED_AFTER)


def list_circuits() -> Operation[list[Breaker]]:
    """Return all breakers."""
    return [to_breaker(row) for row in (yield ask("list_circuits"))]


def to_breaker(row: Mapping[str, Any]) -> Breaker:
    """Return the breaker in a row."""
    return Breaker(
        service=row["service"],
        state=CircuitState(row["state"]),
        since_at=row["since_at"],
        until_at=None if row["until_at"] is None or row["until_at"] >= FOREVER else row["until_at"],
        failures=tuple(datetime.fromisoformat(at) for at in json.loads(row["failures"])),
        trips=row["trips"],
        probes=row["probes"],
        reason=row["reason"],
        manual=bool(row["manual"]),
    )
