"""Lanes: an account runs one job at a time and holds up no other account."""

from __future__ import annotations

import asyncio
from datetime import time
from uuid import uuid4

import pytest

from postino.rules.blackout import Blackout
from postino.values.gate import Scope
from postino.values.job import Queue, State
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry, Unknown
from tests.contract.harness import ME, StoreHarness, ids


async def test_an_account_runs_one_job_at_a_time(harness: StoreHarness) -> None:
    await harness.put_many(3, account="acme")
    for left in (2, 1, 0):
        (job,) = await harness.take()
        assert await harness.take() == [], f"{left} jobs left"
        assert await harness.end(job, Done())
    assert await harness.take() == []


async def test_an_account_on_two_channels_has_two_lanes(harness: StoreHarness) -> None:
    await harness.put_many(2, account="acme", channel="a")
    await harness.put_many(2, account="acme", channel="b")
    assert sorted(job.channel for job in await harness.take()) == ["a", "b"]


async def test_an_account_runs_one_job_at_a_time_across_queues(harness: StoreHarness) -> None:
    await harness.put(account="acme", queue=Queue.LOW)
    high = await harness.put(account="acme", queue=Queue.HIGH)
    await harness.put(account="acme", queue=Queue.DEFAULT)
    assert ids(await harness.take()) == {high.id}


