"""The jobs of a chaos run, enqueued all the time, and a person who cancels, resolves and replays some of them."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from postino import Conflict, Done, Job, NotFound, Postino, Reject, Retry, State
from postino.errors import StoreUnreachable
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import DeadLetterFilter, JobFilter

MOST_LIVE = 400
TOGETHER = 40
EVERY = 0.1
PERSON_EVERY = 0.5

WORKS = frozenset({State.COMPLETED})
FAILS = frozenset({State.FAILED})
ENDS = {
    "plain": WORKS, "thread": WORKS, "parent": WORKS, "flaky": WORKS, "later": WORKS, "hopeless": FAILS,
    "unsure": WORKS | FAILS,
}  # fmt: skip


@dataclass
class Accepted:
    """What the store said yes to, and how each of these jobs may end."""

    ends: dict[UUID, frozenset[State]] = field(default_factory=dict)
    replayed: int = 0
    resolved: int = 0
    unanswered: int = 0
    wrong: list[str] = field(default_factory=list)


class Load:
    def __init__(self, app: Postino, seed: int, live: Callable[[], int]) -> None:
        self.app = app
        self.live = live
        self.chance = random.Random(f"{seed} jobs")
        self.person = random.Random(f"{seed} person")
        self.accepted = Accepted()
        self.keys = 0

    async def enqueue_all_along(self) -> None:
        while True:
            if self.live() < MOST_LIVE:
                await self.patiently(self.enqueue_some)
            await asyncio.sleep(EVERY)

    async def enqueue_some(self) -> None:
        wanted = [self.draw() for _ in range(self.chance.randint(1, TOGETHER))]
        if self.chance.random() < 0.5:
            jobs = await self.app.enqueue_many(wanted)
        else:
            jobs = list(await asyncio.gather(*(self.app.enqueue(**one) for one in wanted)))
        for job in jobs:
            self.accepted.ends[job.id] = ENDS[job.type]
        await self.ask_again(wanted, jobs)
        for job in jobs:
            if self.chance.random() < 0.08:
                await self.cancel(job)

    def draw(self) -> dict[str, Any]:
        """A job of some kind."""
        chance = self.chance
        kind = chance.choices(list(ENDS), [40, 10, 8, 10, 5, 3, 3])[0]
        payload = {
            "plain": chance.choice([0.0, 0.005, 0.02, 0.2]),
            "thread": chance.choice([0.0, 0.02]),
            "parent": chance.randint(1, 3),
            "flaky": chance.randint(1, 2),
        }.get(kind)
        job: dict[str, Any] = {"type": kind, "payload": payload, "queue": chance.choice(["high", "default", "low"])}
        if chance.random() < 0.4:
            job["account"] = f"account {chance.randint(1, 6)}"
        if chance.random() < 0.2:
            job["brand"] = f"brand {chance.randint(1, 3)}"
        if chance.random() < 0.3:
            self.keys += 1
            job["key"] = f"key {self.keys}"
        if chance.random() < 0.2:
            job["at"] = datetime.now(UTC) + timedelta(seconds=chance.uniform(0, 1))
        return job

    async def ask_again(self, wanted: list[dict[str, Any]], jobs: list[Job]) -> None:
        """A key asked for again is the same job."""
        for one, job in zip(wanted, jobs, strict=True):
            if "key" in one and self.chance.random() < 0.3:
                same = await self.app.enqueue(**one)
                if same.id != job.id:
                    self.accepted.wrong.append(f"{one['key']} is two jobs, {job.id} and {same.id}")

    async def cancel(self, job: Job) -> None:
        before = self.accepted.ends[job.id]
        self.accepted.ends[job.id] = before | {State.CANCELLED}  # whatever the answer, if none comes
        try:
            await self.app.cancel(job.id, reason="chance")
            self.accepted.ends[job.id] = frozenset({State.CANCELLED})
        except (Conflict, NotFound):
            self.accepted.ends[job.id] = before

    async def decide_all_along(self) -> None:
        while True:
            await self.patiently(self.decide)
            await asyncio.sleep(PERSON_EVERY)

    async def decide(self) -> None:
        """A person answers for what is uncertain, and gives another chance to what was killed with its workers."""
        for job in await self.app.store.jobs(JobFilter(states=(State.UNCERTAIN,), limit=100)):
            verdicts: list[Done | Retry | Reject] = [Done(), Retry("again"), Reject("given up")]
            await self.app.resolve(job.id, self.person.choice(verdicts), reason="chance")
            self.accepted.resolved += 1
        for letter in await self.app.store.dead_letters(
            DeadLetterFilter(cause=DeadLetterCause.WORKER_KILLER, limit=100)
        ):
            await self.app.replay(letter.job.id, reason="it was not its fault")
            self.accepted.replayed += 1

    async def patiently(self, act: Callable[[], Awaitable[None]]) -> None:
        """A frozen process may hold the database for longer than anybody waits: what was asked may be there or not."""
        try:
            await act()
        except StoreUnreachable:
            self.accepted.unanswered += 1
