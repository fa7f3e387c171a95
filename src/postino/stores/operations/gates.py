"""Closing and opening gates: by people, with a line in the audit trail, and by what networks say."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from postino.errors import NotFound
from postino.rules.blackout import Blackout, blackout_of, told_of
from postino.rules.circuit_breaker import Breaker, BreakerPolicy, Circuit, after, closed_by_hand, opened, reset
from postino.rules.cooldown import cooled_until
from postino.rules.gates import FOREVER, Known
from postino.stores.operations.byhand import told, write_audit
from postino.stores.operations.settle import clean
from postino.stores.records import Act
from postino.stores.statement import Operation, Row, ask, each
from postino.values.event import EventType
from postino.values.gate import Gate, GateKind, Scope

ON_CIRCUIT = {
    Circuit.CLOSED: EventType.CIRCUIT_CLOSED,
    Circuit.OPEN: EventType.CIRCUIT_OPENED,
    Circuit.HALF_OPEN: EventType.CIRCUIT_HALF_OPENED,
}


def pause(scope: Scope, name: str, act: Act) -> Operation[Gate]:
    gate = yield from shut(scope, name, GateKind.PAUSE, reason=act.reason)
    yield from told(EventType.PAUSED, None, {"scope": scope, "name": name, "reason": act.reason})
    yield from write_audit(act, EventType.PAUSED, f"{scope}:{name}")
    return gate


def resume(scope: Scope, name: str, act: Act) -> Operation[Gate]:
    gate = yield from unshut(scope, name, GateKind.PAUSE)
    if gate is None:
        raise NotFound(f"The {scope} {name} is not paused. `postino queues list` shows what is.")
    if scope is Scope.ACCOUNT:
        yield ask("unpause_account", id=name)
    yield from told(EventType.RESUMED, None, {"scope": scope, "name": name})
    yield from write_audit(act, EventType.RESUMED, f"{scope}:{name}")
    return gate


def shut(
    scope: Scope, name: str, kind: GateKind, until_at: datetime | None = None, reason: str | None = None, times: int = 1
) -> Operation[Gate]:
    said = {"scope": scope, "name": name, "kind": kind, "times": times}
    [row] = yield ask("shut", until_at=until_at or FOREVER, reason=clean(reason) or None, **said)
    yield from look_again(scope, name)
    return gate_of(row)


def unshut(scope: Scope, name: str, kind: GateKind) -> Operation[Gate | None]:
    yield ask("stop_folding")
    found = yield ask("unshut", scope=scope, name=name, kind=kind)
    yield from look_again(scope, name)
    return gate_of(found[0]) if found else None


def look_again(scope: Scope, name: str) -> Operation[None]:
    """What is closed to accounts and brands is in the times of their lanes."""
    if scope in (Scope.ACCOUNT, Scope.BRAND):
        yield ask("hint_lanes", scope=scope, name=name)


def cool(scope: Scope, name: str, asked_until_at: datetime | None, reason: str) -> Operation[Gate]:
    clock = yield ask("clock")
    found = [row for row in (yield ask("gates_of", scope=scope, name=name)) if row["kind"] == GateKind.COOL_DOWN]
    times, last = (found[0]["times"], found[0]["until_at"]) if found else (0, None)
    until_at, times = cooled_until(asked_until_at, times, last, clock[0]["now_at"])
    gate = yield from shut(scope, name, GateKind.COOL_DOWN, until_at, reason, times)
    said = {"scope": scope, "name": name, "until_at": until_at.isoformat(), "reason": gate.reason or ""}
    yield from told(EventType.COOLED, None, said)
    return gate


def warm(scope: Scope, name: str, act: Act) -> Operation[Gate]:
    gate = yield from unshut(scope, name, GateKind.COOL_DOWN)
    if gate is None:
        raise NotFound(f"The {scope} {name} is not cooling down. `postino queues list` shows what is.")
    yield from told(EventType.RESUMED, None, {"scope": scope, "name": name})
    yield from write_audit(act, EventType.RESUMED, f"{scope}:{name}", GateKind.COOL_DOWN)
    return gate


def cap(channel: str, most: int | None, act: Act) -> Operation[int | None]:
    [row] = yield ask("cap", channel=channel, most=most)
    yield from write_audit(act, "gate.capped", f"{Scope.CHANNEL}:{channel}", str(most))
    holds: int | None = row["cap"]
    return holds


def usual_caps(caps: Mapping[str, int]) -> Operation[None]:
    yield each("usual_caps", [{"channel": channel, "usual": most} for channel, most in sorted(caps.items())])


def answered(service: str, healthy: bool, policy: BreakerPolicy, why: str | None) -> Operation[Breaker]:
    before, now = yield from locked_breaker(service)
    now_is = after(before, healthy, policy, now, clean(why))
    if now_is is not before:
        yield from written(before, now_is)
    return now_is


def open_circuit(service: str, until_at: datetime | None, probes: int, act: Act) -> Operation[Breaker]:
    def by(breaker: Breaker, now: datetime) -> Breaker:
        return opened(breaker, now, until_at=until_at, reason=act.reason or None, probes=probes)

    return (yield from by_hand(service, by, act))


def close_circuit(service: str, act: Act) -> Operation[Breaker]:
    return (yield from by_hand(service, closed_by_hand, act))


def reset_circuit(service: str, act: Act) -> Operation[Breaker]:
    return (yield from by_hand(service, lambda breaker, _: reset(breaker), act))


def by_hand(service: str, change: Callable[[Breaker, datetime], Breaker], act: Act) -> Operation[Breaker]:
    before, now = yield from locked_breaker(service)
    now_is = change(before, now)
    yield from written(before, now_is)
    yield from write_audit(act, ON_CIRCUIT[now_is.state], f"circuit:{service}")
    return now_is


def locked_breaker(service: str) -> Operation[tuple[Breaker, datetime]]:
    [row] = yield ask("lock_circuit", service=service)
    return breaker_of(row), row["now_at"]


def written(before: Breaker, now_is: Breaker) -> Operation[None]:
    failures = json.dumps([at.isoformat() for at in now_is.failures])
    names = ("service", "state", "since_at", "until_at", "trips", "probes", "reason", "by_hand")
    yield ask("write_circuit", failures=failures, **{name: getattr(now_is, name) for name in names})
    if now_is.state is not before.state or now_is.trips > before.trips:
        yield from told_of_circuit(now_is)


def told_of_circuit(breaker: Breaker) -> Operation[None]:
    until = {"until_at": breaker.until_at.isoformat()} if breaker.until_at else {}
    said = {"service": breaker.service, "reason": breaker.reason or "", **until}
    yield from told(ON_CIRCUIT[breaker.state], None, said)


def half_open(services: Iterable[str]) -> Operation[None]:
    """The time of these open circuits is over, and somebody is about to find out how they are."""
    for row in (yield ask("half_open", services=sorted(services))):
        yield from told(EventType.CIRCUIT_HALF_OPENED, None, {"service": row["service"]})


def circuits() -> Operation[list[Breaker]]:
    return [breaker_of(row) for row in (yield ask("circuits"))]


def add_blackout(blackout: Blackout, act: Act) -> Operation[Blackout]:
    said = json.dumps(told_of(blackout))
    yield ask("add_blackout", id=blackout.id, told=said)
    yield from look_again(blackout.scope, blackout.name)
    yield from told(EventType.BLACKOUT_ADDED, None, told_of(blackout))
    yield from write_audit(act, EventType.BLACKOUT_ADDED, f"blackout:{blackout.id}", said)
    return blackout


def remove_blackout(blackout_id: UUID, act: Act) -> Operation[Blackout]:
    yield ask("stop_folding")
    removed = yield ask("remove_blackout", id=blackout_id)
    if not removed:
        raise NotFound(f"There is no blackout {blackout_id}. The list of blackouts shows those there are.")
    blackout = stored_blackout(removed[0]["told"])
    yield from look_again(blackout.scope, blackout.name)
    yield from told(EventType.BLACKOUT_REMOVED, None, told_of(blackout))
    yield from write_audit(act, EventType.BLACKOUT_REMOVED, f"blackout:{blackout_id}", removed[0]["told"])
    return blackout


def usual_blackouts(usual: Sequence[Blackout]) -> Operation[None]:
    yield ask("stop_folding")
    dropped = yield ask("drop_usual_blackouts", ids=[blackout.id for blackout in usual])
    new = [{"id": blackout.id, "told": json.dumps(told_of(blackout))} for blackout in usual]
    added = yield each("add_usual_blackouts", new)
    for row in (*dropped, *added):
        changed = stored_blackout(row["told"])
        yield from look_again(changed.scope, changed.name)


def blackouts() -> Operation[list[Blackout]]:
    return [stored_blackout(row["told"]) for row in (yield ask("blackouts"))]


def gates() -> Operation[list[Gate]]:
    return [gate_of(row) for row in (yield ask("list_gates"))]


def gates_of(scope: Scope, name: str) -> Operation[list[Gate]]:
    return [gate_of(row) for row in (yield ask("gates_of", scope=scope, name=name))]


def known_gates() -> Operation[tuple[Known, datetime]]:
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in (yield ask("gates")):
        kinds[row["kind"]].append(row)
    return known_from(kinds), kinds["clock"][0]["due_at"]


def known_from(kinds: Mapping[str, list[Row]]) -> Known:
    """As surveys and claims read them: the details in JSON."""
    return Known(
        tuple(gate_of(from_json(row["detail"])) for row in kinds["gate"]),
        tuple(stored_blackout(row["detail"]) for row in kinds["blackout"]),
        tuple(breaker_of(from_json(row["detail"])) for row in kinds["breaker"]),
        {row["name"]: row["amount"] for row in kinds["cap"]},
    )


def from_json(detail: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(detail)
    instants = {name: datetime.fromisoformat(at) for name, at in told.items() if name.endswith("_at") and at}
    return told | instants


def gate_of(row: Mapping[str, Any]) -> Gate:
    until_at = None if row["until_at"] >= FOREVER else row["until_at"]
    return Gate(
        scope=Scope(row["scope"]),
        name=row["name"],
        kind=GateKind(row["kind"]),
        since_at=row["since_at"],
        until_at=until_at,
        reason=row["reason"],
    )


def breaker_of(row: Mapping[str, Any]) -> Breaker:
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


@lru_cache(4096)  # every look meets the same ones
def stored_blackout(told: str) -> Blackout:
    said = json.loads(told)
    return blackout_of({name: value for name, value in said.items() if name != "id"}, UUID(said["id"]))
