"""Claims of the types of jobs that a worker handles."""

import pytest

from postino.stores.records import ClaimRequest
from postino.values.job import Job, Queue, new_id
from postino.values.outcome import Done
from tests.contract.harness import StoreHarness, ids

DONE = Done()


async def claim(harness: StoreHarness, *types: str, free: int = 100) -> list[Job]:
    poll = await harness.store.poll("w1", types=types)
    return await harness.store.claim(ClaimRequest(worker="w1", token=new_id(), free=free, poll=poll))


@pytest.mark.parametrize("lane", [{}, {"account": "a"}, {"brand": "b"}])
async def test_claim_takes_only_the_types_of_the_worker(harness: StoreHarness, lane: dict[str, str]) -> None:
    await harness.put(type="y", queue=Queue.HIGH, **lane)
    job = await harness.put(type="x", **lane)
    assert await claim(harness) == []
    assert await claim(harness, "z") == []
    assert ids(await claim(harness, "x", "z")) == {job.id}


async def test_jobs_of_several_types_on_a_channel_run_in_the_order_of_time(harness: StoreHarness) -> None:
    jobs = []
    for number in range(12):
        harness.clock.turn(seconds=1)
        jobs.append(await harness.put(type="xyy"[number % 3], payload=str(number).encode()))
    for first in range(0, 12, 4):
        assert ids(await claim(harness, "x", "y", free=4)) == {job.id for job in jobs[first : first + 4]}


async def test_jobs_of_an_account_run_in_the_order_of_time_whatever_their_types(harness: StoreHarness) -> None:
    jobs = []
    for number in range(6):
        harness.clock.turn(seconds=1)
        jobs.append(await harness.put(type="yx"[number % 2], account="a"))
    for job in jobs:
        [claimed] = await claim(harness, "x", "y")
        assert claimed.id == job.id
        await harness.end(claimed, DONE)


async def test_poll_shows_no_job_of_another_type(harness: StoreHarness) -> None:
    await harness.put(type="y")
    await harness.put(type="y", account="a")
    await claim(harness, "x")
    poll = await harness.store.poll("w1", types=["x"])
    assert (poll.heads, poll.hinted) == ((), False)
