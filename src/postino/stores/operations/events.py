"""What a person does: compare-and-set, with a line in the audit trail in the same transaction."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from postino.stores import rows
from postino.stores.statement import Operation, ask
from postino.values.event import Cursor, Event, EventType, account_in


def insert_event(event: EventType, job_id: UUID | None, data: Mapping[str, Any]) -> Operation[None]:
    """What is about an account keeps the brand that it has now: whose it is later is not whom it was about."""
    name = account_in(data) if job_id is None else None
    known = [] if name is None else (yield ask("find_accounts", ids=[name]))
    whose = {"brand": known[0]["brand"]} if known and known[0]["brand"] is not None else {}
    yield ask("insert_event", type=event, job_id=job_id, data=json.dumps({**data, **whose}))


def list_events(after: Cursor, limit: int) -> Operation[list[Event]]:
    return [rows.event(row) for row in (yield ask("list_events", xid=after.xid, seq=after.seq, limit=limit))]


def lease_cursor(listener: str, holder: str, seconds: float) -> Operation[Cursor | None]:
    held = yield ask("lease_cursor", listener=listener, holder=holder, seconds=seconds)
    return Cursor(held[0]["xid"], held[0]["seq"]) if held else None


def move_cursor(listener: str, holder: str, cursor: Cursor, seconds: float = 0) -> Operation[bool]:
    moved = yield ask("move_cursor", listener=listener, holder=holder, xid=cursor.xid, seq=cursor.seq, seconds=seconds)
    return bool(moved)


def find_last_event() -> Operation[Cursor]:
    found = yield ask("get_last_event")
    return Cursor(found[0]["xid"], found[0]["seq"]) if found else Cursor()
