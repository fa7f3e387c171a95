"""Enqueueing through the façade: one job, many jobs, concurrently, and in a caller's transaction."""

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest

from postino import JobSpec, Postino, Queue, State
from postino.engine import store_retry
from postino.engine.job_spec import build_new_job
from postino.errors import StoreUnreachable
from postino.stores.records import EnqueuedJob, JobFilter, NewJob
from tests.engine.conftest import wait_for


async def test_hundred_callers_with_one_key_get_the_same_job(app: Postino) -> None:
    jobs = await asyncio.gather(*(app.enqueue("once", {"n": n}, key="the one") for n in range(100)))
    assert len({job.id for job in jobs}) == 1
    assert {job.payload for job in jobs} == {jobs[0].payload}
    assert len(await app.store.jobs(JobFilter())) == 1


async def test_known_key_returns_the_existing_job(app: Postino) -> None:
    first = await app.enqueue("once", key="k")
    await app.cancel(first.id)
    again = await app.enqueue("once", key="k")
    assert (again.id, again.state) == (first.id, State.CANCELLED)
    assert (await app.enqueue("once", key="k", channel="another")).id != first.id
    assert (await app.enqueue("once", key="k", account="another")).id != first.id


async def test_enqueue_many_is_atomic_and_keeps_order(app: Postino) -> None:
    specs = [JobSpec("t", number, key=f"k{number % 3}") for number in range(6)]
    jobs = await app.enqueue_many(specs)
    assert [job.id for job in jobs[:3]] == [job.id for job in jobs[3:]]
    assert [job.payload for job in jobs[:3]] == [b"0", b"1", b"2"]
    assert len(await app.store.jobs(JobFilter())) == 3


async def test_enqueue_many_accepts_ten_thousand_jobs(app: Postino) -> None:
    jobs = await app.enqueue_many([("t", number) for number in range(10_000)])
    assert len({job.id for job in jobs}) == 10_000
    assert sum(depth.jobs for depth in await app.store.queue_depths()) == 10_000


async def test_handler_sets_the_default_queue_of_its_jobs(app: Postino) -> None:
    app.handler("report", queue="low")(lambda: None)
    assert (await app.enqueue("report")).queue is Queue.LOW
    assert (await app.enqueue("report", queue="high")).queue is Queue.HIGH


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_key_in_an_open_transaction_delays_only_its_own_caller(app: Postino, database_url: str) -> None:
    other = await asyncpg.connect(database_url)
    transaction = other.transaction()
    await transaction.start()
    held = await app.enqueue("t", key="held", connection=other)
    # Together, so that they share a batch with the one that must wait.
    waiting = asyncio.create_task(app.enqueue("t", key="held"))
    free = await asyncio.gather(*(app.enqueue("t", key=f"free {number}") for number in range(50)))
    assert len({job.id for job in free}) == 50
    assert not waiting.done()
    await transaction.commit()
    assert (await waiting).id == held.id
    await other.close()


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_job_in_an_open_transaction_exists_after_its_commit(app: Postino, database_url: str) -> None:
    other = await asyncpg.connect(database_url)
    async with other.transaction():
        job = await app.enqueue("t", connection=other)
        later = await app.enqueue("t")
        poll = await app.store.poll(None)
        assert [head.due_at for head in poll.heads] == [later.run_at]
    await other.close()

    async def first() -> bool:
        return [head.due_at for head in (await app.store.poll(None)).heads] == [job.run_at]

    await wait_for(first)


def test_jobs_without_a_key_have_none() -> None:
    assert build_new_job(JobSpec("t"), Queue.DEFAULT).key is None


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("many", [False, True])
async def test_enqueue_with_a_lost_response_leaves_one_job(
    app: Postino, monkeypatch: pytest.MonkeyPatch, key: str | None, many: bool
) -> None:
    enqueue, lost = app.store.enqueue, 2

    async def enqueue_and_lose(jobs: Sequence[NewJob], **how: Any) -> list[EnqueuedJob]:
        nonlocal lost
        done = await enqueue(jobs, **how)
        lost -= 1
        if lost >= 0:
            raise StoreUnreachable("the answer to COMMIT was lost")
        return done

    monkeypatch.setattr(app.store, "enqueue", enqueue_and_lose)
    monkeypatch.setattr(store_retry, "RETRY_DELAY", 0.01)
    job = (await app.enqueue_many([JobSpec("t", key=key)]))[0] if many else await app.enqueue("t", key=key)
    assert [item.id for item in await app.store.jobs(JobFilter())] == [job.id]


async def test_enqueue_raises_when_the_store_stays_unreachable(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(jobs: Sequence[NewJob], **how: Any) -> list[EnqueuedJob]:
        raise StoreUnreachable("nobody there")

    monkeypatch.setattr(app.store, "enqueue", away)
    monkeypatch.setattr(store_retry, "KEEP_TRYING", 0)
    with pytest.raises(StoreUnreachable, match="nobody there"):
        await app.enqueue("t")
