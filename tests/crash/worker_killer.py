"""Keep a number of workers running and end each as its drawn life says."""

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from tests.crash.invariant_watch import InvariantWatch
from tests.crash.program import LEASE
from tests.crash.worker_lives import WorkerEnd, WorkerLife
from tests.crash.workers import Process, Workers

GRACEFUL = 10.0  # seconds that a worker told to stop may take, at most


class WorkerKiller:
    """Goes on until so many are dead. What ought not to have happened to a process is in `wrong`."""

    def __init__(self, workers: Workers, start: Callable[[WorkerLife], Awaitable[Process]], most: int) -> None:
        self.workers = workers
        self.start = start
        self.most = most
        self.watch: InvariantWatch
        self.frozen: set[int] = set()
        self.ended: Counter[WorkerEnd] = Counter()
        self.wrong: list[str] = []

    @property
    def kills(self) -> int:
        return self.ended[WorkerEnd.KILL] + self.ended[WorkerEnd.CRASH]

    def awake(self) -> set[int]:
        return set(self.workers.alive) - self.frozen

    async def fill(self, places: list[Iterator[WorkerLife]]) -> None:
        """Each place has workers with such fates, one after the other."""
        await asyncio.gather(*(self.hold(fates) for fates in places))

    async def hold(self, fates: Iterator[WorkerLife]) -> None:
        """The next worker starts when the last one is gone."""
        for fate in fates:
            if self.kills >= self.most:
                return
            await self.meet(await self.start(fate), fate)

    async def meet(self, worker: Process, fate: WorkerLife) -> None:
        if not fate.unborn:
            await self.watch.until_at_work(worker)
        code = await worker.wait(fate.after)
        if code is None and fate.ending is WorkerEnd.FREEZE:
            await self.freeze(worker, fate)
        if code is None and fate.stops:
            self.ended[WorkerEnd.STOP] += 1
            worker.signal(signal.SIGTERM)
            code = await worker.wait(GRACEFUL)
        if code is None:
            worker.kill()
            code = await worker.ended
            self.ended[WorkerEnd.KILL] += 1
        elif code == -signal.SIGKILL:
            self.ended[WorkerEnd.CRASH] += 1
        elif code not in (0, -signal.SIGTERM):
            self.wrong.append(f"process {worker.pid} ended with {code}: {fate}")

    async def freeze(self, worker: Process, fate: WorkerLife) -> None:
        self.ended[WorkerEnd.FREEZE] += 1
        self.frozen.add(worker.pid)
        worker.signal(signal.SIGSTOP)
        await worker.wait(fate.asleep)
        worker.signal(signal.SIGCONT)
        self.frozen.discard(worker.pid)
        await worker.wait(LEASE / 2)

    async def outlive(self, survivors: int, done: Callable[[], Awaitable[bool]], within: float) -> None:
        """Peace: these workers have so many seconds to bring everything to its end."""
        living = [await self.start(WorkerLife(WorkerEnd.STOP, 0.0)) for _ in range(survivors)]
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not await done():  # noqa: ASYNC110 - other processes end them
                    await asyncio.sleep(0.1)
        for worker in living:
            worker.signal(signal.SIGTERM)
            if (code := await worker.wait(GRACEFUL)) != 0:
                self.wrong.append(f"process {worker.pid}, told to stop at the end, ended with {code}")
