"""Chaos: workers are killed, stopped and frozen at random while jobs arrive; then the result is checked."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postino import Postino
from tests.crash.evidence import gather
from tests.crash.invariant_watch import InvariantWatch
from tests.crash.load import Load
from tests.crash.points import ENGINE_POINTS
from tests.crash.program import settings
from tests.crash.results import Results
from tests.crash.sql import SqlConnection
from tests.crash.verdict import judge, read_record
from tests.crash.worker_killer import WorkerKiller
from tests.crash.worker_lives import WorkerEnd, WorkerLife, lives
from tests.crash.workers import Process, Workers, workers_on

PLACES = 10
RECKONING = 90.0  # seconds after the last kill in which every job must have ended
TOLD_EVERY = 5.0
UNENDED = "SELECT count(*) FROM postino.jobs"
WORKER_KILLER = "SELECT count(*) FROM postino.dead_letters WHERE cause = 'worker_killer' AND resolved_at IS NULL"


@dataclass(frozen=True)
class Plan:
    """One run: where, how many kills, and the seed that gives the same jobs and the same fates again."""

    url: str
    folder: Path
    kills: int
    seed: int


class Chaos:
    def __init__(self, plan: Plan, workers: Workers, app: Postino, sql: SqlConnection) -> None:
        self.plan = plan
        self.sql = sql
        self.load = Load(app, plan.seed, lambda: self.watch.live)
        self.mortality = WorkerKiller(workers, self.start, plan.kills)
        self.watch = InvariantWatch(sql, app.store, self.mortality.awake, lambda: len(self.load.accepted.ends))
        self.mortality.watch = self.watch
        self.started_at = time.monotonic()

    @property
    def kills(self) -> int:
        return self.mortality.kills

    @property
    def told(self) -> str:
        """How far it has come."""
        wrong = len(self.mortality.wrong) + len(self.watch.wrong)
        jobs = f"{len(self.load.accepted.ends):,} jobs, {self.watch.live:,} of them live"
        return f"{jobs}, {self.watch.checks:,} checks, {wrong} wrong"

    async def start(self, fate: WorkerLife) -> Process:
        return await self.mortality.workers.start(crash=fate.crash, drain=fate.drain, listens=fate.listens)

    async def run(self) -> None:
        """Chaos first, then peace, in which everything must come to its end."""
        async with side_by_side(self.watch.look_all_along(), self.load.decide_all_along()):
            async with side_by_side(self.load.enqueue_all_along()):
                await self.mortality.fill([lives(self.plan.seed, place, ENGINE_POINTS) for place in range(PLACES)])
            await self.mortality.outlive(2, self.all_ended, RECKONING)

    async def all_ended(self) -> bool:
        left = [await asyncio.to_thread(self.sql.ask, query) for query in (UNENDED, WORKER_KILLER)]
        return not any(count for [[count]] in left)

    async def figures(self) -> Results:
        accepted, watch = self.load.accepted, self.watch
        verdict = await judge(self.sql, self.load.app.store, read_record(self.plan.folder), accepted.ends)
        wrong = [*self.mortality.wrong, *accepted.wrong, *watch.wrong, *verdict.wrong]
        return Results(
            kills=self.kills,
            endings={ending.value: self.mortality.ended[ending] for ending in WorkerEnd},
            accepted=len(accepted.ends),
            states={state.value: count for state, count in sorted(verdict.states.items())},
            resolved=accepted.resolved,
            replayed=accepted.replayed,
            unanswered=accepted.unanswered,
            rescues=verdict.rescues,
            checks=watch.checks,
            longest_takeover=round(watch.longest, 1),
            lost=verdict.lost,
            again=verdict.again,
            wrong=wrong,
            evidence=gather(self.sql, self.plan.folder, [*verdict.lost, *verdict.again, *wrong]),
            seconds=round(time.monotonic() - self.started_at, 1),
        )


async def cause_chaos(plan: Plan, address: str, tell: Callable[[Chaos], None] = lambda _: None) -> Results:
    """A whole run on an empty database; `tell` hears every few seconds how far it has come."""
    app = Postino(settings({"folder": plan.folder, "url": plan.url}))
    await app.store.migrate()
    async with app, workers_on(address, plan.folder, plan.url) as workers:
        sql = SqlConnection(plan.url)
        chaos = Chaos(plan, workers, app, sql)
        async with side_by_side(telling(chaos, tell)):
            await chaos.run()
        figures = await chaos.figures()
        sql.close()
    return figures


async def telling(chaos: Chaos, tell: Callable[[Chaos], None]) -> None:
    while True:
        await asyncio.sleep(TOLD_EVERY)
        tell(chaos)


@asynccontextmanager
async def side_by_side(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """These go on for as long as the block does; if one of them stumbles, so does the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        yield
        for task in tasks:
            task.cancel()
