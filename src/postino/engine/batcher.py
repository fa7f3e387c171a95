"""Many callers, few writes: what arrives while one batch is being written is the next batch."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from postino.errors import StoreUnreachable

T = TypeVar("T")
R = TypeVar("R")
Write = Callable[[list[T]], Awaitable[Sequence[R]]]
OVERDUE = 0.25  # seconds: the next batch does not wait any longer, for this one may be held up by a lock of its own


class Batcher(Generic[T, R]):
    """Each caller gets the result of its own item. A batch that is refused is halved until the culprit stands alone.

    The halves are written by `rewrite`: part of it may be there, from a try whose answer was lost.
    """

    def __init__(self, write: Write[T, R], most: int, rewrite: Write[T, R] | None = None) -> None:
        self.write = write
        self.rewrite = rewrite or write
        self.most = most
        self.waiting: list[tuple[T, asyncio.Future[R]]] = []
        self.writing: set[asyncio.Task[None]] = set()
        self.running = False

    async def put(self, item: T) -> R:
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self.waiting.append((item, future))
        if not self.running:
            self.running = True
            self.spawn(self.drain())
        return await future

    async def drain(self) -> None:
        try:
            while self.waiting:
                batch, self.waiting = self.waiting[: self.most], self.waiting[self.most :]
                await asyncio.wait(self.spawn(self.write_batch(batch, self.write)), timeout=OVERDUE)
        finally:
            self.running = False

    async def write_batch(self, batch: list[tuple[T, asyncio.Future[R]]], write: Write[T, R]) -> None:
        try:
            results = await write([item for item, _ in batch])
        except StoreUnreachable as error:
            refuse(batch, error)
        except Exception as error:  # noqa: BLE001 - whoever waits for the result gets it
            if len(batch) == 1:
                refuse(batch, error)
            else:
                middle = len(batch) // 2
                self.spawn(self.write_batch(batch[:middle], self.rewrite))
                self.spawn(self.write_batch(batch[middle:], self.rewrite))
        else:
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)

    def spawn(self, work: Coroutine[Any, Any, None]) -> set[asyncio.Task[None]]:
        """To be waited for, or not."""
        task = asyncio.create_task(work)
        self.writing.add(task)
        task.add_done_callback(self.writing.discard)
        return {task}

    async def flush(self) -> None:
        """Returns when nothing is waiting or being written."""
        while self.writing:
            await asyncio.wait(self.writing)


def refuse(batch: Sequence[tuple[T, asyncio.Future[R]]], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
