"""Rescue: jobs of dead workers are settled once, and a worker that comes back holds nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from postino.rules import settlement
from postino.rules.settlement import DeadLetterCause
from postino.stores.postgres import Postgres
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.outcome import Done
from tests.contract.databases import only_postgres
from tests.contract.harness import ME, StoreHarness, ids, remove_claim


@pytest.mark.parametrize("lane", [{}, {"account": "acme"}, {"brand": "shoes"}])
async def test_an_unsent_job_of_a_dead_worker_runs_elsewhere_with_its_attempt_refunded(
    harness: StoreHarness, lane: dict[str, str]
) -> None:
    job = await harness.put(**lane)
    (lost,) = await harness.take()
    rescued_at = harness.clock.turn(seconds=25)
    (ending,) = await harness.kill("w1")
    assert ending.job == lost
    rescued = await harness.store.job(job.id)
    assert (rescued.state, rescued.attempts, rescued.rescues) == (State.PENDING, 0, 1)
    assert (rescued.run_at, rescued.claimed_by, rescued.token) == (rescued_at, None, None)
    assert await harness.list_event_types(job.id) == [EventType.RESCUED]
    await harness.hire("w2")
    (again,) = await harness.take(worker="w2")
    assert (again.id, again.attempts, again.claimed_by) == (job.id, 1, "w2")


async def test_rescue_is_an_attempt_in_the_history(harness: StoreHarness, running_job: Job) -> None:
    await harness.kill("w1")
    (line,) = await harness.store.attempts(running_job.id)
    assert (line.outcome, line.worker, line.started_at) == ("rescued", "w1", running_job.claimed_at)


async def test_worker_with_a_new_heartbeat_is_not_removed(harness: StoreHarness, running_job: Job) -> None:
    result = (await harness.store.poll(None, heartbeat=True)).heartbeats
    await harness.store.poll("w1", heartbeat=True)
    assert await harness.store.rescue(result, settlement.rescue_job) == []
    assert await harness.store.job(running_job.id) == running_job
    assert [worker.id for worker in await harness.store.workers()] == ["w1"]
    assert await harness.end(running_job, Done())


async def test_only_jobs_of_dead_workers_are_rescued(harness: StoreHarness) -> None:
    await harness.hire("w2")
    await harness.put_many(4)
    lost, held = await harness.take(2), await harness.take(2, worker="w2")
    assert ids([ending.job for ending in await harness.kill("w1")]) == ids(lost)
    assert [await harness.state(job) for job in held] == [State.RUNNING, State.RUNNING]


async def test_removed_worker_claims_nothing(harness: StoreHarness, running_job: Job) -> None:
    order = await harness.order()
    await harness.kill("w1")
    assert await harness.store.claim(order) == []
    assert await harness.take() == []
    assert "w1" not in (await harness.store.poll("w1", heartbeat=True)).heartbeats


async def test_jobs_of_an_unregistered_worker_are_rescued(harness: StoreHarness, running_job: Job) -> None:
    await harness.store.unregister_worker("w1")
    (ending,) = await harness.store.rescue({}, settlement.rescue_job)
    assert ending.job == running_job


async def test_job_in_doubt_of_a_dead_worker_is_claimed_only_for_a_lookup(
    harness: StoreHarness, running_job: Job
) -> None:
    await harness.intend(running_job, send_within=10, lookup_delay=50)
    (ending,) = await harness.kill("w1")
    job = await harness.store.job(running_job.id)
    assert ending.job.may_be_live
    assert (job.state, job.may_be_live, job.attempts) == (State.UNCERTAIN, True, 1)
    assert job.run_at is not None
    assert abs(job.run_at - harness.clock.later(seconds=60)) < timedelta(milliseconds=1)
    assert job.last_error is not None
    assert await harness.list_event_types(job.id) == [EventType.UNCERTAIN]
    await harness.hire("w2")
    harness.clock.turn(seconds=59)
    assert await harness.take(worker="w2") == []
    harness.clock.turn(seconds=2)
    (again,) = await harness.take(worker="w2")
    assert (again.id, again.lookup_at, again.attempts) == (job.id, job.lookup_at, 2)


async def test_second_death_counts_only_against_the_running_job(harness: StoreHarness) -> None:
    guilty, innocent = await harness.put(), await harness.put()
    await harness.take()
    await harness.kill()
    await harness.hire("w2")
    await harness.take(worker="w2")
    await harness.store.mark_suspect("w2", guilty.id)
    poll = await harness.store.poll("w2", heartbeat=True)
    await harness.store.rescue({"w2": poll.heartbeats["w2"]}, settlement.rescue_job)
    assert (await harness.store.job(guilty.id)).rescues == 2
    assert (await harness.store.job(innocent.id)).rescues == 1


async def test_a_job_that_kills_three_workers_fails_as_worker_killer(harness: StoreHarness, due_job: Job) -> None:
    for life in range(3):
        assert await harness.state(due_job) is State.PENDING
        harness.clock.turn(minutes=1)
        worker = await harness.hire(f"victim{life}")
        assert len(await harness.take(worker=worker)) == 1
        await harness.store.mark_suspect(worker, due_job.id)
        await harness.kill(worker)
    assert await harness.state(due_job) is State.FAILED
    letter = await harness.store.dead_letter(due_job.id)
    assert (letter.cause, letter.error) == (
        DeadLetterCause.WORKER_KILLER,
        (await harness.store.job(due_job.id)).last_error,
    )
    assert [line.worker for line in letter.history] == ["victim0", "victim1", "victim2"]
    assert await harness.list_event_types(due_job.id) == [EventType.RESCUED, EventType.RESCUED, EventType.FAILED]


@pytest.mark.parametrize("message", ["silent", "gone"])
async def test_concurrent_rescues_settle_each_job_once(harness: StoreHarness, message: str) -> None:
    jobs = await harness.put_many(20)
    await harness.take()
    heartbeats = (await harness.store.poll("observer", heartbeat=True)).heartbeats
    if message == "gone":
        await harness.store.unregister_worker("w1")
    others = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    rescues = await asyncio.gather(*(store.rescue(heartbeats, settlement.rescue_job) for store in others))
    rescued = [ending.job.id for endings in rescues for ending in endings]
    assert sorted(rescued) == sorted(ids(jobs))
    assert {(await harness.store.job(job.id)).rescues for job in jobs} == {1}


@only_postgres
async def test_job_locked_by_another_rescue_is_skipped(harness: StoreHarness) -> None:
    assert isinstance(harness.store.driver, Postgres)
    await harness.put_many(2)
    taken, free = await harness.take()
    await harness.store.unregister_worker("w1")
    async with harness.store.driver.open_connection_outside_pool() as observer:
        await observer.execute("SELECT FROM postino.jobs WHERE id = $1 FOR UPDATE", taken.id)
        (ending,) = await harness.store.rescue({}, settlement.rescue_job)
        assert ending.job.id == free.id
    (ending,) = await harness.store.rescue({}, settlement.rescue_job)
    assert ending.job.id == taken.id


@only_postgres
async def test_worker_frozen_in_its_rescue_stops_no_other_rescue(harness: StoreHarness) -> None:
    assert isinstance(harness.store.driver, Postgres)
    await harness.hire("w2")
    await harness.put_many(2)
    [of_w1], [of_w2] = await harness.take(1), await harness.take(1, worker="w2")
    async with harness.store.driver.open_connection_outside_pool() as frozen:
        await frozen.execute("DELETE FROM postino.workers WHERE id = 'w1'")
        dead = (await harness.store.poll(None, heartbeat=True)).heartbeats
        async with asyncio.timeout(harness.store.driver.statement_seconds / 2):
            [ending] = await harness.store.rescue(dead, settlement.rescue_job)
        assert ending.job == of_w2
        await frozen.execute("ROLLBACK")  # as if the server ended the frozen worker's session
    [ending] = await harness.store.rescue(dead, settlement.rescue_job)
    assert ending.job == of_w1


async def test_rescue_frees_a_slot_under_a_cap(harness: StoreHarness) -> None:
    await harness.store.set_cap("reports", 1, ME)
    await harness.put_many(2)
    await harness.take()
    await harness.hire("w2")
    assert await harness.take(worker="w2") == []
    await harness.kill("w1")
    assert len(await harness.take(worker="w2")) == 1


async def test_rescued_job_is_otherwise_unchanged(harness: StoreHarness) -> None:
    job = await harness.put(payload=b"\x00\xff", key="k", user_id="u", account="acme", max_attempts=2)
    await harness.take()
    await harness.kill("w1")
    await harness.hire("w2")
    (again,) = await harness.take(worker="w2")
    assert again.rescues == 1
    assert remove_claim(again) == remove_claim(await harness.store.job(job.id))
    assert (again.payload, again.idempotency_key, again.user_id) == (job.payload, "k", "u")
