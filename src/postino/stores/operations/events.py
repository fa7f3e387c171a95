"""The event outbox: insert events, read them in commit order, and lease the cursor of a listener."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from postino.stores.rows import to_event
from postino.stores.statement import Operation, ask
from postino.values.event import Cursor, Event, EventType, get_account


def insert_event(event: EventType, job_id: UUID | None, data: Mapping[str, Any]) -> Operation[None]:
    """Insert an event. An event about an account carries the brand that the account has at this moment."""
    name = get_account(data) if job_id is None else None
    accounts = [] if name is None else (yield ask("find_accounts", ids=[name]))
    brand = accounts[0]["brand"] if accounts else None
    data = data if brand is None else {**data, "brand": brand}
    yield ask("insert_event", type=event, job_id=job_id, data=json.dumps(dict(data)))


def list_events(after: Cursor, limit: int) -> Operation[list[Event]]:
    """Return the events after the cursor, in the order of their commits."""
    return [to_event(row) for row in (yield ask("list_events", xid=after.xid, seq=after.seq, limit=limit))]


def lease_cursor(listener: str, holder: str, seconds: float) -> Operation[Cursor | None]:
    """Return a listener's cursor, leased for so many seconds; None if another process holds it."""
    rows = yield ask("lease_cursor", listener=listener, holder=holder, seconds=seconds)
    return Cursor(rows[0]["xid"], rows[0]["seq"]) if rows else None


def move_cursor(listener: str, holder: str, cursor: Cursor, seconds: float = 0) -> Operation[bool]:
    """Move a leased cursor and extend its lease; return False if another process holds it now."""
    rows = yield ask("move_cursor", listener=listener, holder=holder, xid=cursor.xid, seq=cursor.seq, seconds=seconds)
    return bool(rows)


def find_last_event() -> Operation[Cursor]:
    """Return the cursor behind the last event that can be read now."""
    rows = yield ask("get_last_event")
    return Cursor(rows[0]["xid"], rows[0]["seq"]) if rows else Cursor()
