"""The way to the database is slow, refused for longer than a lease, or cut for one worker alone."""

import asyncio
from collections import Counter
from pathlib import Path
from uuid import UUID

from postino import Job, Postino, State
from postino.errors import StoreUnreachable
from postino.values.event import EventType
from tests.engine.conftest import ended, eventually, settings, working
from tests.outages.flow import Flow, Logs, Ran, Start, alarms, all_events, flowing, line_with, told
from tests.servers.proxy import Proxy

LEASE = 1.0


async def away_for_longer_than_a_lease(proxy: Proxy) -> None:
    await proxy.refuse()
    await proxy.cut()
    await asyncio.sleep(2 * LEASE)  # this is how long the outage lasts
    await proxy.accept()


async def test_two_hundred_milliseconds_more_or_less_cost_time_and_nothing_else(
    flow: Flow, proxy: Proxy, logs: Logs
) -> None:
    async with flowing(flow, askers=8):
        proxy.slow(0.1, 0.05)  # there, and the same back
        await flow.more(24)
        proxy.slow(0, 0)
    await flow.check()
    assert alarms(logs) == []


async def test_an_outage_longer_than_the_lease_buries_nobody_and_costs_no_job_its_place(
    flow: Flow, proxy: Proxy, logs: Logs
) -> None:
    async with flowing(flow, lease=LEASE):
        await away_for_longer_than_a_lease(proxy)
        await flow.back()
    await flow.check(given_back=True)
    assert alarms(logs) == []


class Holding:
    """A handler of several apps whose jobs end when they are told to."""

    def __init__(self, *apps: Postino) -> None:
        self.starts: Counter[UUID] = Counter()
        self.finish = asyncio.Event()
        for app in apps:
            app.handler("hold")(self.handle)

    async def handle(self, job: Job) -> None:
        self.starts[job.id] += 1
        await self.finish.wait()

    async def begun(self, times: int) -> None:
        async def there() -> bool:
            return self.starts.total() == times

        await eventually(there)


async def beaten_again(app: Postino) -> None:
    """Every worker is seen alive anew."""
    before = {worker.id: worker.heartbeats for worker in await app.store.workers()}

    async def there() -> bool:
        return all(worker.heartbeats > before[worker.id] + 2 for worker in await app.store.workers())

    await eventually(there)


async def test_workers_that_hold_jobs_through_an_outage_keep_them(
    app: Postino, proxy: Proxy, postgres_url: str, tmp_path: Path, logs: Logs
) -> None:
    async with Postino(settings(tmp_path, proxy.url(postgres_url))) as other:
        holding = Holding(app, other)
        async with working(app, lease=LEASE, concurrency=4), working(other, lease=LEASE, concurrency=4):
            jobs = await app.enqueue_many([("hold", number) for number in range(8)])
            await holding.begun(8)
            await away_for_longer_than_a_lease(proxy)
            await eventually(lambda: reached(app))
            await beaten_again(app)
            holding.finish.set()
            for job in jobs:
                assert (await ended(app, job)).rescues == 0
    assert holding.starts == {job.id: 1 for job in jobs}
    assert EventType.RESCUED not in [event.type for event in await all_events(app)]
    assert alarms(logs) == []


async def reached(app: Postino) -> bool:
    try:
        return len(await app.store.workers()) > 0
    except StoreUnreachable:
        return False


async def test_a_worker_cut_off_alone_loses_its_job_to_another_and_goes_on_when_it_is_back(
    app: Postino, proxy: Proxy, postgres_url: str, tmp_path: Path, logs: Logs
) -> None:
    async with Postino(settings(tmp_path, postgres_url)) as other:
        holding = Holding(app, other)
        async with working(app, lease=LEASE):
            job = await other.enqueue("hold")
            await holding.begun(1)
            await proxy.refuse()
            await proxy.cut()
            async with working(other, lease=LEASE):
                await holding.begun(2)
                await proxy.accept()
                await eventually(lambda: told(logs, "job.revoked"))
                holding.finish.set()
                done = await ended(other, job)
            assert (await ended(other, await other.enqueue("hold"))).state is State.COMPLETED
    assert (done.state, done.rescues) == (State.COMPLETED, 1)
    assert [attempt.outcome for attempt in await other.store.attempts(job.id)] == ["rescued", "completed"]


async def test_processes_that_outlive_an_outage_run_each_job_once(
    app: Postino, proxy: Proxy, postgres_url: str, start: Start, ran: Ran
) -> None:
    async def begun(jobs: int) -> bool:
        return ran().total() >= jobs

    processes = [start(proxy.url(postgres_url)), start(proxy.url(postgres_url))]
    for process in processes:
        assert await asyncio.to_thread(line_with, process, "ready") == "ready\n"
    jobs = await app.enqueue_many([("slow", number) for number in range(32)])
    await eventually(lambda: begun(1))
    await away_for_longer_than_a_lease(proxy)
    jobs += await app.enqueue_many([("record", number) for number in range(20)])
    for job in jobs:
        assert (await ended(app, job)).rescues == 0
    assert ran() == {str(job.id): 1 for job in jobs}
    for process in processes:
        process.terminate()
        assert await asyncio.to_thread(process.wait, 10) == 0
    happened = [event.type for event in await all_events(app)]
    assert (happened.count(EventType.COMPLETED), happened.count(EventType.RESCUED)) == (len(jobs), 0)
