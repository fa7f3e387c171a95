"""Writes the endings of jobs in batches: endings that arrive during one write are the next batch."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

import structlog

from postino.errors import StoreUnreachable
from postino.stores.records import SettledJob
from postino.stores.store import Store
from postino.values.job import State

log = structlog.get_logger("postino.worker")
MAX_BATCH = 500
STORE_RETRY_DELAY = 0.25  # seconds
REFUSED_RETRY_DELAY = 2.0
LAST_CHANCE = 1.0


class Settler:
    """Retries for as long as it takes: an ending that is not written would make the job run again."""

    def __init__(
        self,
        store: Store,
        settle_unwritable: Callable[[SettledJob, Exception], SettledJob],
        on_settled: Callable[[list[SettledJob]], None],
    ) -> None:
        self.store = store
        self.settle_unwritable = settle_unwritable
        self.on_settled = on_settled
        self.waiting: list[SettledJob] = []
        self.unwritten = 0
        self.running = False
        self.tasks: set[asyncio.Task[None]] = set()

    def put(self, ending: SettledJob) -> None:
        """Write this ending with the next batch."""
        self.waiting.append(ending)
        self.unwritten += 1
        if not self.running:
            self.running = True
            self.spawn(self.write_waiting())

    async def write_waiting(self) -> None:
        try:
            while self.waiting:
                batch, self.waiting = self.waiting[:MAX_BATCH], self.waiting[MAX_BATCH:]
                await self.write(batch)
        finally:
            self.running = False

    async def write(self, endings: list[SettledJob], again: bool = False) -> None:
        while True:
            try:
                held = await self.store.settle(endings, again=again)
            except StoreUnreachable:
                again = True
                await asyncio.sleep(STORE_RETRY_DELAY)
            except Exception as error:  # noqa: BLE001 - logged with the ending that causes it
                return await self.split(endings, error, again)
            else:
                self.unwritten -= len(endings)
                self.on_settled(endings)
                return log_endings(endings, held)

    async def split(self, endings: list[SettledJob], error: Exception, again: bool) -> None:
        """Halve a batch that the store refuses until the ending that causes it is alone."""
        if len(endings) > 1:
            middle = len(endings) // 2
            await self.write(endings[:middle], again)
            await self.write(endings[middle:], again)
            return
        [ending] = endings
        log.error("settle.refused", job=str(ending.job.id), exc_info=error, next="the job becomes uncertain")
        # Not awaited: an ending that the store always refuses must not hold up later ones.
        self.spawn(self.write_uncertain(ending, error))

    async def write_uncertain(self, ending: SettledJob, error: Exception) -> None:
        if ending.settlement.state is State.UNCERTAIN:
            await asyncio.sleep(REFUSED_RETRY_DELAY)
        await self.write([self.settle_unwritable(ending, error)])

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def flush(self) -> None:
        """Wait until all endings are written."""
        while self.tasks:
            await asyncio.wait(self.tasks)

    async def give_up(self) -> None:
        """Stop writing. Jobs without a written ending are rescued once their worker is known to be dead."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=LAST_CHANCE)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.unwritten:
            log.error("settle.abandoned", jobs=self.unwritten, next="other workers rescue these jobs")


def log_endings(endings: list[SettledJob], held: set[UUID]) -> None:
    """Log every ending that is not a success, and every one that came too late."""
    for ending in endings:
        job, settlement = ending.job, ending.settlement
        if job.id not in held:
            log.warning("job.lost", job=str(job.id), next="another worker holds it; this ending is not recorded")
        elif settlement.state in (State.FAILED, State.UNCERTAIN):
            event = "job.failed" if settlement.state is State.FAILED else "job.uncertain"
            log.error(event, job=str(job.id), type=job.type, cause=settlement.cause, error=settlement.error)
        elif settlement.error:
            log.warning(
                "job.retrying",
                job=str(job.id),
                type=job.type,
                error=settlement.error,
                run_at=str(settlement.run_at),
            )
