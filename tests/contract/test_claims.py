"""Claims: one winner, never early, queue rank before due time, `low` never starved."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta

import pytest

from postino.stores.records import WorkerInfo
from postino.stores.store import Store
from postino.values.event import EventType
from postino.values.job import Job, Queue, State
from postino.values.outcome import Defer, Done
from tests.contract.harness import POISON, StoreHarness, ids, remove_claim


async def test_a_claim_sets_owner_token_time_and_attempt_and_nothing_else(harness: StoreHarness) -> None:
    job = await harness.put(payload=POISON, key="k", user_id="u", correlation_id="c", max_attempts=2, time_limit=1.5)
    harness.clock.turn(seconds=3)
    order = await harness.order()
    (claimed,) = await harness.store.claim(order)
    assert claimed.state is State.RUNNING
    assert (claimed.claimed_by, claimed.claimed_at, claimed.token) == ("w1", harness.clock(), order.token)
    assert claimed.attempts == 1
    assert remove_claim(claimed) == job
    assert await harness.store.job(job.id) == claimed


async def test_only_one_of_two_claims_wins(harness: StoreHarness, due_job: Job) -> None:
    other = await harness.open_another_store()
    await harness.hire("w2")
    first, second = await harness.order(), await harness.order(worker="w2", store=other)
    claims = await asyncio.gather(harness.store.claim(first), other.claim(second))
    assert sorted(len(claim) for claim in claims) == [0, 1]


@pytest.mark.parametrize("account", [None, "acme"])
async def test_many_claimers_get_each_job_exactly_once(harness: StoreHarness, account: str | None) -> None:
    jobs = [await harness.put(account=account and f"{account}{number}") for number in range(60)]
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    claimed: list[Job] = []
    while batch := await asyncio.gather(*(harness.take(7, store=stores[turn % 3]) for turn in range(6))):
        if not any(batch):
            break
        claimed += [job for jobs in batch for job in jobs]
    assert len(claimed) == len(jobs)
    assert ids(claimed) == ids(jobs)


async def test_a_claimed_job_is_not_claimed_again(harness: StoreHarness, running_job: Job) -> None:
    harness.clock.turn(hours=5)
    assert await harness.take() == []


@pytest.mark.parametrize("lane", [{}, {"account": "acme"}, {"brand": "shoes"}])
async def test_nothing_is_claimed_early(harness: StoreHarness, lane: dict[str, str]) -> None:
    job = await harness.put(run_at=harness.clock.later(hours=1), **lane)
    harness.clock.turn(minutes=59, seconds=59.999)
    assert await harness.take() == []
    harness.clock.turn(milliseconds=1)
    assert ids(await harness.take()) == {job.id}


@pytest.mark.parametrize("lane", [{}, {"account": "acme"}, {"brand": "shoes"}])
async def test_stale_poll_does_not_make_a_job_early(harness: StoreHarness, lane: dict[str, str]) -> None:
    job = await harness.put(**lane)
    assert await harness.end((await harness.take())[0], Defer(harness.clock.later(hours=1), "later"))
    order = await harness.order()
    later = dataclasses.replace(order.poll, now=harness.clock.later(hours=2))
    assert await harness.store.claim(dataclasses.replace(order, poll=later)) == []
    assert await harness.state(job) is State.PENDING


async def test_no_more_are_claimed_than_there_are_free_slots(harness: StoreHarness) -> None:
    await harness.put_many(5, channel="a")
    await harness.put_many(5, channel="b")
    await harness.put_many(5, channel="b", brand="shoes")
    assert len(await harness.take(7)) == 7
    assert len(await harness.take(0)) == 0
    assert len(await harness.take(100)) == 8


async def test_due_time_decides_within_a_channel(harness: StoreHarness) -> None:
    jobs = [await harness.put(run_at=harness.clock.later(minutes=minutes)) for minutes in (30, 10, 20)]
    harness.clock.turn(hours=1)
    taken = [(await harness.take(1))[0].id for _ in jobs]
    assert taken == [jobs[1].id, jobs[2].id, jobs[0].id]


async def test_due_time_decides_within_a_lane(harness: StoreHarness) -> None:
    jobs = [await harness.put(run_at=harness.clock.later(minutes=minutes), account="acme") for minutes in (30, 10, 20)]
    harness.clock.turn(hours=1)
    taken = []
    for _ in jobs:
        (job,) = await harness.take()
        taken.append(job.id)
        assert await harness.end(job, Done())
    assert taken == [jobs[1].id, jobs[2].id, jobs[0].id]


async def test_queue_rank_goes_before_due_time_across_channels_and_lanes(harness: StoreHarness) -> None:
    default = await harness.put(channel="a", queue=Queue.DEFAULT)
    low = await harness.put(channel="b", queue=Queue.LOW)
    harness.clock.turn(seconds=20)
    high = await harness.put(channel="c", queue=Queue.HIGH, account="acme")
    high_bulk = await harness.put(channel="d", queue=Queue.HIGH)
    harness.clock.turn(seconds=20)
    assert ids(await harness.take(2)) == {high.id, high_bulk.id}
    assert ids(await harness.take(1)) == {default.id}
    assert ids(await harness.take(1)) == {low.id}


async def test_the_channels_of_a_queue_share_the_free_slots(harness: StoreHarness) -> None:
    await harness.put_many(20, channel="loud")
    harness.clock.turn(seconds=1)
    quiet = await harness.put_many(2, channel="quiet")
    claimed = await harness.take(6)
    assert len(claimed) <= 6
    assert ids(quiet) < ids(claimed)


@pytest.mark.parametrize(
    ("waited", "low_is_running", "expected"),
    [
        (59, False, [Queue.HIGH, Queue.HIGH, Queue.HIGH]),
        (60, False, [Queue.HIGH, Queue.HIGH, Queue.LOW]),
        (60, True, [Queue.HIGH, Queue.HIGH, Queue.HIGH]),
    ],
)
@pytest.mark.parametrize("account", [None, "acme"])
async def test_low_gets_one_slot_once_it_has_waited_a_minute(
    harness: StoreHarness, account: str | None, waited: int, low_is_running: bool, expected: list[Queue]
) -> None:
    await harness.put_many(2, queue=Queue.LOW, account=account)
    await harness.put_many(5, queue=Queue.HIGH)
    await harness.take(0)  # a claim applies the lanes' hints, so that the poll knows how long they have waited
    harness.clock.turn(seconds=waited)
    claimed = await harness.take(3, low_is_running=low_is_running)
    assert sorted(job.queue for job in claimed) == expected


async def test_low_gets_the_slots_that_other_queues_leave(harness: StoreHarness) -> None:
    await harness.put_many(3, queue=Queue.LOW)
    await harness.put(queue=Queue.HIGH)
    assert len(await harness.take(3)) == 3


async def test_claim_writes_an_event_with_worker_and_job(harness: StoreHarness) -> None:
    jobs = await harness.put_many(2)
    await harness.take()
    (event,) = await harness.events()
    assert event.type == EventType.CLAIMED
    assert event.data["worker"] == "w1"
    assert sorted(event.data["jobs"]) == sorted(str(job.id) for job in jobs)


async def test_empty_claim_writes_no_event(harness: StoreHarness) -> None:
    await harness.put(run_at=harness.clock.later(hours=1))
    await harness.take()
    assert await harness.events() == []


@pytest.mark.parametrize("account", [None, "acme"])
async def test_a_worker_that_is_not_registered_claims_nothing(harness: StoreHarness, account: str | None) -> None:
    job = await harness.put(account=account)
    assert await harness.take(worker="ghost") == []
    assert ids(await harness.take()) == {job.id}


async def test_marks_skip_only_earlier_jobs(harness: StoreHarness) -> None:
    early = await harness.put()
    mark = harness.clock.turn(seconds=10)
    late = await harness.put()
    line = ("reports", "report", Queue.DEFAULT)
    poll = await harness.store.poll("w1", marks={line: mark})
    assert [head.due_at for head in poll.heads] == [late.run_at]
    order = dataclasses.replace(await harness.order(), marks={line: mark})
    assert ids(await harness.store.claim(order)) == {late.id}
    assert ids(await harness.take()) == {early.id}


async def test_poll_returns_the_first_due_time_of_every_line(harness: StoreHarness) -> None:
    due_at = harness.clock.later(hours=1)
    await harness.put(channel="a", run_at=due_at + timedelta(hours=1))
    await harness.put(channel="a", run_at=due_at)
    await harness.put(channel="b", queue=Queue.HIGH, account="acme", run_at=due_at)
    assert (await harness.store.poll("w1")).hinted
    await harness.take()
    poll = await harness.store.poll("w1")
    assert not poll.hinted
    assert poll.now == harness.clock()
    heads = {(head.channel, head.queue, head.due_at, head.lanes) for head in poll.heads}
    assert heads == {("a", Queue.DEFAULT, due_at, False), ("b", Queue.HIGH, due_at, True)}


async def test_poll_counts_a_heartbeat_only_on_request(harness: StoreHarness) -> None:
    await harness.hire("w2")
    assert (await harness.store.poll("w1", heartbeat=True)).heartbeats == {"w1": 1, "w2": 0}
    assert (await harness.store.poll("w1", heartbeat=True)).heartbeats == {"w1": 2, "w2": 0}
    await harness.store.poll("w1")
    assert {worker.id: worker.heartbeats for worker in await harness.store.workers()} == {"w1": 2, "w2": 0}


async def test_poll_does_not_list_an_unregistered_worker(harness: StoreHarness) -> None:
    await harness.store.unregister_worker("w1")
    assert (await harness.store.poll("w1", heartbeat=True)).heartbeats == {}


@pytest.mark.parametrize("worker", ["01a1e0c8-e320-7ff1-8033-7d38302d1d34", "x" * 36])
async def test_worker_id_of_any_form_is_stored_unchanged(store: Store, worker: str) -> None:
    await store.register_worker(WorkerInfo(id=worker, host="here", pid=7))
    (result,) = await store.workers()
    assert (result.id, result.host, result.pid, result.heartbeats) == (worker, "here", 7, 0)
    await store.rescue({worker: 0}, lambda job, now, is_suspect: pytest.fail("there is no job"))
    assert await store.workers() == []
