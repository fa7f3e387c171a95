"""Writes down how jobs ended, many together: what ends while one batch is being written is the next batch."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from postino.errors import StoreUnreachable
from postino.stores.records import SettledJob
from postino.stores.store import Store
from postino.values.job import State

log = structlog.get_logger("postino.worker")
MOST_TOGETHER = 500
STORE_AGAIN = 0.25
TROUBLE_AGAIN = 2.0
LAST_CHANCE = 1.0


class Settler:
    """However long it takes: they ended, and that has to be known."""

    def __init__(
        self,
        store: Store,
        unwritable: Callable[[SettledJob, Exception], SettledJob],
        written: Callable[[list[SettledJob]], None],
    ) -> None:
        self.store = store
        self.unwritable = unwritable
        self.written = written
        self.waiting: list[SettledJob] = []
        self.unwritten = 0
        self.running = False
        self.tasks: set[asyncio.Task[None]] = set()

    def put(self, ending: SettledJob) -> None:
        self.waiting.append(ending)
        self.unwritten += 1
        if not self.running:
            self.running = True
            self.spawn(self.work())

    async def work(self) -> None:
        try:
            while self.waiting:
                batch, self.waiting = self.waiting[:MOST_TOGETHER], self.waiting[MOST_TOGETHER:]
                await self.write(batch)
        finally:
            self.running = False

    async def write(self, endings: list[SettledJob], again: bool = False) -> None:
        while True:
            try:
                held = await self.store.settle(endings, again=again)
            except StoreUnreachable:
                again = True
                await asyncio.sleep(STORE_AGAIN)
            except Exception as error:  # noqa: BLE001 - told with the one that is to blame
                return await self.write_apart(endings, error, again)
            else:
                self.unwritten -= len(endings)
                self.written(endings)
                return say(endings, held)

    async def write_apart(self, endings: list[SettledJob], error: Exception, again: bool) -> None:
        """A batch that is refused is halved until the culprit stands alone."""
        if len(endings) > 1:
            middle = len(endings) // 2
            await self.write(endings[:middle], again)
            await self.write(endings[middle:], again)
            return
        [ending] = endings
        log.error("settle.refused", job=str(ending.job.id), exc_info=error, next="a person is asked")
        # Not awaited: what the store refuses for ever must not hold up those who come after.
        self.spawn(self.write_doubt(ending, error))

    async def write_doubt(self, ending: SettledJob, error: Exception) -> None:
        if ending.settlement.state is State.UNCERTAIN:
            await asyncio.sleep(TROUBLE_AGAIN)
        await self.write([self.unwritable(ending, error)])

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def flushed(self) -> None:
        """Returns when all that has ended is written."""
        while self.tasks:
            await asyncio.wait(self.tasks)

    async def give_up(self) -> None:
        """Leaves unwritten what cannot be written now: the jobs are rescued once their worker is known to be gone."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=LAST_CHANCE)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.unwritten:
            log.error("settle.abandoned", jobs=self.unwritten, next="they count as never ended and are rescued")


def say(endings: list[SettledJob], held: set[Any]) -> None:
    """Every failure is in the log, whatever else tells of it."""
    for ending in endings:
        job, decided = ending.job, ending.settlement
        if job.id not in held:
            log.warning("job.lost", job=str(job.id), next="another worker holds it; what this one did is not recorded")
        elif decided.state in (State.FAILED, State.UNCERTAIN):
            event = "job.failed" if decided.state is State.FAILED else "job.uncertain"
            log.error(event, job=str(job.id), type=job.type, cause=decided.cause, error=decided.error)
        elif decided.error:
            log.warning("job.retrying", job=str(job.id), type=job.type, error=decided.error, run_at=str(decided.run_at))
