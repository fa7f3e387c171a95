"""The line of an account: one job at a time, and nobody else's business."""

from __future__ import annotations

import asyncio

import pytest

from postino.values.gate import Scope
from postino.values.job import Queue, State
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry, Unknown
from tests.contract.desk import ME, Desk, ids


async def test_an_account_runs_one_job_at_a_time(desk: Desk) -> None:
    await desk.put_many(3, account="acme")
    for left in (2, 1, 0):
        (job,) = await desk.take()
        assert await desk.take() == [], f"{left} jobs left"
        assert await desk.end(job, Done())
    assert await desk.take() == []


async def test_an_account_on_two_channels_has_two_lanes(desk: Desk) -> None:
    await desk.put_many(2, account="acme", channel="a")
    await desk.put_many(2, account="acme", channel="b")
    assert sorted(job.channel for job in await desk.take()) == ["a", "b"]


async def test_an_account_runs_one_job_at_a_time_across_queues(desk: Desk) -> None:
    await desk.put(account="acme", queue=Queue.LOW)
    high = await desk.put(account="acme", queue=Queue.HIGH)
    await desk.put(account="acme", queue=Queue.DEFAULT)
    assert ids(await desk.take()) == {high.id}


async def test_concurrent_claimers_never_run_two_jobs_of_an_account(desk: Desk) -> None:
    stores = [desk.store, await desk.another_store(), await desk.another_store()]
    jobs = [await desk.put(account=f"acme{number % 4}") for number in range(24)]
    done = 0
    while done < len(jobs):
        claims = await asyncio.gather(*(desk.take(store=stores[turn % 3]) for turn in range(9)))
        claimed = [job for claim in claims for job in claim]
        assert claimed
        assert len({job.account for job in claimed}) == len(claimed)
        for job in claimed:
            assert await desk.end(job, Done())
        done += len(claimed)


@pytest.mark.parametrize("outcome", [Done(), Reject("no"), Unknown("?"), Retry("busy")])
async def test_every_ending_frees_the_lane(desk: Desk, outcome: Outcome) -> None:
    first = await desk.run(outcome, account="acme")
    second = await desk.put(account="acme")
    assert ids(await desk.take()) == {second.id}
    assert await desk.state(first) is not State.RUNNING


async def test_a_job_put_off_lets_the_next_of_its_lane_pass(desk: Desk) -> None:
    first = await desk.put(account="acme")
    desk.clock.turn(seconds=1)
    second = await desk.put(account="acme")
    (claimed,) = await desk.take()
    assert claimed.id == first.id
    assert await desk.end(claimed, Defer(desk.clock.later(hours=1), "limit"))
    assert ids(await desk.take()) == {second.id}


async def test_a_waiting_lane_is_claimed_together_with_one_that_was_just_hinted_at(desk: Desk) -> None:
    await desk.put_many(2, account="a")
    await desk.put_many(2, account="b")
    assert len(await desk.take(1)) == 1
    await desk.put(account="c")
    assert len(await desk.take(10)) == 2


async def test_a_brands_lane_has_no_width(desk: Desk) -> None:
    jobs = await desk.put_many(5, brand="shoes")
    assert ids(await desk.take()) == ids(jobs)


async def test_a_brands_lane_goes_on_while_new_jobs_arrive_in_it(desk: Desk) -> None:
    await desk.put_many(5, brand="shoes")
    assert len(await desk.take(1)) == 1
    await desk.put_many(2, brand="shoes")
    assert len(await desk.take(2)) == 2
    await desk.put(brand="hats")
    assert {job.brand for job in await desk.take(3)} == {"shoes", "hats"}
    await desk.take()
    assert desk.database.sql("SELECT count(*) FROM {jobs} WHERE state = 'running'") == [(8,)]


async def test_brand_and_account_lanes_of_a_channel_are_claimed_side_by_side(desk: Desk) -> None:
    await desk.put_many(3, brand="shoes")
    await desk.put_many(3, brand="shoes", account="acme")
    await desk.put_many(3)
    claimed = await desk.take()
    assert sorted(job.lane or "" for job in claimed) == ["", "", "", "#shoes", "#shoes", "#shoes", "@acme"]


async def test_a_job_moved_to_an_earlier_time_wakes_its_lane(desk: Desk) -> None:
    job = await desk.put(account="acme", run_at=desk.clock.later(hours=5))
    assert await desk.take() == []
    await desk.store.reschedule_job(job.id, desk.clock.later(hours=1), ME)
    desk.clock.turn(hours=1)
    assert ids(await desk.take()) == {job.id}


async def test_a_job_moved_to_a_later_time_does_not_hold_up_its_lane(desk: Desk) -> None:
    job = await desk.put(account="acme", run_at=desk.clock.later(minutes=1))
    other = await desk.put(account="acme", run_at=desk.clock.later(minutes=2))
    assert await desk.take() == []
    desk.clock.turn(minutes=5)
    await desk.store.reschedule_job(job.id, desk.clock.later(hours=1), ME)
    assert ids(await desk.take()) == {other.id}


async def test_a_cancelled_head_does_not_hold_up_its_lane(desk: Desk) -> None:
    head = await desk.put(account="acme", run_at=desk.clock.later(minutes=1))
    other = await desk.put(account="acme", run_at=desk.clock.later(minutes=2))
    assert await desk.take() == []
    desk.clock.turn(minutes=5)
    await desk.store.cancel_job(head.id, ME)
    assert ids(await desk.take()) == {other.id}


async def test_a_replayed_job_wakes_its_lane(desk: Desk) -> None:
    job = await desk.run(Reject("no"), account="acme", brand="shoes")
    await desk.store.replay_dead_letter(job.id, None, True, ME)
    assert ids(await desk.take()) == {job.id}


async def test_the_database_itself_refuses_a_second_running_job_of_an_account(desk: Desk) -> None:
    await desk.put_many(2, account="acme")
    (running,) = await desk.take()
    with pytest.raises(desk.database.refusal):
        desk.database.sql(
            "UPDATE {jobs} SET state = 'running', claimed_by = 'w1', claimed_at = created_at,"
            f" token = '{running.token}' WHERE state = 'pending'"
        )


async def test_a_lane_whose_head_is_of_a_paused_brand_holds_up_no_other_account(desk: Desk) -> None:
    await desk.store.pause(Scope.BRAND, "red", ME)
    held = await desk.put(account="mixed", brand="red")
    desk.clock.turn(seconds=1)
    behind = await desk.put(account="mixed", brand="blue")
    desk.clock.turn(seconds=1)
    other = await desk.put(account="other", brand="blue")
    # The held lane is one skipped row, however often one looks; what waits behind its head keeps its place.
    assert [ids(await desk.take(free=1)) for _ in range(3)] == [{other.id}, set(), set()]
    await desk.store.resume(Scope.BRAND, "red", ME)
    for job in (held, behind):
        (next_one,) = await desk.take(free=1)
        assert next_one.id == job.id
        assert await desk.end(next_one, Done())
