"""The way to the database is slow, refused for longer than a lease, or cut for one worker alone."""

import asyncio
from collections import Counter
from pathlib import Path
from uuid import UUID

from postino import Job, Postino, State
from postino.errors import StoreUnreachable
from postino.values.event import EventType
from tests.engine.conftest import make_config, run_worker, wait_for, wait_for_end
from tests.outages.job_flow import Flow, Logs, Ran, Start, all_events, find_alarms, is_logged, line_with, run_flow
from tests.servers.proxy import Proxy

LEASE = 1.0


async def interrupt_longer_than_lease(proxy: Proxy) -> None:
    await proxy.refuse()
    await proxy.cut()
    await asyncio.sleep(2 * LEASE)  # this is how long the outage lasts
    await proxy.accept()


async def test_slow_database_costs_only_time(flow: Flow, proxy: Proxy, logs: Logs) -> None:
    async with run_flow(flow, askers=8):
        proxy.slow(0.1, 0.05)  # in each direction
        await flow.wait_for_starts(24)
        proxy.slow(0, 0)
    await flow.check()
    assert find_alarms(logs) == []


async def test_outage_longer_than_the_lease_kills_no_worker(flow: Flow, proxy: Proxy, logs: Logs) -> None:
    async with run_flow(flow, lease=LEASE):
        await interrupt_longer_than_lease(proxy)
        await flow.check_recovery()
    await flow.check(given_back=True)
    assert find_alarms(logs) == []


class HeldJobs:
    """A handler of several apps whose jobs end when `finish` is set."""

    def __init__(self, *apps: Postino) -> None:
        self.starts: Counter[UUID] = Counter()
        self.finish = asyncio.Event()
        for app in apps:
            app.handler("hold")(self.handle)

    async def handle(self, job: Job) -> None:
        self.starts[job.id] += 1
        await self.finish.wait()

    async def wait_for_starts(self, times: int) -> None:
        async def there() -> bool:
            return self.starts.total() == times

        await wait_for(there)


async def wait_for_heartbeats(app: Postino) -> None:
    """Wait for new heartbeats of every worker."""
    before = {worker.id: worker.heartbeats for worker in await app.store.workers()}

    async def there() -> bool:
        return all(worker.heartbeats > before[worker.id] + 2 for worker in await app.store.workers())

    await wait_for(there)


async def test_workers_keep_their_jobs_through_an_outage(
    app: Postino, proxy: Proxy, postgres_url: str, tmp_path: Path, logs: Logs
) -> None:
    async with Postino(make_config(tmp_path, proxy.url(postgres_url))) as other:
        held_jobs = HeldJobs(app, other)
        async with run_worker(app, lease=LEASE, concurrency=4), run_worker(other, lease=LEASE, concurrency=4):
            jobs = await app.enqueue_many([("hold", number) for number in range(8)])
            await held_jobs.wait_for_starts(8)
            await interrupt_longer_than_lease(proxy)
            await wait_for(lambda: can_reach(app))
            await wait_for_heartbeats(app)
            held_jobs.finish.set()
            for job in jobs:
                assert (await wait_for_end(app, job)).rescues == 0
    assert held_jobs.starts == {job.id: 1 for job in jobs}
    assert EventType.RESCUED not in [event.type for event in await all_events(app)]
    assert find_alarms(logs) == []


async def can_reach(app: Postino) -> bool:
    try:
        return len(await app.store.workers()) > 0
    except StoreUnreachable:
        return False


async def test_isolated_worker_loses_its_job_and_recovers(
    app: Postino, proxy: Proxy, postgres_url: str, tmp_path: Path, logs: Logs
) -> None:
    async with Postino(make_config(tmp_path, postgres_url)) as other:
        held_jobs = HeldJobs(app, other)
        async with run_worker(app, lease=LEASE):
            job = await other.enqueue("hold")
            await held_jobs.wait_for_starts(1)
            await proxy.refuse()
            await proxy.cut()
            async with run_worker(other, lease=LEASE):
                await held_jobs.wait_for_starts(2)
                await proxy.accept()
                await wait_for(lambda: is_logged(logs, "job.revoked"))
                held_jobs.finish.set()
                done = await wait_for_end(other, job)
            assert (await wait_for_end(other, await other.enqueue("hold"))).state is State.COMPLETED
    assert (done.state, done.rescues) == (State.COMPLETED, 1)
    assert [attempt.outcome for attempt in await other.store.attempts(job.id)] == ["rescued", "completed"]


async def test_processes_run_each_job_once_through_an_outage(
    app: Postino, proxy: Proxy, postgres_url: str, start: Start, ran: Ran
) -> None:
    async def has_started(jobs: int) -> bool:
        return ran().total() >= jobs

    processes = [start(proxy.url(postgres_url)), start(proxy.url(postgres_url))]
    for process in processes:
        assert await asyncio.to_thread(line_with, process, "ready") == "ready\n"
    jobs = await app.enqueue_many([("slow", number) for number in range(32)])
    await wait_for(lambda: has_started(1))
    await interrupt_longer_than_lease(proxy)
    jobs += await app.enqueue_many([("record", number) for number in range(20)])
    for job in jobs:
        assert (await wait_for_end(app, job)).rescues == 0
    assert ran() == {str(job.id): 1 for job in jobs}
    for process in processes:
        process.terminate()
        assert await asyncio.to_thread(process.wait, 10) == 0
    happened = [event.type for event in await all_events(app)]
    assert (happened.count(EventType.COMPLETED), happened.count(EventType.RESCUED)) == (len(jobs), 0)
