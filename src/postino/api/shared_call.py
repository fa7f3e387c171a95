"""Share one call among all requests that want its result while it runs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SharedCall(Generic[T]):
    def __init__(self) -> None:
        self.running: asyncio.Task[T] | None = None

    async def join(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of the call that runs; start one if none does."""
        if self.running is None or self.running.done():
            self.running = asyncio.create_task(work())
            self.running.add_done_callback(lambda task: task.cancelled() or task.exception())  # if all who wait left
        return await asyncio.shield(self.running)
