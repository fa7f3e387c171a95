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
from tests.crash.worker_lives import WorkerEnd, WorkerLife, draw_lives
from tests.crash.workers import Process, Workers, open_workers

PLACES = 10
SETTLE_WITHIN = 90.0  # seconds after the last kill in which every job must have ended
REPORT_EVERY = 5.0
UNENDED = "SELECT count(*) FROM postino.jobs"
WORKER_KILLER = "SELECT count(*) FROM postino.dead_letters WHERE cause = 'worker_killer' AND resolved_at IS NULL"


@dataclass(frozen=True)
class Plan:
    """One run: where, how many kills, and the seed that reproduces its jobs and worker lives."""

    url: str
    folder: Path
    kills: int
    seed: int


class Chaos:
    def __init__(self, plan: Plan, workers: Workers, app: Postino, sql: SqlConnection) -> None:
        self.plan = plan
        self.sql = sql
        self.load = Load(app, plan.seed, lambda: self.watch.live)
        self.killer = WorkerKiller(workers, self.start, plan.kills)
        self.watch = InvariantWatch(sql, app.store, self.killer.awake, lambda: len(self.load.accepted.ends))
        self.killer.watch = self.watch
        self.started_at = time.monotonic()

    @property
    def kills(self) -> int:
        return self.killer.kills

    @property
    def summary(self) -> str:
        """Describe the progress so far."""
        wrong = len(self.killer.wrong) + len(self.watch.wrong)
        jobs = f"{len(self.load.accepted.ends):,} jobs, {self.watch.live:,} of them live"
        return f"{jobs}, {self.watch.checks:,} checks, {wrong} wrong"

    async def start(self, life: WorkerLife) -> Process:
        return await self.killer.workers.start(crash=life.crash, drain=life.drain, listens=life.listens)

    async def run(self) -> None:
        """Run the chaos, then a calm phase in which every job must end."""
        async with run_in_background(self.watch.check_repeatedly(), self.load.decide_repeatedly()):
            async with run_in_background(self.load.enqueue_repeatedly()):
                await self.killer.fill([draw_lives(self.plan.seed, place, ENGINE_POINTS) for place in range(PLACES)])
            await self.killer.run_survivors(2, self.all_ended, SETTLE_WITHIN)

    async def all_ended(self) -> bool:
        left = [await asyncio.to_thread(self.sql.ask, query) for query in (UNENDED, WORKER_KILLER)]
        return not any(count for [[count]] in left)

    async def make_results(self) -> Results:
        accepted, watch = self.load.accepted, self.watch
        verdict = await judge(self.sql, self.load.app.store, read_record(self.plan.folder), accepted.ends)
        wrong = [*self.killer.wrong, *accepted.wrong, *watch.wrong, *verdict.wrong]
        return Results(
            kills=self.kills,
            endings={ending.value: self.killer.ended[ending] for ending in WorkerEnd},
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
    """Do a whole run on an empty database; call `tell` every few seconds to report the progress."""
    app = Postino(settings({"folder": plan.folder, "url": plan.url}))
    await app.store.migrate()
    async with app, open_workers(address, plan.folder, plan.url) as workers:
        sql = SqlConnection(plan.url)
        chaos = Chaos(plan, workers, app, sql)
        async with run_in_background(report_progress(chaos, tell)):
            await chaos.run()
        make_results = await chaos.make_results()
        sql.close()
    return make_results


async def report_progress(chaos: Chaos, tell: Callable[[Chaos], None]) -> None:
    while True:
        await asyncio.sleep(REPORT_EVERY)
        tell(chaos)


@asynccontextmanager
async def run_in_background(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run these coroutines during the block; an error in one of them ends the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        yield
        for task in tasks:
            task.cancel()
