"""Stopping a worker: started jobs may end, others are released at once."""

import asyncio
import contextlib

import pytest

from postino import Job, Postino, State
from postino.stores.records import ClaimRequest, WorkerInfo
from postino.values.event import Cursor, EventType
from postino.values.job import new_id
from tests.engine.conftest import run_worker, wait_for, wait_for_end


async def count_rescued_jobs(app: Postino, type: str, many: int) -> list[Job]:
    """Jobs under which a worker died before: they run one at a time."""
    await app.store.register_worker(WorkerInfo(id="dead", host="here", pid=1))
    jobs = await app.enqueue_many([(type, number) for number in range(many)])
    poll = await app.store.poll("dead")
    await app.store.claim(ClaimRequest(worker="dead", token=new_id(), free=many, poll=poll))
    await app.store.unregister_worker("dead")
    return jobs


async def test_unstarted_jobs_are_released_at_once_without_an_attempt(app: Postino) -> None:
    began, finish = asyncio.Event(), asyncio.Event()

    @app.handler("work")
    async def work(job: Job) -> None:
        began.set()
        await finish.wait()

    jobs = await count_rescued_jobs(app, "work", 3)
    stop = asyncio.Event()
    worker = asyncio.create_task(app.work(stop=stop))
    await began.wait()

    async def all_held() -> bool:
        return all([(await app.store.job(job.id)).state is State.RUNNING for job in jobs])

    await wait_for(all_held)
    stop.set()

    async def two_given_back() -> bool:
        now = [await app.store.job(job.id) for job in jobs]
        return sorted((job.state, job.attempts) for job in now) == [
            (State.PENDING, 0), (State.PENDING, 0), (State.RUNNING, 1),
        ]  # fmt: skip

    await wait_for(two_given_back)  # although one still runs
    assert not worker.done()
    finish.set()
    await worker
    states = sorted([(await app.store.job(job.id)).state for job in jobs])
    assert states == [State.COMPLETED, State.PENDING, State.PENDING]


async def test_claim_that_returns_after_stop_is_released(app: Postino) -> None:
    ran: list[Job] = []
    app.handler("work")(lambda job: ran.append(job))
    stop, claim = asyncio.Event(), app.store.claim

    async def late(request: ClaimRequest) -> list[Job]:
        claimed = await claim(request)
        stop.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return claimed

    app.store.claim = late  # type: ignore[method-assign]
    job = await app.enqueue("work")
    await app.work(stop=stop)
    given_back = await app.store.job(job.id)
    assert (ran, given_back.state, given_back.attempts) == ([], State.PENDING, 0)
    results = [event.type for event in await app.store.events(Cursor(), 100) if event.job_id == job.id]
    assert results == [EventType.RELEASED]
    app.store.claim = claim  # type: ignore[method-assign]
    async with run_worker(app):
        assert (await wait_for_end(app, job)).attempts == 1


@pytest.mark.parametrize("limit", [None, 60])
async def test_handler_that_succeeds_when_cancelled_is_completed(app: Postino, limit: float | None) -> None:
    began = asyncio.Event()

    @app.handler("work", time_limit=limit)
    async def work() -> None:
        began.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    async with run_worker(app, drain=0.05):
        job = await app.enqueue("work")
        await began.wait()
    assert (await app.store.job(job.id)).state is State.COMPLETED
