"""The event outbox: insert events, read them in commit order, and lease the cursor of a listener."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from postino.stores.records import EventDelay
from postino.stores.rows import to_event
from postino.stores.statement import Operation, ask
from postino.values.event import Cursor, Event, EventType, get_account

FOREIGN_CURSOR = 2**63 - 1  # transaction id of a cursor whose events are not rebased yet: nothing comes after it
REBASE_BATCH = 10_000


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


def lease_cursor(listener: str, holder: str, seconds: float, *, from_start: bool = False) -> Operation[Cursor | None]:
    """Return a listener's cursor, leased for so many seconds; None if another process holds it.

    A new cursor is behind all events that are committed now or, with `from_start`, before the first one that is kept.
    """
    lease = ask("lease_cursor", listener=listener, holder=holder, seconds=seconds, from_start=from_start)
    rows = yield lease
    if rows and rows[0]["is_ahead"]:
        yield from rebase_events()
        rows = yield lease
    return Cursor(rows[0]["xid"], rows[0]["seq"]) if rows else None


def rebase_events() -> Operation[None]:
    """Give events and cursors of another cluster a place before this cluster's own events.

    A dump that is restored into another PostgreSQL cluster keeps the transaction ids of the old one. Without this no
    listener would get an event until the new cluster has counted that far. A cluster with other databases may have
    passed some of these ids already. Listeners get each event that they have not received, and may get some again.
    Every statement is complete by itself, and another process may do the same.
    """
    last = (yield ask("find_last_foreign_event"))[0]["seq"]
    if last is None:
        return  # another process has done it
    yield ask("mark_foreign_cursors", mark=FOREIGN_CURSOR, last=last)
    while (yield ask("rebase_events", limit=REBASE_BATCH, last=last))[0]["rebased"] == REBASE_BATCH:
        pass
    yield ask("release_marked_cursors", mark=FOREIGN_CURSOR, last=last)


def move_cursor(listener: str, holder: str, cursor: Cursor, seconds: float = 0) -> Operation[bool]:
    """Move a leased cursor and extend its lease; return False if another process holds it now."""
    rows = yield ask("move_cursor", listener=listener, holder=holder, xid=cursor.xid, seq=cursor.seq, seconds=seconds)
    return bool(rows)


def find_last_event() -> Operation[Cursor]:
    """Return the cursor behind the last event that can be read now."""
    rows = yield ask("get_last_event")
    return Cursor(rows[0]["xid"], rows[0]["seq"]) if rows else Cursor()


def find_event_delay(seconds: float) -> Operation[EventDelay | None]:
    """Return the transaction that has kept events from listeners for longer than so many seconds, if there is one."""
    rows = yield ask("find_event_delay", seconds=seconds)
    return EventDelay(**rows[0]) if rows else None
