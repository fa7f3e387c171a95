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
    """The jobs that the store accepted, and the states in which each may end."""

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

    async def enqueue_repeatedly(self) -> None:
        while True:
            if self.live() < MOST_LIVE:
                await self.run_tolerantly(self.enqueue_some)
            await asyncio.sleep(EVERY)

    async def enqueue_some(self) -> None:
        specs = [self.draw() for _ in range(self.chance.randint(1, TOGETHER))]
        if self.chance.random() < 0.5:
            jobs = await self.app.enqueue_many(specs)
        else:
            jobs = list(await asyncio.gather(*(self.app.enqueue(**one) for one in specs)))
        for job in jobs:
            self.accepted.ends[job.id] = ENDS[job.type]
        await self.check_same_key(specs, jobs)
        for job in jobs:
            if self.chance.random() < 0.08:
                await self.cancel(job)

    def draw(self) -> dict[str, Any]:
        """Return a random job."""
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

    async def check_same_key(self, specs: list[dict[str, Any]], jobs: list[Job]) -> None:
        """Check that the same key returns the same job."""
        for one, job in zip(specs, jobs, strict=True):
            if "key" in one and self.chance.random() < 0.3:
                same = await self.app.enqueue(**one)
                if same.id != job.id:
                    self.accepted.wrong.append(f"{one['key']} is two jobs, {job.id} and {same.id}")

    async def cancel(self, job: Job) -> None:
        before = self.accepted.ends[job.id]
        self.accepted.ends[job.id] = before | {State.CANCELLED}  # both are possible if no response comes
        try:
            await self.app.cancel(job.id, reason="chance")
            self.accepted.ends[job.id] = frozenset({State.CANCELLED})
        except (Conflict, NotFound):
            self.accepted.ends[job.id] = before

    async def decide_repeatedly(self) -> None:
        while True:
            await self.run_tolerantly(self.decide)
            await asyncio.sleep(PERSON_EVERY)

    async def decide(self) -> None:
        """Resolve uncertain jobs and replay those whose workers were killed, as a person would."""
        for job in await self.app.store.jobs(JobFilter(states=(State.UNCERTAIN,), limit=100)):
            verdicts: list[Done | Retry | Reject] = [Done(), Retry("again"), Reject("given up")]
            await self.app.resolve(job.id, self.person.choice(verdicts), reason="chance")
            self.accepted.resolved += 1
        for letter in await self.app.store.dead_letters(
            DeadLetterFilter(cause=DeadLetterCause.WORKER_KILLER, limit=100)
        ):
            await self.app.replay(letter.job.id, reason="it was not its fault")
            self.accepted.replayed += 1

    async def run_tolerantly(self, act: Callable[[], Awaitable[None]]) -> None:
        """Run an action that may fail because a frozen process holds the database; its effect is then unknown."""
        try:
            await act()
        except StoreUnreachable:
            self.accepted.unanswered += 1