async def test_concurrent_claimers_never_run_two_jobs_of_an_account(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    jobs = [await harness.put(account=f"acme{number % 4}") for number in range(24)]
    done = 0
    while done < len(jobs):
        claims = await asyncio.gather(*(harness.take(store=stores[turn % 3]) for turn in range(9)))
        claimed = [job for claim in claims for job in claim]
        assert claimed
        assert len({job.account for job in claimed}) == len(claimed)
        for job in claimed:
            assert await harness.end(job, Done())
        done += len(claimed)


@pytest.mark.parametrize("outcome", [Done(), Reject("no"), Unknown("?"), Retry("busy")])
async def test_every_settlement_frees_the_lane(harness: StoreHarness, outcome: Outcome) -> None:
    first = await harness.run(outcome, account="acme")
    second = await harness.put(account="acme")
    assert ids(await harness.take()) == {second.id}
    assert await harness.state(first) is not State.RUNNING


async def test_deferred_job_lets_the_next_of_its_lane_run(harness: StoreHarness) -> None:
    first = await harness.put(account="acme")
    harness.clock.turn(seconds=1)
    second = await harness.put(account="acme")
    (claimed,) = await harness.take()
    assert claimed.id == first.id
    assert await harness.end(claimed, Defer(harness.clock.later(hours=1), "limit"))
    assert ids(await harness.take()) == {second.id}


async def test_a_waiting_lane_is_claimed_together_with_one_that_was_just_hinted_at(harness: StoreHarness) -> None:
    await harness.put_many(2, account="a")
    await harness.put_many(2, account="b")
    assert len(await harness.take(1)) == 1
    await harness.put(account="c")
    assert len(await harness.take(10)) == 2


async def test_brand_lane_runs_many_jobs_at_once(harness: StoreHarness) -> None:
    jobs = await harness.put_many(5, brand="shoes")
    assert ids(await harness.take()) == ids(jobs)


async def test_a_brands_lane_goes_on_while_new_jobs_arrive_in_it(harness: StoreHarness) -> None:
    await harness.put_many(5, brand="shoes")
    assert len(await harness.take(1)) == 1
    await harness.put_many(2, brand="shoes")
    assert len(await harness.take(2)) == 2
    await harness.put(brand="hats")
    assert {job.brand for job in await harness.take(3)} == {"shoes", "hats"}
    await harness.take()
    assert harness.database.sql("SELECT count(*) FROM {jobs} WHERE state = 'running'") == [(8,)]


async def test_brand_and_account_lanes_of_a_channel_are_claimed_side_by_side(harness: StoreHarness) -> None:
    await harness.put_many(3, brand="shoes")
    await harness.put_many(3, brand="shoes", account="acme")
    await harness.put_many(3)
    claimed = await harness.take()
    assert sorted(job.lane or "" for job in claimed) == ["", "", "", "#shoes", "#shoes", "#shoes", "@acme"]


async def test_a_job_moved_to_an_earlier_time_wakes_its_lane(harness: StoreHarness) -> None:
    job = await harness.put(account="acme", run_at=harness.clock.later(hours=5))
    assert await harness.take() == []
    await harness.store.reschedule_job(job.id, harness.clock.later(hours=1), ME)
    harness.clock.turn(hours=1)
    assert ids(await harness.take()) == {job.id}


async def test_a_job_moved_to_a_later_time_does_not_hold_up_its_lane(harness: StoreHarness) -> None:
    job = await harness.put(account="acme", run_at=harness.clock.later(minutes=1))
    other = await harness.put(account="acme", run_at=harness.clock.later(minutes=2))
    assert await harness.take() == []
    harness.clock.turn(minutes=5)
    await harness.store.reschedule_job(job.id, harness.clock.later(hours=1), ME)
    assert ids(await harness.take()) == {other.id}


async def test_a_cancelled_head_does_not_hold_up_its_lane(harness: StoreHarness) -> None:
    head = await harness.put(account="acme", run_at=harness.clock.later(minutes=1))
    other = await harness.put(account="acme", run_at=harness.clock.later(minutes=2))
    assert await harness.take() == []
    harness.clock.turn(minutes=5)
    await harness.store.cancel_job(head.id, ME)
    assert ids(await harness.take()) == {other.id}


async def test_a_replayed_job_wakes_its_lane(harness: StoreHarness) -> None:
    job = await harness.run(Reject("no"), account="acme", brand="shoes")
    await harness.store.replay_dead_letter(job.id, None, True, ME)
    assert ids(await harness.take()) == {job.id}


async def test_the_database_itself_refuses_a_second_running_job_of_an_account(harness: StoreHarness) -> None:
    await harness.put_many(2, account="acme")
    (running,) = await harness.take()
    with pytest.raises(harness.database.refusal):
        harness.database.sql(
            "UPDATE {jobs} SET state = 'running', claimed_by = 'w1', claimed_at = created_at,"
            f" token = '{running.token}' WHERE state = 'pending'"
        )


async def test_paused_brand_holds_only_its_own_jobs_of_a_lane(harness: StoreHarness) -> None:
    held = await harness.put(account="mixed", brand="red")
    harness.clock.turn(seconds=1)
    behind = await harness.put(account="mixed", brand="blue")
    await harness.store.pause(Scope.BRAND, "red", ME)
    (claimed,) = await harness.take()
    assert claimed.id == behind.id
    assert await harness.end(claimed, Done())
    assert await harness.take() == []
    await harness.store.resume(Scope.BRAND, "red", ME)
    assert ids(await harness.take()) == {held.id}


async def test_blackout_of_a_brand_holds_only_its_own_jobs_of_a_lane(harness: StoreHarness) -> None:
    """It begins while the lane is due."""
    await harness.put(account="mixed", brand="red")
    behind = await harness.put(account="mixed", brand="blue")
    assert await harness.take(free=0) == []
    always = Blackout(id=uuid4(), scope=Scope.BRAND, name="red", start=time(0), end=time(0), timezone="UTC")
    await harness.store.add_blackout(always, ME)
    assert ids(await harness.take()) == {behind.id}


async def test_brand_that_uses_its_slots_holds_only_its_own_jobs_of_a_lane(harness: StoreHarness) -> None:
    await harness.store.set_cap("reports", 2, ME)
    await harness.put(account="other", brand="red")
    assert len(await harness.take()) == 1
    await harness.put(account="mixed", brand="red")
    harness.clock.turn(seconds=1)
    behind = await harness.put(account="mixed", brand="blue")
    assert ids(await harness.take()) == {behind.id}


@pytest.mark.parametrize("brands", [("red", "blue"), ("blue", "red"), (None, "red"), ("red", None)])
async def test_open_brands_share_a_lane_in_the_order_of_their_jobs(
    harness: StoreHarness, brands: tuple[str | None, str | None]
) -> None:
    jobs = []
    for brand in brands:
        jobs.append(await harness.put(account="mixed", brand=brand))
        harness.clock.turn(seconds=1)
    for job in jobs:
        (claimed,) = await harness.take()
        assert claimed.id == job.id
        assert await harness.end(claimed, Done())
