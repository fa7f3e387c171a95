"""Limit bulk work of requests, such as imports, to half of the time: each turn is followed by a rest of its length.

So whoever sends much of it waits longer, while the database and the processor stay free for posts that are due. Callers
take turns: many requests of one do not hold up those of another.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from postino import clock


@dataclass(slots=True)
class Line:
    """The requests of one caller that have a turn or wait for one."""

    first: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class HalfTime:
    """Uses at most half of the time. The rest delays only what comes next, never the end of the turn itself."""

    def __init__(
        self,
        monotonic: Callable[[], float] = clock.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.monotonic, self.sleep = monotonic, sleep
        self.lock = asyncio.Lock()
        self.lines: dict[Hashable, Line] = {}
        self.rests_until = 0.0

    @asynccontextmanager
    async def turn(self, caller: Hashable) -> AsyncIterator[None]:
        """Wait for a turn, and run the block. Of each caller, one request at a time waits beside those of others."""
        async with self.head_line(caller), self.lock:
            started = self.monotonic()
            if started < self.rests_until:
                await self.sleep(self.rests_until - started)
                started = self.monotonic()
            try:
                yield
            finally:
                ended = self.monotonic()
                self.rests_until = ended + (ended - started)

    @asynccontextmanager
    async def head_line(self, caller: Hashable) -> AsyncIterator[None]:
        """Run the block as the first in the caller's line."""
        line = self.lines.setdefault(caller, Line())
        line.length += 1
        try:
            async with line.first:
                yield
        finally:
            line.length -= 1
            if not line.length:
                del self.lines[caller]
