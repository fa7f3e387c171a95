"""A steady flow of jobs during an outage of the database, and what became of each job."""

import asyncio
import fnmatch
import itertools
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from postino import Job, Postino, State
from postino.errors import StoreUnreachable
from postino.stores.postgres import get_numbered_text
from postino.stores.records import JobFilter
from postino.stores.statement import load_queries
from postino.values.event import Cursor, Event, EventType
from tests.engine.conftest import run_worker, wait_for, wait_for_end
from tests.servers.proxy import Loses, Proxy, any_of

BACK_WITHIN = 2.0  # seconds after the database accepts connections
SLOWEST = 10  # times an ordinary job: on a busy machine nothing takes two seconds only
Start = Callable[..., "subprocess.Popen[str]"]
Ran = Callable[[], Counter[str]]
Logs = Sequence[Mapping[str, Any]]
ALARMS = {"worker.error", "worker.dead", "worker.replaced", "job.lost", "job.revoked", "job.rescued", "settle.refused"}


class Flow:
    """Enqueues jobs of several kinds all the time, and records what was accepted and what ran."""

    def __init__(self, app: Postino) -> None:
        self.app = app
        self.accepted: dict[UUID, Job] = {}
        self.starts: Counter[UUID] = Counter()
        self.numbers = itertools.count()
        app.handler("flow")(self.handle)

    async def handle(self, job: Job) -> None:
        self.starts[job.id] += 1
        await asyncio.sleep(0)

    async def enqueue_some(self) -> None:
        """Enqueue a plain job, one with a key, and two of an account. Nothing counts as accepted after an error."""
        number = next(self.numbers)
        try:
            jobs = [await self.app.enqueue("flow", number), await self.app.enqueue("flow", number, key=str(number))]
            jobs += await self.app.enqueue_many([{"type": "flow", "account": f"a{number % 3}"}] * 2)
        except StoreUnreachable:
            return
        self.accepted |= {job.id: job for job in jobs}

    async def enqueue_forever(self) -> None:
        while True:
            await self.enqueue_some()
            await asyncio.sleep(0.01)

    async def wait_for_starts(self, jobs: int = 20) -> None:
        """Wait until this many more jobs have started."""
        goal = len(self.starts) + jobs

        async def there() -> bool:
            return len(self.starts) >= goal

        await wait_for(there)

    async def check_recovery(self) -> None:
        """Check that a job enqueued now ends in time, by the pace of this machine at this moment."""
        recovery = await self.time_job()
        assert recovery < BACK_WITHIN + SLOWEST * await self.time_job()

    async def time_job(self) -> float:
        """Enqueue a job and return how many seconds it takes to complete."""
        asked_at = time.monotonic()
        job = await self.app.enqueue("flow")
        self.accepted[job.id] = job
        await wait_for_end(self.app, job)
        return time.monotonic() - asked_at

    async def wait_until_ended(self) -> None:
        async def none_left() -> bool:
            return not await self.app.store.jobs(JobFilter(states=(State.PENDING, State.RUNNING), limit=1))

        await wait_for(none_left)

    async def check(self, *, given_back: bool = False) -> None:
        """Check that every accepted job exists and every job ran once, by its history and its events."""
        jobs = await self.app.store.jobs(JobFilter(limit=10_000))
        assert self.accepted.keys() <= {job.id for job in jobs}
        assert {job.state for job in jobs} == {State.COMPLETED}
        assert self.starts == {job.id: 1 for job in jobs}
        events = Counter((event.type, event.job_id) for event in await all_events(self.app) if event.job_id)
        allowed = {EventType.COMPLETED, EventType.RELEASED} if given_back else {EventType.COMPLETED}
        assert {kind for kind, _ in events} <= allowed
        for job in jobs:
            assert events[EventType.COMPLETED, job.id] == 1
            outcomes = [attempt.outcome for attempt in await self.app.store.attempts(job.id)]
            assert outcomes == ["released"] * events[EventType.RELEASED, job.id] + ["completed"]


async def all_events(app: Postino) -> list[Event]:
    events: list[Event] = []
    while page := await app.store.events(events[-1].cursor if events else Cursor(), 1000):
        events += page
    return events


@asynccontextmanager
async def run_flow(flow: Flow, *, askers: int = 1, **changes: Any) -> AsyncIterator[None]:
    """Run a worker and the flow during the block; afterwards wait until all jobs have ended."""
    async with run_worker(flow.app, **changes):
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(flow.enqueue_forever()) for _ in range(askers)]
            await flow.wait_for_starts()
            yield
            await flow.wait_for_starts()
            for coming in asking:
                coming.cancel()
        await flow.wait_until_ended()


def is_query(*patterns: str) -> Loses:
    """Match transactions with a query of the store whose name matches one of these patterns."""
    names = [name for pattern in patterns for name in fnmatch.filter(load_queries("postgres"), pattern)]
    assert names
    return any_of(*(get_numbered_text(name) for name in names))


async def is_logged(logs: Logs, event: str) -> bool:
    return event in [line["event"] for line in logs]


def line_with(process: "subprocess.Popen[str]", words: str) -> str:
    """Return the first line of a process's output that has these words."""
    assert process.stdout is not None
    return next((line for line in process.stdout if words in line), f"never said {words}")


async def wait_for_losses(proxy: Proxy, answers: int) -> None:
    """Wait until this many responses were lost."""

    async def there() -> bool:
        return len(proxy.lost) >= answers

    await wait_for(there)


def find_alarms(logs: Logs) -> list[Mapping[str, Any]]:
    """Return the log lines that must not appear while no worker has died."""
    return [line for line in logs if line["event"] in ALARMS]
