"""Check all the time that an unfinished job can be reached, and has a claim in force, a time, or waits for a person."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Any
from uuid import UUID

from postino.engine.store_retry import retry_forever
from postino.stores.records import JobFilter
from postino.stores.store import Store
from postino.values.job import State
from tests.crash.sql import SqlConnection, to_uuid
from tests.crash.verdict import list_unreachable
from tests.crash.workers import Process

EVERY = 0.05
MOST_AT_ONCE = 0.25  # a check that is late because the machine is busy counts no more than this
TAKEN_OVER = 30.0  # seconds until another worker has the jobs of a dead or frozen one, under load
CARRIED_OUT = 30.0  # seconds until a living worker is done with a job

CLAIMS = """
SELECT job.id, job.state, job.token, worker.pid, job.run_at
FROM postino.jobs AS job LEFT JOIN postino.workers AS worker ON worker.id = job.claimed_by
WHERE job.state <> 'pending' OR job.run_at IS NULL
"""
AT_WORK = "SELECT pid FROM postino.workers"
KNOWN = "SELECT (SELECT count(*) FROM postino.jobs), (SELECT count(*) FROM postino.finished_jobs WHERE NOT superseded)"


class InvariantWatch:
    def __init__(
        self,
        sql: SqlConnection,
        store: Store,
        awake: Callable[[], set[int]],
        accepted: Callable[[], int],
        turns: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        self.sql = sql
        self.store = store
        self.awake = awake
        self.accepted = accepted
        self.turns = turns
        self.live = 0
        self.at_work: set[int] = set()
        self.changed = asyncio.Condition()
        self.dead_for: dict[tuple[UUID, UUID], float] = {}
        self.held_for: dict[tuple[UUID, UUID], float] = {}
        self.longest = 0.0
        self.checked_at = time.monotonic()
        self.checks = 0
        self.wrong: list[str] = []

    async def check_repeatedly(self) -> None:
        while True:
            async with self.turns():
                await self.check()
            await asyncio.sleep(EVERY)

    async def wait_until_registered(self, worker: Process) -> None:
        """Return when the worker has registered, or ended before that."""
        async with self.changed:
            await self.changed.wait_for(lambda: worker.pid in self.at_work or worker.ended.done())

    async def wait_until_taken_over(self, worker: Process) -> None:
        """Return when the claims that are dead now are taken over, should have been, or the worker ended."""
        dead = set(self.dead_for)
        with suppress(TimeoutError):
            async with asyncio.timeout(TAKEN_OVER), self.changed:
                await self.changed.wait_for(lambda: dead.isdisjoint(self.dead_for) or worker.ended.done())

    async def check(self) -> None:
        accepted = self.accepted()
        rows, at_work, [[self.live, finished]] = await asyncio.to_thread(self.read_rows)
        async with self.changed:
            self.at_work = {pid for [pid] in at_work}
            self.changed.notify_all()
        self.checks += 1
        if self.live + finished < accepted:
            self.wrong.append(f"{accepted} jobs were accepted, and only {self.live + finished} are there")
        now = time.monotonic()
        step, self.checked_at = min(now - self.checked_at, MOST_AT_ONCE), now
        self.check_claims([row for row in rows if row[1] == "running"], step)
        self.wrong += [f"{job} is pending without a time" for job, state, *_ in rows if state == "pending"]
        self.wrong += await retry_forever(lambda: list_unreachable(self.store))
        await self.check_listed(list_waiting_for_person(rows))

    def read_rows(self) -> list[list[tuple[Any, ...]]]:
        return [self.sql.ask(query) for query in (CLAIMS, AT_WORK, KNOWN)]

    def check_claims(self, claims: list[tuple[Any, ...]], step: float) -> None:
        awake = self.awake()
        dead, held = self.dead_for, self.held_for
        self.dead_for, self.held_for = {}, {}
        for job, _, token, pid, _ in claims:
            if token is None:
                self.wrong.append(f"{job} is running without a claim")
                continue
            claim = to_uuid(job), to_uuid(token)
            if pid in awake:
                self.held_for[claim] = held.get(claim, 0.0) + step
            else:
                self.dead_for[claim] = dead.get(claim, 0.0) + step
        self.longest = max([self.longest, *self.dead_for.values()])
        self.complain(dead, self.dead_for, TAKEN_OVER, "its worker is dead and no other took it over")
        self.complain(held, self.held_for, CARRIED_OUT, "its worker is alive but does not settle it")

    def complain(
        self, before: dict[tuple[UUID, UUID], float], after: dict[tuple[UUID, UUID], float], most: float, what: str
    ) -> None:
        self.wrong += [
            f"{job}, claim {token}: {what} for {most} s"
            for (job, token), seconds in after.items()
            if seconds > most >= before.get((job, token), 0.0)
        ]

    async def check_listed(self, uncertain: set[UUID]) -> None:
        """Check that jobs that wait for a person before and after the list is read are on it."""
        if not uncertain:
            return
        listed = {job.id for job in await self.store.jobs(JobFilter(states=(State.UNCERTAIN,), limit=1000))}
        rows = await asyncio.to_thread(self.sql.ask, CLAIMS)
        self.wrong += [
            f"{job} is uncertain and not listed" for job in (uncertain & list_waiting_for_person(rows)) - listed
        ]


def list_waiting_for_person(rows: list[tuple[Any, ...]]) -> set[UUID]:
    """Return the jobs that wait for a person; uncertain jobs with a time are looked up by a worker."""
    return {to_uuid(job) for job, state, _, _, run_at in rows if state == "uncertain" and run_at is None}
