"""Closing and opening gates: by people, with a line in the audit trail, and by what networks say."""

import json
from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from postino.errors import NotFound
from postino.rules.blackout import Blackout, blackout_of, told_of
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.lane_hints import hint_lanes
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, ask, each
from postino.values.event import EventType


def add_blackout(blackout: Blackout, act: AuditContext) -> Operation[Blackout]:
    said = json.dumps(told_of(blackout))
    yield ask("insert_blackout", id=blackout.id, told=said)
    yield from hint_lanes(blackout.scope, blackout.name)
    yield from insert_event(EventType.BLACKOUT_ADDED, None, told_of(blackout))
    yield from write_audit_entry(act, EventType.BLACKOUT_ADDED, f"blackout:{blackout.id}", said)
    return blackout


def remove_blackout(blackout_id: UUID, act: AuditContext) -> Operation[Blackout]:
    yield ask("lock_hints")
    removed = yield ask("delete_blackout", id=blackout_id)
    if not removed:
        raise NotFound(f"There is no blackout {blackout_id}. The list of blackouts shows those there are.")
    blackout = to_blackout(removed[0]["told"])
    yield from hint_lanes(blackout.scope, blackout.name)
    yield from insert_event(EventType.BLACKOUT_REMOVED, None, told_of(blackout))
    yield from write_audit_entry(act, EventType.BLACKOUT_REMOVED, f"blackout:{blackout_id}", removed[0]["told"])
    return blackout


def set_configured_blackouts(usual: Sequence[Blackout]) -> Operation[None]:
    yield ask("lock_hints")
    dropped = yield ask("delete_configured_blackouts", ids=[blackout.id for blackout in usual])
    new = [{"id": blackout.id, "told": json.dumps(told_of(blackout))} for blackout in usual]
    added = yield each("insert_configured_blackouts", new)
    for row in (*dropped, *added):
        changed = to_blackout(row["told"])
        yield from hint_lanes(changed.scope, changed.name)


def list_blackouts() -> Operation[list[Blackout]]:
    return [to_blackout(row["told"]) for row in (yield ask("list_blackouts"))]


@lru_cache(4096)  # every look meets the same ones
def to_blackout(told: str) -> Blackout:
    said = json.loads(told)
    return blackout_of({name: value for name, value in said.items() if name != "id"}, UUID(said["id"]))
