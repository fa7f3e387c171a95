"""Gates: pauses, cooldowns, caps, and the state of all gates that claims and `explain` go by."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from postino.errors import NotFound
from postino.rules.circuit_breaker import get_call_limit
from postino.rules.cooldown import extend_cooldown
from postino.rules.gates import FOREVER, GateSources, is_blocking, list_closed_gates
from postino.rules.gates import to_gate as to_circuit_gate
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.blackouts import to_blackout
from postino.stores.operations.circuits import list_account_circuits, to_breaker
from postino.stores.operations.events import insert_event
from postino.stores.operations.lane_hints import hint_lanes
from postino.stores.operations.text import clean_text
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask, each
from postino.values.event import EventType
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job


def pause_scope(scope: Scope, name: str, audit: AuditContext) -> Operation[Gate]:
    """Close the pause gate of a queue, channel, brand, account or everything."""
    if scope is Scope.ACCOUNT:
        yield ask("lock_account", id=name)
    gate = yield from close_gate(scope, name, GateKind.PAUSE, reason=audit.reason)
    if scope is Scope.ACCOUNT:
        yield ask("pause_account", id=name, reason=gate.reason)
    yield from insert_event(EventType.PAUSED, None, {"scope": scope, "name": name, "reason": audit.reason})
    yield from write_audit_entry(audit, EventType.PAUSED, f"{scope}:{name}")
    return gate


def resume_scope(scope: Scope, name: str, audit: AuditContext) -> Operation[Gate]:
    """Open a pause gate. Raises NotFound if it is not closed."""
    if scope is Scope.ACCOUNT:
        yield ask("lock_account", id=name)
    gate = yield from open_gate(scope, name, GateKind.PAUSE)
    if gate is None:
        raise NotFound(f"The {scope} {name} is not paused. `postino queues list` shows what is.")
    if scope is Scope.ACCOUNT:
        yield ask("unpause_account", id=name)
    yield from insert_event(EventType.RESUMED, None, {"scope": scope, "name": name})
    yield from write_audit_entry(audit, EventType.RESUMED, f"{scope}:{name}")
    return gate


def close_gate(
    scope: Scope, name: str, kind: GateKind, until_at: datetime | None = None, reason: str | None = None, times: int = 1
) -> Operation[Gate]:
    """Close a gate until a time, or until a person or a duty opens it."""
    values = {"scope": scope, "name": name, "kind": kind, "repeat_count": times}
    [row] = yield ask("close_gate", until_at=until_at or FOREVER, reason=clean_text(reason) or None, **values)
    yield from hint_lanes(scope, name)
    return to_gate(row)


def open_gate(scope: Scope, name: str, kind: GateKind) -> Operation[Gate | None]:
    """Open a gate; return it as it was, or None if it was open."""
    yield ask("lock_hints")
    rows = yield ask("open_gate", scope=scope, name=name, kind=kind)
    yield from hint_lanes(scope, name)
    return to_gate(rows[0]) if rows else None


def start_cooldown(
    scope: Scope, name: str, asked_until_at: datetime | None, reason: str, asked_at: datetime | None = None
) -> Operation[Gate]:
    """Close the cooldown gate of an account or channel that a network limits the rate of.

    `asked_at` is the caller's time, by the clock of `asked_until_at`: the wait counts, as clocks differ.
    """
    now = (yield ask("get_time"))[0]["now_at"]
    if asked_until_at is not None and asked_at is not None:
        asked_until_at = now + (asked_until_at - asked_at)
    rows = [row for row in (yield ask("get_gates", scope=scope, name=name)) if row["kind"] == GateKind.COOLDOWN]
    times, last = (rows[0]["repeat_count"], rows[0]["until_at"]) if rows else (0, None)
    if times and (yield from has_succeeded(scope, name, rows[0]["since_at"])):
        times = 0
    until_at, times = extend_cooldown(asked_until_at, times, last, now)
    gate = yield from close_gate(scope, name, GateKind.COOLDOWN, until_at, reason, times)
    values = {"scope": scope, "name": name, "until_at": until_at.isoformat(), "reason": gate.reason or ""}
    yield from insert_event(EventType.COOLDOWN_STARTED, None, values)
    return gate


def has_succeeded(scope: Scope, name: str, since_at: datetime) -> Operation[bool]:
    """Return whether the network accepted anything of an account or channel since then."""
    account, channel = (name, None) if scope is Scope.ACCOUNT else (None, name)
    return bool((yield ask("find_success", account=account, on_channel=channel, since_at=since_at)))


def end_cooldown(scope: Scope, name: str, audit: AuditContext) -> Operation[Gate]:
    """Open a cooldown gate by hand. Raises NotFound if it is not closed."""
    gate = yield from open_gate(scope, name, GateKind.COOLDOWN)
    if gate is None:
        raise NotFound(f"The {scope} {name} is not cooling down. `postino queues list` shows what is.")
    yield from insert_event(EventType.RESUMED, None, {"scope": scope, "name": name})
    yield from write_audit_entry(audit, EventType.RESUMED, f"{scope}:{name}", GateKind.COOLDOWN)
    return gate


def set_cap(channel: str, cap: int | None, audit: AuditContext) -> Operation[int | None]:
    """Limit how many jobs of a channel run at once; None restores the default. Return the cap that holds now."""
    [row] = yield ask("set_cap", channel=channel, cap=cap)
    yield from write_audit_entry(audit, "gate.capped", f"{Scope.CHANNEL}:{channel}", str(cap))
    holds: int | None = row["cap"]
    return holds


def set_default_caps(caps: Mapping[str, int]) -> Operation[None]:
    """Set the caps that hold where no person has set one."""
    yield each(
        "set_default_caps", [{"channel": channel, "default_cap": most} for channel, most in sorted(caps.items())]
    )


def list_gates() -> Operation[list[Gate]]:
    """Return all gates that were closed and not opened by hand, also those whose time is over."""
    return [to_gate(row) for row in (yield ask("list_gates"))]


def list_gates_for(scope: Scope, name: str) -> Operation[list[Gate]]:
    """Return the gates of one scope and name."""
    gates = [to_gate(row) for row in (yield ask("get_gates", scope=scope, name=name))]
    if scope is Scope.ACCOUNT:
        now = (yield ask("get_time"))[0]["now_at"]
        circuits = (yield from list_account_circuits([name])).values()
        gates += [to_circuit_gate(breaker) for breaker in circuits if get_call_limit(breaker, now) == 0]
    return gates


def read_gate_sources() -> Operation[tuple[GateSources, datetime]]:
    """Return all that may close a gate, as a claim would read it now, and the database's time."""
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in (yield ask("load_gates")):
        kinds[row["kind"]].append(row)
    return to_gate_sources(kinds), kinds["clock"][0]["due_at"]


