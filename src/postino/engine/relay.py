"""Delivers events to listeners, in order and at least once. Each listener has its own cursor."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from postino import clock
from postino.engine.store_retry import retry_forever
from postino.errors import StoreUnreachable
from postino.stores.crash_points import crash_point
from postino.stores.store import Store
from postino.values.event import Cursor, Event

log = structlog.get_logger("postino.relay")
BATCH = 200
CURSOR_LEASE = 30.0  # seconds
MOVE_EVERY = 1.0  # seconds
RETRY_DELAY = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class EventListener:
    """A function that gets events of some types. Its name keeps its cursor across restarts and processes."""

    name: str
    types: frozenset[str]
    function: Callable[[Event], Awaitable[None]]
    from_start: bool = False  # a new name hears all retained events, not only those from now on


class Relay:
    """Serves one listener. Of all processes that have this listener, one at a time holds its cursor."""

    def __init__(self, store: Store, listener: EventListener, holder: str, poll: float) -> None:
        self.store = store
        self.listener = listener
        self.holder = holder
        self.poll = poll
        self.monotonic = clock.monotonic

    async def run(self) -> None:
        """Deliver events until cancelled, then release the cursor."""
        try:
            while True:
                rest = await self.take_turn()
                await asyncio.sleep(rest)
        finally:
            await self.lease_cursor(0)

    async def take_turn(self) -> float:
        """Deliver what there is and return how many seconds to rest."""
        try:
            return 0 if await self.deliver_batch() == BATCH else self.poll
        except StoreUnreachable:
            return self.poll
        except Exception:
            log.exception(
                "listener.failed",
                listener=self.listener.name,
                next=f"the listener gets the same event again in {RETRY_DELAY} s",
            )
            return RETRY_DELAY

    async def deliver_batch(self) -> int:
        """Deliver the next events and return how many were read."""
        cursor = await self.lease_cursor(CURSOR_LEASE)
        if cursor is None:
            return 0
        events = await self.store.events(cursor, BATCH)
        delivered, moved_at = cursor, self.monotonic()
        try:
            for event in events:
                if not self.listener.types or event.type in self.listener.types:
                    crash_point("listener.before")
                    await self.listener.function(event)
                    crash_point("listener.after")
                delivered = event.cursor
                if self.monotonic() - moved_at > MOVE_EVERY:
                    cursor, moved_at = delivered, self.monotonic()
                    if not await self.move_cursor(delivered):
                        return 0  # the lease ended, and another process continues from here
        finally:
            # Only past delivered events: a listener that fails gets the same event again.
            if delivered != cursor:
                await self.move_cursor(delivered)
        return len(events)

    async def lease_cursor(self, seconds: float) -> Cursor | None:
        return await self.store.lease_cursor(
            self.listener.name, self.holder, seconds, from_start=self.listener.from_start
        )

    async def move_cursor(self, cursor: Cursor) -> bool:
        return await self.store.move_cursor(self.listener.name, self.holder, cursor, CURSOR_LEASE)


async def start_relays(store: Store, listeners: Sequence[EventListener], holder: str, poll: float) -> list[Relay]:
    """Return a relay for each listener. Their cursors are stored already: from now on they miss no event."""
    relays = [Relay(store, listener, holder, poll) for listener in listeners]
    for relay in relays:
        await retry_forever(partial(relay.lease_cursor, 0))
    return relays
