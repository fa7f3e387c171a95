"""A job past its deadline is taken from its worker, however alive that one is."""

from dataclasses import replace

import pytest

from postino.rules import settlement
from postino.values.job import Job, State
from postino.values.outcome import Done
from tests.contract.desk import Desk

LIMITS = {"": 100.0, "type report": 20.0, "channel slow": 300.0}
GRACE = 10.0


async def take(desk: Desk) -> Job:
    order = replace(await desk.order(), limits=LIMITS, grace=GRACE)
    (job,) = await desk.store.claim(order)
    return job


@pytest.mark.parametrize("lane", [{}, {"account": "acme"}])
@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ({"type": "other"}, 100),
        ({}, 20),
        ({"channel": "slow"}, 300),
        ({"channel": "slow", "time_limit": 5.0}, 5),
    ],
)
async def test_the_strongest_word_sets_the_deadline(
    desk: Desk, said: dict[str, object], limit: int, lane: dict[str, str]
) -> None:
    await desk.put(**said, **lane)
    job = await take(desk)
    desk.clock.turn(seconds=limit + GRACE - 1)
    assert not (await desk.store.poll("w1", heartbeat=True)).orphaned
    assert await desk.store.rescue({}, settlement.rescue_job) == []
    desk.clock.turn(seconds=2)
    assert (await desk.store.poll("w1", heartbeat=True)).orphaned
    (ending,) = await desk.store.rescue({}, settlement.rescue_job)
    assert ending.job == job
    assert await desk.state(job) is State.PENDING
    assert not await desk.end(job, Done()), "its worker lost it"
    (line,) = await desk.store.attempts(job.id)
    assert line.message == "Its deadline passed before its worker ended it."


async def test_a_job_without_a_limit_is_its_workers_as_long_as_that_lives(desk: Desk, running_job: Job) -> None:
    desk.clock.turn(days=400)
    assert await desk.store.rescue({}, settlement.rescue_job) == []


async def test_a_job_that_ended_in_time_has_no_deadline_any_more(desk: Desk) -> None:
    await desk.put()
    job = await take(desk)
    assert await desk.settle(job, settlement.release_job(job, desk.clock.now))
    await desk.take()
    desk.clock.turn(seconds=1000)
    assert await desk.store.rescue({}, settlement.rescue_job) == []


async def test_one_that_waits_for_its_turn_behind_a_suspect_is_taken_but_not_blamed(desk: Desk) -> None:
    await desk.put_many(2)
    await desk.take()
    await desk.kill("w1")
    await desk.hire("w2")
    order = replace(await desk.order(worker="w2"), limits=LIMITS, grace=GRACE)
    running, waiting = await desk.store.claim(order)
    await desk.store.mark_suspect("w2", running.id)
    desk.clock.turn(seconds=31)
    await desk.store.rescue({}, settlement.rescue_job)
    assert [(await desk.store.job(job.id)).rescues for job in (running, waiting)] == [2, 1]
