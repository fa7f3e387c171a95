"""A job past its deadline is taken from its worker, even if the worker is alive."""

from dataclasses import replace

import pytest

from postino.rules import settlement
from postino.rules.time_limits import TimeLimit
from postino.values.job import Job, State
from postino.values.outcome import Done
from tests.contract.harness import StoreHarness

LIMITS = (TimeLimit(300.0, channel="slow"), TimeLimit(20.0, type="report"), TimeLimit(100.0))
GRACE = 10.0


async def take(harness: StoreHarness) -> Job:
    order = replace(await harness.order(), limits=LIMITS, grace=GRACE)
    (job,) = await harness.store.claim(order)
    return job


@pytest.mark.parametrize("lane", [{}, {"account": "acme"}])
@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"type": "other"}, 100),
        ({}, 20),
        ({"channel": "slow"}, 300),
        ({"channel": "slow", "time_limit": 5.0}, 5),
    ],
)
async def test_most_specific_time_limit_sets_the_deadline(
    harness: StoreHarness, fields: dict[str, object], limit: int, lane: dict[str, str]
) -> None:
    await harness.put(**fields, **lane)
    job = await take(harness)
    harness.clock.turn(seconds=limit + GRACE - 1)
    assert not (await harness.store.poll("w1", heartbeat=True)).orphaned
    assert await harness.store.rescue({}, settlement.rescue_job) == []
    harness.clock.turn(seconds=2)
    assert (await harness.store.poll("w1", heartbeat=True)).orphaned
    (ending,) = await harness.store.rescue({}, settlement.rescue_job)
    assert ending.job == job
    assert await harness.state(job) is State.PENDING
    assert not await harness.end(job, Done()), "its worker lost it"
    (line,) = await harness.store.attempts(job.id)
    assert line.message == "The deadline passed before the worker ended the job."


async def test_job_without_a_limit_has_no_deadline(harness: StoreHarness, running_job: Job) -> None:
    harness.clock.turn(days=400)
    assert await harness.store.rescue({}, settlement.rescue_job) == []


async def test_finished_job_has_no_deadline(harness: StoreHarness) -> None:
    await harness.put()
    job = await take(harness)
    assert await harness.settle(job, settlement.release_job(job, harness.clock.now))
    await harness.take()
    harness.clock.turn(seconds=1000)
    assert await harness.store.rescue({}, settlement.rescue_job) == []


async def test_overdue_job_behind_a_suspect_is_rescued_but_not_blamed(harness: StoreHarness) -> None:
    await harness.put_many(2)
    await harness.take()
    await harness.kill("w1")
    await harness.hire("w2")
    order = replace(await harness.order(worker="w2"), limits=LIMITS, grace=GRACE)
    running, waiting = await harness.store.claim(order)
    await harness.store.mark_suspect("w2", running.id)
    harness.clock.turn(seconds=31)
    await harness.store.rescue({}, settlement.rescue_job)
    assert [(await harness.store.job(job.id)).rescues for job in (running, waiting)] == [2, 1]
