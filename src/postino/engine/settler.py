"""Writes settlements in batches: jobs that end during one write are the next batch."""

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
SETTLE_RETRY_DELAY = 0.25  # seconds
REFUSED_RETRY_DELAY = 2.0  # seconds between two attempts to write a job as uncertain
LAST_CHANCE = 1.0  # seconds


class Settler:
    """Writes settlements, again and again until `give_up`: a job whose settlement is not written would run again."""

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

    def put(self, settled_job: SettledJob) -> None:
        """Write this settlement with the next batch."""
        self.waiting.append(settled_job)
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

    async def write(self, settled_jobs: list[SettledJob], again: bool = False) -> None:
        while True:
            try:
                stored_ids = await self.store.settle(settled_jobs, again=again)
            except StoreUnreachable:
                again = True
                await asyncio.sleep(SETTLE_RETRY_DELAY)
            except Exception as error:  # noqa: BLE001 - logged with the job that causes it
                return await self.split(settled_jobs, error, again)
            else:
                self.unwritten -= len(settled_jobs)
                self.on_settled(settled_jobs)
                return log_settled_jobs(settled_jobs, stored_ids)

    async def split(self, settled_jobs: list[SettledJob], error: Exception, again: bool) -> None:
        """Halve a batch that the store refuses, until the job that causes the error is alone."""
        if len(settled_jobs) > 1:
            middle = len(settled_jobs) // 2
            await self.write(settled_jobs[:middle], again)
            await self.write(settled_jobs[middle:], again)
            return
        [settled_job] = settled_jobs
        log.error("settle.refused", job=str(settled_job.job.id), exc_info=error, next="the job becomes uncertain")
        # Not awaited: a job that the store always refuses must not delay later ones.
        self.spawn(self.write_uncertain(settled_job, error))

    async def write_uncertain(self, settled_job: SettledJob, error: Exception) -> None:
        """Write the job as uncertain instead. If the store refuses even that, wait before each further attempt."""
        if settled_job.settlement.state is State.UNCERTAIN:
            await asyncio.sleep(REFUSED_RETRY_DELAY)
        await self.write([self.settle_unwritable(settled_job, error)])

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def flush(self) -> None:
        """Wait until all settlements are written."""
        while self.tasks:
            await asyncio.wait(self.tasks)

    async def give_up(self) -> None:
        """Stop writing. Other workers rescue what is left when this worker unregisters, or its lease ends."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=LAST_CHANCE)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.unwritten:
            log.error("settle.abandoned", jobs=self.unwritten, next="other workers rescue these jobs")


def log_settled_jobs(settled_jobs: list[SettledJob], stored_ids: set[UUID]) -> None:
    """Log failures, uncertain jobs, retries, and every settlement that came too late. Deferrals are not logged."""
    for settled_job in settled_jobs:
        job, settlement = settled_job.job, settled_job.settlement
        if job.id not in stored_ids:
            log.warning(
                "job.lost",
                job=str(job.id),
                next="another worker has the job, or a person cancelled it; Postino discards this result",
            )
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
