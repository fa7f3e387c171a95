"""A store, its clock, and the everyday calls of the engine in one line each."""

from __future__ import annotations

import dataclasses
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from postino.rules import settlement
from postino.rules.retry import RetryPolicy
from postino.rules.settlement import Settlement
from postino.stores.records import AttemptError, AuditContext, ClaimRequest, NewJob, SettledJob, WorkerInfo
from postino.stores.store import Store
from postino.values.event import Cursor, Event
from postino.values.job import Job, Queue, State, new_id
from postino.values.ledger import (
    IntentEntry,
    NewIntent,
    ReceiptEntry,
    ReceiptSource,
    RecordedReceipt,
    StepEntry,
    Verdict,
)
from postino.values.outcome import Outcome
from postino.values.provider import Receipt
from tests.contract.databases import Clock, Database

POISON = b'\xff\x00\xfe{"not": json\xc3'
ME = AuditContext("maria", "because")
POLICY = RetryPolicy()


def new(**fields: Any) -> NewJob:
    """Return a job to enqueue, with defaults for all other fields."""
    ordinary: dict[str, Any] = {"type": "report", "channel": "reports", "queue": Queue.DEFAULT, "payload": b"{}"}
    return NewJob(**{"id": new_id(), **ordinary, **fields})


@dataclass
class StoreHarness:
    store: Store
    clock: Clock
    database: Database
    all_reachable: bool = True  # unless the test makes jobs unreachable on purpose
    visitors: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def open_another_store(self) -> Store:
        """Return a store with its own connections and the same clock, like a second process."""
        store = self.database.store(self.clock)
        await store.open()
        self.visitors.push_async_callback(store.close)
        return store

    async def hire(self, worker: str, types: tuple[str, ...] = ("report", "t")) -> str:
        await self.store.register_worker(WorkerInfo(id=worker, host="here", pid=1, types=types))
        return worker

    async def put(self, **fields: Any) -> Job:
        (enqueued,) = await self.store.enqueue([new(**fields)])
        return enqueued.job

    async def put_many(self, count: int, **fields: Any) -> list[Job]:
        return [enqueued.job for enqueued in await self.store.enqueue([new(**fields) for _ in range(count)])]

    async def order(
        self, free: int = 100, *, worker: str = "w1", store: Store | None = None, low_is_running: bool = False
    ) -> ClaimRequest:
        poll = await (store or self.store).poll(worker)
        return ClaimRequest(
            worker=worker,
            token=new_id(),
            free=free,
            poll=poll,
            low_is_running=low_is_running,
        )

    async def take(
        self, free: int = 100, *, worker: str = "w1", store: Store | None = None, low_is_running: bool = False
    ) -> list[Job]:
        """Looks and claims, as a worker does."""
        order = await self.order(free, worker=worker, store=store, low_is_running=low_is_running)
        return await (store or self.store).claim(order)

    async def take_one(self) -> Job:
        (job,) = await self.take()
        return job

    async def intend(
        self, job: Job, step: str = "post", number: int = 1, *, send_within: float = 5, lookup_delay: float = 35
    ) -> IntentEntry | None:
        """Record an intent, as a run does before its visible call."""
        within = {"send_within": send_within, "lookup_delay": lookup_delay}
        (entry,) = await self.store.record_intents([make_intent(job, step, number, **within)])
        return entry

    async def remember(self, job: Job, name: str, result: str | None = "1", *, position: int = 0) -> StepEntry | None:
        """Store the result of a step, as a run does; None means that the step is not finished."""
        return await self.store.save_step(job, name, position, result, done=result is not None)

    async def accept(
        self, job: Job, remote_id: str, step: str = "post", number: int = 1, source: ReceiptSource = ReceiptSource.CALL
    ) -> RecordedReceipt:
        receipt = Receipt(remote_id=remote_id, url=f"https://there/{remote_id}", data={"seen": [1, "ü"]})
        entry = ReceiptEntry(step=step, number=number, verdict=Verdict.ACCEPTED, source=source, receipt=receipt)
        return await self.store.record_receipt(job.id, entry)

    async def refuse(self, job: Job, step: str = "post", number: int = 1, why: str = "no") -> RecordedReceipt:
        entry = ReceiptEntry(step=step, number=number, verdict=Verdict.REFUSED, source=ReceiptSource.CALL, why=why)
        return await self.store.record_receipt(job.id, entry)

    async def add_uncertain_job(self, **fields: Any) -> Job:
        """Return an uncertain job, whose worker died after the visible call; its lookup is due after the quarantine.

        The next worker is w2.
        """
        job = await self.put(**fields)
        (claimed,) = await self.take()
        await self.intend(claimed)
        await self.kill("w1")
        await self.hire("w2")
        return await self.store.job(job.id)

    async def settle(self, job: Job, written: Settlement, failure: AttemptError | None = None) -> bool:
        return await self.store.settle([SettledJob(job, written, failure)]) == {job.id}

    async def end(
        self, job: Job, outcome: Outcome, failure: AttemptError | None = None, policy: RetryPolicy = POLICY
    ) -> bool:
        """Settle a job with an outcome; return whether the claim was still valid."""
        return await self.settle(job, settlement.settle_job(job, outcome, policy, self.clock(), 0.0), failure)

    async def run(self, outcome: Outcome, **fields: Any) -> Job:
        """Enqueue, claim and settle a job; return its stored state."""
        job = await self.put(**fields)
        (claimed,) = await self.take()
        assert claimed.id == job.id
        assert await self.end(claimed, outcome)
        return await self.store.job(job.id)

    async def kill(self, worker: str = "w1") -> list[SettledJob]:
        """Stop the heartbeats of the worker and rescue its jobs."""
        poll = await self.store.poll("observer", heartbeat=True)
        return await self.store.rescue({worker: poll.heartbeats[worker]}, settlement.rescue_job)

    async def state(self, job: Job) -> State:
        return (await self.store.job(job.id)).state

    async def events(self, after: Cursor | None = None) -> list[Event]:
        return list(await self.store.events(after or Cursor(), 10_000))

    async def list_event_types(self, job_id: UUID) -> list[str]:
        """Return the types of the events of this job, in order."""
        return [event.type for event in await self.events() if event.job_id == job_id]


def make_intent(job: Job, step: str = "post", number: int = 1, **fields: Any) -> NewIntent:
    """Return an intent to send within five seconds, with a lookup after forty."""
    usual = {"position": 0, "send_within": 5.0, "lookup_delay": 35.0}
    return NewIntent(job_id=job.id, token=job.token, step=step, number=number, **{**usual, **fields})


def ids(jobs: list[Job]) -> set[UUID]:
    return {job.id for job in jobs}


def remove_claim(job: Job) -> Job:
    """Return the job without its claim, to compare what a claim must not change."""
    return dataclasses.replace(job, state=State.PENDING, attempts=0, claimed_by=None, claimed_at=None, token=None)
