"""Keep a number of workers running and end each one as its random life says."""

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from tests.crash.invariant_watch import InvariantWatch
from tests.crash.program import LEASE
from tests.crash.worker_lives import WorkerEnd, WorkerLife
from tests.crash.workers import Process, Workers

GRACEFUL = 30.0  # seconds that a stopping worker may take, at most


class WorkerKiller:
    """Starts and ends workers until enough are killed; unexpected exits of processes are in `wrong`."""

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
        """Run workers in each place, one after the other."""
        await asyncio.gather(*(self.hold(worker_lives) for worker_lives in places))

    async def hold(self, worker_lives: Iterator[WorkerLife]) -> None:
        """Start the next worker when the last one has ended."""
        for life in worker_lives:
            if self.kills >= self.most:
                return
            await self.meet(await self.start(life), life)

    async def meet(self, worker: Process, life: WorkerLife) -> None:
        if not life.before_start:
            await self.watch.wait_until_registered(worker)
        if life.rescues:
            await self.watch.wait_until_taken_over(worker)
        code = await worker.wait(life.after)
        if code is None and life.ending is WorkerEnd.FREEZE:
            await self.freeze(worker, life)
        if code is None and life.stops:
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
            self.wrong.append(f"process {worker.pid} ended with {code}: {life}")

    async def freeze(self, worker: Process, life: WorkerLife) -> None:
        self.ended[WorkerEnd.FREEZE] += 1
        self.frozen.add(worker.pid)
        worker.signal(signal.SIGSTOP)
        await worker.wait(life.asleep)
        worker.signal(signal.SIGCONT)
        self.frozen.discard(worker.pid)
        await worker.wait(LEASE / 2)

    async def run_survivors(self, survivors: int, done: Callable[[], Awaitable[bool]], within: float) -> None:
        """Run workers that are not killed until everything is done, or the time is over."""
        processes = [await self.start(WorkerLife(WorkerEnd.STOP, 0.0)) for _ in range(survivors)]
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not await done():  # noqa: ASYNC110 - other processes end them
                    await asyncio.sleep(0.1)
        for worker in processes:
            worker.signal(signal.SIGTERM)
            if (code := await worker.wait(GRACEFUL)) != 0:
                self.wrong.append(f"process {worker.pid}, stopped at the end, ended with {code}")
