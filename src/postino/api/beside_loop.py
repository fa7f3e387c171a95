"""Run slow work of requests in a thread, one request at a time, so that it does not block the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LARGE = 64_000  # bytes; what is smaller takes less time than another thread would


class BesideLoop:
    """Runs the work of all requests in one thread: several threads would slow down the event loop more."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    async def run(self, work: Callable[[], T], size: int) -> T:
        """Return what `work` returns; `size` is how many bytes it works on."""
        if size <= LARGE:
            return work()
        async with self.lock:
            return await asyncio.to_thread(work)
