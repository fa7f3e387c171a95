"""Chaos: workers killed, stopped and frozen at random while jobs arrive, until enough are dead. Then the reckoning."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postino import Postino
from tests.crash.books import Books
from tests.crash.evidence import gather
from tests.crash.fates import Ending, Fate, lives
from tests.crash.figures import Figures
from tests.crash.load import Load
from tests.crash.program import LEASE, settings
from tests.crash.verdict import judge, read_record
from tests.crash.watch import Watch
from tests.crash.workers import Process, Workers, workers_on

POSTS = 10
GRACEFUL = 10.0  # seconds that a worker told to stop may take, at most
RECKONING = 90.0  # seconds after the last kill in which every job must have ended
TOLD_EVERY = 5.0
UNENDED = "SELECT count(*) FROM postino.jobs"
QUARANTINED = "SELECT count(*) FROM postino.dead_letters WHERE cause = 'quarantined' AND resolved_at IS NULL"


@dataclass(frozen=True)
class Plan:
    """One run: where, how many kills, and the seed that gives the same jobs and the same fates again."""

    url: str
    folder: Path
    kills: int
    seed: int


class Chaos:
    def __init__(self, plan: Plan, workers: Workers, app: Postino, books: Books) -> None:
        self.plan = plan
        self.workers = workers
        self.books = books
        self.load = Load(app, plan.seed, lambda: self.watch.live)
        self.frozen: set[int] = set()
        self.watch = Watch(books, app.store, self.awake, lambda: len(self.load.accepted.ends))
        self.ended: Counter[Ending] = Counter()
        self.wrong: list[str] = []
        self.started_at = time.monotonic()

    @property
    def kills(self) -> int:
        return self.ended[Ending.KILL] + self.ended[Ending.CRASH]

    def awake(self) -> set[int]:
        return set(self.workers.alive) - self.frozen

    async def run(self) -> None:
        """Chaos first, then peace, in which everything must come to its end."""
        async with side_by_side(self.watch.look_all_along(), self.load.decide_all_along()):
            async with side_by_side(self.load.enqueue_all_along()):
                await asyncio.gather(*(self.hold(post) for post in range(POSTS)))
            await self.reckon()

    async def hold(self, post: int) -> None:
        """Keeps one post filled: the next worker starts when the last one is gone."""
        for fate in lives(self.plan.seed, post):
            if self.kills >= self.plan.kills:
                return
            worker = await self.workers.start(crash=fate.crash, drain=fate.drain, listens=fate.listens)
            await self.meet(worker, fate)

    async def meet(self, worker: Process, fate: Fate) -> None:
        if not fate.unborn:
            await self.watch.until_at_work(worker)
        code = await worker.wait(fate.after)
        if code is None and fate.ending is Ending.FREEZE:
            await self.freeze(worker, fate)
        if code is None and fate.stops:
            self.ended[Ending.STOP] += 1
            worker.signal(signal.SIGTERM)
            code = await worker.wait(GRACEFUL)
        if code is None:
            worker.kill()
            code = await worker.ended
            self.ended[Ending.KILL] += 1
        elif code == -signal.SIGKILL:
            self.ended[Ending.CRASH] += 1
        elif code not in (0, -signal.SIGTERM):
            self.wrong.append(f"process {worker.pid} ended with {code}: {fate}")

    async def freeze(self, worker: Process, fate: Fate) -> None:
        self.ended[Ending.FREEZE] += 1
        self.frozen.add(worker.pid)
        worker.signal(signal.SIGSTOP)
        await worker.wait(fate.asleep)
        worker.signal(signal.SIGCONT)
        self.frozen.discard(worker.pid)
        await worker.wait(LEASE / 2)

    async def reckon(self) -> None:
        survivors = [await self.workers.start() for _ in range(2)]
        until = time.monotonic() + RECKONING
        while await self.unended() and time.monotonic() < until:  # noqa: ASYNC110 - other processes end them
            await asyncio.sleep(0.1)
        for worker in survivors:
            worker.signal(signal.SIGTERM)
            if (code := await worker.wait(GRACEFUL)) != 0:
                self.wrong.append(f"process {worker.pid}, told to stop at the end, ended with {code}")

    async def unended(self) -> int:
        left = [await asyncio.to_thread(self.books.ask, query) for query in (UNENDED, QUARANTINED)]
        return sum(count for [[count]] in left)

    async def figures(self) -> Figures:
        accepted, watch = self.load.accepted, self.watch
        verdict = await judge(self.books, self.load.app.store, read_record(self.plan.folder), accepted.ends)
        wrong = [*self.wrong, *accepted.wrong, *watch.wrong, *verdict.wrong]
        return Figures(
            kills=self.kills,
            endings={ending.value: self.ended[ending] for ending in Ending},
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
            evidence=gather(self.books, self.plan.folder, [*verdict.lost, *verdict.again, *wrong]),
            seconds=round(time.monotonic() - self.started_at, 1),
        )


async def cause_chaos(plan: Plan, address: str, tell: Callable[[Chaos], None] = lambda _: None) -> Figures:
    """A whole run on an empty database; `tell` hears every few seconds how far it has come."""
    app = Postino(settings({"folder": plan.folder, "url": plan.url}))
    await app.store.migrate()
    async with app, workers_on(address, plan.folder, plan.url) as workers:
        books = Books(plan.url)
        chaos = Chaos(plan, workers, app, books)
        async with side_by_side(telling(chaos, tell)):
            await chaos.run()
        figures = await chaos.figures()
        books.close()
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
