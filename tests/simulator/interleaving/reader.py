"""A reader of events, which must see each event once, and two relays that share a place in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postino.stores.operations import events
from postino.values.event import Cursor, Event
from tests.simulator.interleaving.actor import Act

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life

LISTENER, LEASE = "listener", 20.0
ALL = "SELECT xid::text::bigint AS xid, seq FROM postino.events ORDER BY xid, seq"


class Reader:
    def __init__(self, life: Life) -> None:
        self.life = life
        self.cursor = Cursor()
        self.heard: list[Cursor] = []
        self.is_reading = False
        self.delivered: list[Cursor] = []  # by the relays

    def read_events(self) -> Act | None:
        return None if self.is_reading else self.read(self.life.swarm.reads)

    def read(self, times: int) -> Act:
        """Read what is after the cursor, so many times, one after the other."""
        self.is_reading, cursor = True, self.cursor
        limit = self.life.chance.choice((1, 3, 50))

        def hear(_: object, found: Sequence[Event]) -> None:
            self.is_reading = False
            self.heard += [event.cursor for event in found]
            self.cursor = found[-1].cursor if found else self.cursor

        return Act(
            who="the reader", what="reads events", begin=lambda: events.list_events(cursor, limit),
            is_transaction=False, committed=hear, unanswered=self.stop,
            answered=lambda _: self.read(times - 1) if times > 1 else None,
        )  # fmt: skip

    def stop(self) -> None:
        self.is_reading = False

    def relay(self) -> Act:
        """Lease the place of a listener, deliver what is after it, and move it."""
        who = f"relay {self.life.chance.choice((1, 2))}"

        def deliver(cursor: Cursor | None) -> Act | None:
            return None if cursor is None else Act(
                who=who, what="reads events for a listener", begin=lambda: events.list_events(cursor, 20),
                is_transaction=False, answered=move,
            )  # fmt: skip

        def move(found: Sequence[Event]) -> Act | None:
            self.delivered += [event.cursor for event in found]
            return None if not found else Act(
                who=who, what="moves the listener's place",
                begin=lambda: events.move_cursor(LISTENER, who, found[-1].cursor, LEASE), is_transaction=False,
            )  # fmt: skip

        return Act(
            who=who, what="leases the listener's place",
            begin=lambda: events.lease_cursor(LISTENER, who, LEASE, from_start=True),
            is_transaction=False, answered=deliver,
        )  # fmt: skip

    async def read_rest(self) -> None:
        """Read what is left, and compare what was heard with what there is."""
        while found := await self.life.ask(events.list_events(self.cursor, 1000)):
            self.heard += [event.cursor for event in found]
            self.cursor = found[-1].cursor
        there = [Cursor(row["xid"], row["seq"]) for row in await self.life.sessions.watcher.fetch(ALL)]
        if self.heard != there:
            self.life.fail(f"events: the reader heard {len(self.heard)} of {len(there)} events, or in another order")
        last = max(self.delivered, default=None, key=lambda cursor: (cursor.xid, cursor.seq))
        missed = [it for it in there if last and (it.xid, it.seq) <= (last.xid, last.seq) and it not in self.delivered]
        if missed:
            self.life.fail(f"events: the relays delivered no {len(missed)} of {len(there)} events")
