"""Work of requests that would hold up others on the event loop: it runs in a thread, one request at a time."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LARGE = 64_000  # bytes; what is smaller takes less time than another thread would


class BesideLoop:
    """One thread for all requests: more would take the interpreter from the event loop for longer."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    async def run(self, work: Callable[[], T], size: int) -> T:
        """Return what `work` returns; `size` is how many bytes it works on."""
        if size <= LARGE:
            return work()
        async with self.lock:
            return await asyncio.to_thread(work)
