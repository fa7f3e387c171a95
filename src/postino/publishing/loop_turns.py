"""Share the event loop: CPU-bound work of concurrent requests runs one at a time, with other tasks in between."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class LoopTurns:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    async def run(self, work: Callable[[], T]) -> T:
        """Wait for a turn, then call `work`."""
        await self.wait()
        return work()

    async def wait(self) -> None:
        """Return after every other task that is ready has run once."""
        async with self.lock:
            await asyncio.sleep(0)
