"""SIGSTOP past the lease, then SIGCONT: a worker that was taken for dead does no harm when it wakes up."""

import asyncio
import signal
from collections.abc import Callable

import pytest

from postino import Job, Postino, State
from tests.crash.freeze import freeze
from tests.crash.test_sweep import check_books, end, until_running
from tests.crash.verdict import Runs
from tests.crash.workers import Process, Workers
from tests.engine.conftest import wait_for, wait_for_end

ReadRuns = Callable[[], Runs]


async def until_back(app: Postino, process: Process) -> None:
    """Until it works again, under a new name."""

    async def back() -> bool:
        return process.pid in {worker.pid for worker in await app.store.workers() if worker.heartbeats}

    await wait_for(back)


@pytest.mark.crash
async def test_a_run_that_wakes_up_after_another_completed_the_job_settles_nothing(
    app: Postino, workers: Workers, runs: ReadRuns, database_url: str
) -> None:
    job = await app.enqueue("plain", 0.5)
    frozen = await workers.start()
    await until_running(app, job)
    await freeze(frozen, database_url)
    await workers.start()
    assert (await wait_for_end(app, job)).state is State.COMPLETED
    frozen.signal(signal.SIGCONT)
    await until_back(app, frozen)
    await check_books(app, [job], runs(), deaths=1)


@pytest.mark.crash
async def test_job_waiting_in_a_frozen_worker_does_not_start_after_completion(
    app: Postino, workers: Workers, runs: ReadRuns, database_url: str
) -> None:
    """Jobs rescued before run one at a time; the second one's turn comes when the sleeper wakes up."""
    jobs = await app.enqueue_many([("plain", 0.4), ("plain", 0.4)])
    await all_running(app, jobs, await workers.start())
    frozen = await workers.start()
    await all_running(app, jobs, None)

    async def one_started() -> bool:
        held = {(job.id, job.token) for job in [await app.store.job(job.id) for job in jobs]}
        return any(run in held for run, _ in runs().starts)

    await wait_for(one_started)
    await freeze(frozen, database_url)
    await workers.start()
    for job in jobs:
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    before = len(runs().starts)
    frozen.signal(signal.SIGCONT)
    await until_back(app, frozen)
    await asyncio.sleep(0.5)
    assert len(runs().starts) == before


async def all_running(app: Postino, jobs: list[Job], killed: Process | None) -> None:
    async def rescued_or_not() -> bool:
        found = [await app.store.job(job.id) for job in jobs]
        return all(job.state is State.RUNNING and job.rescues == (killed is None) for job in found)

    await wait_for(rescued_or_not)
    if killed is not None:
        await end(killed)
