"""The store of the contract: operations on a driver."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.config import RetentionConfig
from postino.event import Cursor, Event
from postino.job import Job, Queue
from postino.ledger import Fact, IntentEntry, Ledger, NewIntent, Noted, StepEntry
from postino.outcome import Done, Reject, Retry
from postino.post import Once
from postino.store import (
    Act,
    Attempt,
    AuditEntry,
    Circumstances,
    ClaimOrder,
    DeadFilter,
    DeadLetter,
    Decide,
    Ending,
    Enqueued,
    JobFilter,
    JobPage,
    NewJob,
    Outlook,
    QueueDepth,
    Survey,
    WorkerInfo,
)
from postino.stores.driver import Driver
from postino.stores.operations import byhand, claim, enqueue, ledger, reading, rehearsing, settle, upkeep
from postino.stores.sql_gates import SqlGates
from postino.stores.sql_imports import SqlImports
from postino.stores.sql_people import SqlPeople
from postino.stores.sql_posts import SqlPosts
from postino.stores.sql_stats import SqlStats

MOST_WAITING = 2
PRUNE_PATIENCE = 0.2


class SqlStore(SqlGates, SqlPosts, SqlImports, SqlStats, SqlPeople):
    """Every method is one operation, run the way it needs: alone, in a transaction, or only reading."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        self.waiting_for_keys = asyncio.Semaphore(MOST_WAITING)

    async def open(self) -> None:
        await self.driver.open()

    async def close(self) -> None:
        await self.driver.close()

    async def migrate(self) -> list[str]:
        return await self.driver.migrate()

    async def enqueue(
        self,
        jobs: Sequence[NewJob],
        *,
        patience: float | None = None,
        again: bool = False,
        once: Once | None = None,
    ) -> list[Enqueued]:
        if once is None and all(job.key is None for job in jobs):
            return await self.driver.perform(enqueue.enqueue(jobs, again))
        work = enqueue.enqueue(jobs, again) if once is None else enqueue.enqueue_once(jobs, again, once)
        # Keys may have to wait for somebody's open transaction: never on all connections at once.
        async with self.waiting_for_keys:
            return await self.driver.transact(work, patience=patience)

    async def enqueue_on(self, connection: Any, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return await self.driver.join(connection, enqueue.enqueue(jobs))

    async def survey(
        self, worker: str | None, *, beat: bool = False, marks: Mapping[tuple[str, Queue], datetime] | None = None
    ) -> Survey:
        return await self.driver.perform(claim.survey(worker, beat, marks or {}))

    async def claim(self, order: ClaimOrder) -> list[Job]:
        run = self.driver.perform if claim.stands_alone(order) else self.driver.transact
        return await run(claim.claim(order))

    async def settle(self, endings: Sequence[Ending], *, again: bool = False) -> set[UUID]:
        # Each statement is atomic for its jobs; with several kinds, one that fails must not leave another written.
        mixed = sum(map(bool, settle.by_kind(endings))) > 1
        run = self.driver.transact if mixed else self.driver.perform
        return await run(settle.settle(endings, again))

    async def ledger(self, job_id: UUID) -> Ledger:
        return await self.driver.read(ledger.ledger(job_id))

    async def remember(
        self, job: Job, name: str, position: int, result: str | None, *, done: bool, limit: float | None = None
    ) -> StepEntry | None:
        return await self.driver.perform(ledger.remember(job, name, position, result, done, limit))

    async def forget(self, job: Job, name: str) -> bool:
        return await self.driver.perform(ledger.forget(job, name))

    async def intend(self, intents: Sequence[NewIntent]) -> Sequence[IntentEntry | None]:
        return await self.driver.perform(ledger.intend(intents))

    async def note(self, job_id: UUID, fact: Fact) -> Noted:
        return await self.driver.transact(ledger.note(job_id, fact))

    async def held_by_others(self, job: Job, remote_ids: Sequence[str]) -> set[str]:
        return await self.driver.read(ledger.held_by_others(job, remote_ids))

    async def register(self, worker: WorkerInfo) -> None:
        await self.driver.perform(reading.register(worker))

    async def beat(self, worker: str) -> bool:
        return await self.driver.perform(reading.beat(worker))

    async def retire(self, worker: str) -> None:
        await self.driver.perform(reading.retire(worker))

    async def suspect(self, worker: str, job_id: UUID) -> None:
        await self.driver.perform(reading.suspect(worker, job_id))

    async def rescue(self, dead: Mapping[str, int], decide: Decide) -> list[Ending]:
        return await self.driver.transact(settle.rescue(dead, decide))

    async def take_duty(self, duty: str, holder: str, *, seconds: float, every: float) -> bool:
        return await self.driver.perform(upkeep.take_duty(duty, holder, seconds, every))

    async def finish_duty(self, duty: str, holder: str) -> None:
        await self.driver.perform(upkeep.finish_duty(duty, holder))

    async def awaken(self, *, after_outage: bool = False) -> Sequence[Job]:
        return await self.driver.transact(upkeep.awaken(await self.driver.surroundings(), after_outage))

    async def pulse(self) -> None:
        await self.driver.perform(upkeep.pulse())

    async def prune(self, kept: RetentionConfig) -> int:
        return await self.driver.transact(upkeep.prune(kept), patience=PRUNE_PATIENCE)

    async def dispatch_due(self) -> int:
        return await self.driver.perform(reading.dispatch_due())

    async def cancel(self, job_id: UUID, act: Act) -> Job:
        return await self.driver.transact(byhand.cancel(job_id, act))

    async def edit(self, job_id: UUID, payload: bytes, act: Act) -> Job:
        return await self.driver.transact(byhand.edit(job_id, payload, act))

    async def reschedule(self, job_id: UUID, run_at: datetime | None, act: Act, *, regardless: bool = False) -> Job:
        return await self.driver.transact(byhand.reschedule(job_id, run_at, act, regardless))

    async def resolve(self, job_id: UUID, verdict: Done | Retry | Reject, act: Act) -> Job:
        return await self.driver.transact(byhand.resolve(job_id, verdict, act))

    async def replay(
        self, job_id: UUID, payload: bytes | None, force: bool, act: Act, *, run_at: datetime | None = None
    ) -> Job:
        return await self.driver.transact(byhand.replay(job_id, payload, force, act, run_at))

    async def discard(self, job_id: UUID, act: Act) -> DeadLetter:
        return await self.driver.transact(byhand.discard(job_id, act))

    async def get(self, job_id: UUID) -> Job:
        return await self.driver.read(byhand.get(job_id))

    async def find(self, channel: str, key: str) -> Job | None:
        return await self.driver.read(reading.find(channel, key))

    async def list(self, wanted: JobFilter) -> Sequence[Job]:
        return await self.driver.read(reading.list_jobs(wanted))

    async def page_of_jobs(self, wanted: JobFilter) -> JobPage:
        return await self.driver.read(reading.page_of_jobs(wanted))

    async def attempts(self, job_id: UUID) -> Sequence[Attempt]:
        return await self.driver.read(reading.attempts(job_id))

    async def dead_letter(self, job_id: UUID) -> DeadLetter:
        return await self.driver.read(reading.dead_letter(job_id))

    async def dead_letters(self, wanted: DeadFilter) -> Sequence[DeadLetter]:
        return await self.driver.read(reading.dead_letters(wanted))

    async def depths(self) -> Sequence[QueueDepth]:
        return await self.driver.read(reading.depths())

    async def outlook(self, until_at: datetime, most: int) -> Outlook:
        return await self.driver.read(rehearsing.outlook(until_at, most))

    async def workers(self) -> Sequence[WorkerInfo]:
        return await self.driver.read(reading.workers())

    async def circumstances(self, job: Job) -> Circumstances:
        return await self.driver.read(reading.circumstances(job))

    async def collides(
        self, channel: str, account: str | None, brand: str | None, after_at: datetime, before_at: datetime
    ) -> bool:
        return await self.driver.read(reading.collides(channel, account, brand, after_at, before_at))

    async def audit(self, limit: int = 100) -> Sequence[AuditEntry]:
        return await self.driver.read(reading.audit(limit))

    async def events(self, after: Cursor, limit: int) -> Sequence[Event]:
        return await self.driver.read(reading.events(after, limit))

    async def hold_cursor(self, listener: str, holder: str, seconds: float) -> Cursor | None:
        return await self.driver.perform(reading.hold_cursor(listener, holder, seconds))

    async def move_cursor(self, listener: str, holder: str, cursor: Cursor, seconds: float = 0) -> bool:
        return await self.driver.perform(reading.move_cursor(listener, holder, cursor, seconds))
