"""SIGSTOP past the lease, then SIGCONT: a worker that counted as dead does no harm when it wakes up."""

import asyncio
import signal
from collections.abc import Callable

import pytest

from postino import Job, Postino, State
from tests.crash.freeze import freeze
from tests.crash.test_sweep import check_history, end, wait_until_running
from tests.crash.verdict import Runs
from tests.crash.workers import Process, Workers
from tests.engine.conftest import wait_for, wait_for_end

ReadRuns = Callable[[], Runs]


async def wait_until_back(app: Postino, process: Process) -> None:
    """Wait until the process works again, as a new worker."""

    async def back() -> bool:
        return process.pid in {worker.pid for worker in await app.store.workers() if worker.heartbeats}

    await wait_for(back)


@pytest.mark.crash
async def test_a_run_that_wakes_up_after_another_completed_the_job_settles_nothing(
    app: Postino, workers: Workers, runs: ReadRuns, database_url: str
) -> None:
    job = await app.enqueue("plain", 0.5)
    frozen = await workers.start()
    await wait_until_running(app, job)
    await freeze(frozen, database_url)
    await workers.start()
    assert (await wait_for_end(app, job)).state is State.COMPLETED
    frozen.signal(signal.SIGCONT)
    await wait_until_back(app, frozen)
    await check_history(app, [job], runs(), deaths=1)


@pytest.mark.crash
async def test_job_waiting_in_a_frozen_worker_does_not_start_after_completion(
    app: Postino, workers: Workers, runs: ReadRuns, database_url: str
) -> None:
    """Rescued jobs run one at a time: the second is next when the frozen worker wakes up."""
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
    await wait_until_back(app, frozen)
    await asyncio.sleep(0.5)
    assert len(runs().starts) == before


async def all_running(app: Postino, jobs: list[Job], killed: Process | None) -> None:
    async def are_running() -> bool:
        stored = [await app.store.job(job.id) for job in jobs]
        return all(job.state is State.RUNNING and job.rescues == (killed is None) for job in stored)

    await wait_for(are_running)
    if killed is not None:
        await end(killed)
