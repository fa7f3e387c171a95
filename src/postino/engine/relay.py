"""Handing events to listeners: each with its own cursor, in order, at least once."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from postino.errors import StoreUnreachable
from postino.stores.crash_points import crash_point
from postino.stores.store import Store
from postino.values.event import Cursor, Event

log = structlog.get_logger("postino.relay")
TOGETHER = 200
HELD_FOR = 30.0
MOVED_EVERY = 1.0
AGAIN_AFTER = 5.0


@dataclass(frozen=True, slots=True)
class Listener:
    """Who wants to hear what. The name keeps its place in the stream, across restarts and processes."""

    name: str
    types: frozenset[str]
    hear: Callable[[Event], Awaitable[None]]


class Relay:
    """Serves one listener; of all the processes that have it, only one at a time holds its cursor."""

    def __init__(self, store: Store, listener: Listener, holder: str, poll: float) -> None:
        self.store = store
        self.listener = listener
        self.holder = holder
        self.poll = poll
        self.monotonic = time.monotonic

    async def run(self) -> None:
        """Serves until cancelled, and then lets others have the cursor."""
        try:
            while True:
                rest = await self.turn()
                await asyncio.sleep(rest)
        finally:
            await self.store.lease_cursor(self.listener.name, self.holder, 0)

    async def turn(self) -> float:
        """Hands over what there is; how long to rest afterwards."""
        try:
            return 0 if await self.pass_on() == TOGETHER else self.poll
        except StoreUnreachable:
            return self.poll
        except Exception:
            log.exception("listener.failed", listener=self.listener.name, next=f"same event in {AGAIN_AFTER} s")
            return AGAIN_AFTER

    async def pass_on(self) -> int:
        """Hands over the next events; how many were read."""
        cursor = await self.store.lease_cursor(self.listener.name, self.holder, HELD_FOR)
        if cursor is None:
            return 0
        events = await self.store.events(cursor, TOGETHER)
        heard, moved_at = cursor, self.monotonic()
        try:
            for event in events:
                if not self.listener.types or event.type in self.listener.types:
                    crash_point("listener.before")
                    await self.listener.hear(event)
                    crash_point("listener.after")
                heard = event.cursor
                if self.monotonic() - moved_at > MOVED_EVERY:
                    cursor, moved_at = heard, self.monotonic()
                    if not await self.move(heard):
                        return 0  # we were too slow for our hold, and another process goes on from here
        finally:
            # Only past what was heard: a listener that fails gets the same event again, and no other.
            if heard != cursor:
                await self.move(heard)
        return len(events)

    async def move(self, heard: Cursor) -> bool:
        return await self.store.move_cursor(self.listener.name, self.holder, heard, HELD_FOR)
