"""Blackouts: windows of local time in which nothing is published, added by people or by the settings."""

import json
from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from postino.errors import NotFound
from postino.rules.blackout import Blackout, parse_blackout, render_blackout
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.lane_hints import hint_lanes
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, ask, each
from postino.values.event import EventType


def add_blackout(blackout: Blackout, audit: AuditContext) -> Operation[Blackout]:
    """Insert a blackout and write an audit entry."""
    text = json.dumps(render_blackout(blackout))
    yield ask("insert_blackout", id=blackout.id, definition=text)
    yield from hint_lanes(blackout.scope, blackout.name)
    yield from insert_event(EventType.BLACKOUT_ADDED, None, render_blackout(blackout))
    yield from write_audit_entry(audit, EventType.BLACKOUT_ADDED, f"blackout:{blackout.id}", text)
    return blackout


def remove_blackout(blackout_id: UUID, audit: AuditContext) -> Operation[Blackout]:
    """Delete a blackout and write an audit entry. Raises NotFound."""
    yield ask("lock_hints")
    removed = yield ask("delete_blackout", id=blackout_id)
    if not removed:
        raise NotFound(f"Blackout {blackout_id} does not exist. Run `postino blackouts list` to see all blackouts.")
    blackout = to_blackout(removed[0]["definition"])
    yield from hint_lanes(blackout.scope, blackout.name)
    yield from insert_event(EventType.BLACKOUT_REMOVED, None, render_blackout(blackout))
    yield from write_audit_entry(audit, EventType.BLACKOUT_REMOVED, f"blackout:{blackout_id}", removed[0]["definition"])
    return blackout


def set_configured_blackouts(configured: Sequence[Blackout]) -> Operation[None]:
    """Replace the blackouts of the settings by these."""
    yield ask("lock_hints")
    dropped = yield ask("delete_configured_blackouts", ids=[blackout.id for blackout in configured])
    new = [{"id": blackout.id, "definition": json.dumps(render_blackout(blackout))} for blackout in configured]
    added = yield each("insert_configured_blackouts", new)
    for row in (*dropped, *added):
        changed = to_blackout(row["definition"])
        yield from hint_lanes(changed.scope, changed.name)


def list_blackouts() -> Operation[list[Blackout]]:
    """Return all blackouts."""
    return [to_blackout(row["definition"]) for row in (yield ask("list_blackouts"))]


@lru_cache(4096)
def to_blackout(text: str) -> Blackout:
    """Return the blackout in its stored JSON; every poll reads the same few, so they are cached."""
    values = json.loads(text)
    return parse_blackout({name: value for name, value in values.items() if name != "id"}, UUID(values["id"]))
