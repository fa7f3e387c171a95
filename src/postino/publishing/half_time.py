"""Limit bulk work of requests, such as imports, to half of the time: each turn is followed by a rest of its length.

So whoever sends much of it waits longer, while the database and the processor stay free for posts that are due.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from postino import clock


class HalfTime:
    """Uses at most half of the time. The rest delays only what comes next, never the end of the turn itself."""

    def __init__(
        self,
        monotonic: Callable[[], float] = clock.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.monotonic, self.sleep = monotonic, sleep
        self.lock = asyncio.Lock()
        self.rests_until = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and run the block."""
        async with self.lock:
            started = self.monotonic()
            if started < self.rests_until:
                await self.sleep(self.rests_until - started)
                started = self.monotonic()
            try:
                yield
            finally:
                ended = self.monotonic()
                self.rests_until = ended + (ended - started)
