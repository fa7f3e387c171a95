"""Many callers, few writes: what arrives while one batch is being written is the next batch."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from postino.errors import StoreUnreachable

T = TypeVar("T")
R = TypeVar("R")


class Batcher(Generic[T, R]):
    """Each caller gets the result of its own item. A batch that is refused is halved until the culprit stands alone."""

    def __init__(self, write: Callable[[list[T]], Awaitable[Sequence[R]]], most: int) -> None:
        self.write = write
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
                await self.write_batch(batch)
        finally:
            self.running = False

    async def write_batch(self, batch: list[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            results = await self.write([item for item, _ in batch])
        except StoreUnreachable as error:
            refuse(batch, error)
        except Exception as error:  # noqa: BLE001 - whoever waits for the result gets it
            if len(batch) == 1:
                refuse(batch, error)
            else:
                # Not awaited: one caller's blocked item must not hold up those who come after.
                middle = len(batch) // 2
                self.spawn(self.write_batch(batch[:middle]))
                self.spawn(self.write_batch(batch[middle:]))
        else:
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)

    def spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self.writing.add(task)
        task.add_done_callback(self.writing.discard)

    async def flushed(self) -> None:
        """Returns when nothing is waiting or being written."""
        while self.writing:
            await asyncio.wait(self.writing)


def refuse(batch: Sequence[tuple[T, asyncio.Future[R]]], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