def find_blocking_gate(job: Job) -> Operation[Gate | None]:
    """Return a closed gate that holds this job now, although it was claimed when no gate did."""
    sources, now = yield from read_gate_sources()
    account_gates = [] if job.account is None else (yield from list_gates_for(Scope.ACCOUNT, job.account))
    closed = list_closed_gates(replace(sources, gates=(*sources.gates, *account_gates)), now)
    return next((gate for gate in closed if is_blocking(gate, job)), None)


def to_gate_sources(kinds: Mapping[str, list[Row]]) -> GateSources:
    """Return the gate state in rows of a poll or a claim, whose details are JSON."""
    return GateSources(
        tuple(to_gate(decode_detail(row["detail"])) for row in kinds["gate"]),
        tuple(to_blackout(row["detail"]) for row in kinds["blackout"]),
        tuple(to_breaker(decode_detail(row["detail"])) for row in kinds["breaker"]),
        {row["name"]: row["amount"] for row in kinds["cap"]},
    )


def decode_detail(detail: str) -> dict[str, Any]:
    """Return the fields in a JSON detail, with instants as datetimes."""
    values: dict[str, Any] = json.loads(detail)
    instants = {name: datetime.fromisoformat(at) for name, at in values.items() if name.endswith("_at") and at}
    return values | instants


def to_gate(row: Mapping[str, Any]) -> Gate:
    """Return the gate in a row."""
    until_at = None if row["until_at"] >= FOREVER else row["until_at"]
    return Gate(
        scope=Scope(row["scope"]),
        name=row["name"],
        kind=GateKind(row["kind"]),
        since_at=row["since_at"],
        until_at=until_at,
        reason=row["reason"],
    )
