"""Writes the items of many callers in few batches: items that arrive during one write are the next batch."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from postino.errors import StoreUnreachable

T = TypeVar("T")
R = TypeVar("R")
Write = Callable[[list[T]], Awaitable[Sequence[R]]]
OVERDUE = 0.25  # seconds: then the next batch starts too, because this one may wait for a lock


class Batcher(Generic[T, R]):
    """Gives each caller the result of its own item. A batch that fails is halved until the failing item is alone.

    The halves are written by `rewrite`, because an earlier attempt whose response was lost may have inserted them.
    """

    def __init__(self, write: Write[T, R], size: int, rewrite: Write[T, R] | None = None) -> None:
        self.write = write
        self.rewrite = rewrite or write
        self.size = size
        self.waiting: list[tuple[T, asyncio.Future[R]]] = []
        self.writing: set[asyncio.Task[None]] = set()
        self.running = False

    async def put(self, item: T) -> R:
        """Write this item with the next batch and return its result."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self.waiting.append((item, future))
        if not self.running:
            self.running = True
            self.spawn(self.write_waiting())
        return await future

    async def write_waiting(self) -> None:
        try:
            while self.waiting:
                batch, self.waiting = self.waiting[: self.size], self.waiting[self.size :]
                await asyncio.wait(self.spawn(self.write_batch(batch, self.write)), timeout=OVERDUE)
        finally:
            self.running = False

    async def write_batch(self, batch: list[tuple[T, asyncio.Future[R]]], write: Write[T, R]) -> None:
        try:
            results = await write([item for item, _ in batch])
        except StoreUnreachable as error:
            fail(batch, error)
        except Exception as error:  # noqa: BLE001 - raised by the `put` that waits for it
            if len(batch) == 1:
                fail(batch, error)
            else:
                middle = len(batch) // 2
                self.spawn(self.write_batch(batch[:middle], self.rewrite))
                self.spawn(self.write_batch(batch[middle:], self.rewrite))
        else:
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)

    def spawn(self, work: Coroutine[Any, Any, None]) -> set[asyncio.Task[None]]:
        """Start a task and return it in a set, which a caller may wait for."""
        task = asyncio.create_task(work)
        self.writing.add(task)
        task.add_done_callback(self.writing.discard)
        return {task}

    async def flush(self) -> None:
        """Wait until nothing is waiting or being written."""
        while self.writing:
            await asyncio.wait(self.writing)


def fail(batch: Sequence[tuple[T, asyncio.Future[R]]], error: Exception) -> None:
    """Raise this error in every `put` of the batch."""
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
