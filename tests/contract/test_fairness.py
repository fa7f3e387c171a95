"""Brands take turns: another brand's job takes the next free slot, whatever the backlog of the first."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from postino.rules.gates import FOREVER
from postino.values.gate import Scope
from postino.values.job import Job, Queue
from postino.values.outcome import Defer, Done
from tests.contract.harness import ME, StoreHarness, ids, new
from tests.contract.sample_posts import create, make_spec

MANY = 2500  # lanes: more than one claim applies


async def fill(harness: StoreHarness, brand: str | None, lanes: int) -> None:
    await harness.store.enqueue([new(account=f"{brand}{number}", brand=brand) for number in range(lanes)])


def brands(jobs: list[Job]) -> Counter[str | None]:
    return Counter(job.brand for job in jobs)


@pytest.mark.parametrize("lanes", [20, 200])
async def test_brand_with_one_due_lane_gets_the_next_slot_beside_a_backlog(harness: StoreHarness, lanes: int) -> None:
    await fill(harness, "acme", lanes)
    first, *_ = await harness.take(5)
    harness.clock.turn(minutes=10)
    await fill(harness, "bolt", 1)
    assert await harness.end(first, Done())
    assert brands(await harness.take(1)) == {"bolt": 1}
    assert brands(await harness.take(1)) == {"acme": 1}


async def test_brands_with_backlogs_take_turns(harness: StoreHarness) -> None:
    for brand in ("acme", "bolt", "cora"):
        await fill(harness, brand, 5)
    served = []
    for _ in range(9):
        harness.clock.turn(seconds=1)
        (job,) = await harness.take(1)
        served.append(job.brand)
    assert served == ["acme", "bolt", "cora"] * 3


async def test_jobs_without_a_brand_take_turns_like_one_brand(harness: StoreHarness) -> None:
    await fill(harness, None, 10)
    await fill(harness, "acme", 10)
    served = []
    for _ in range(6):
        harness.clock.turn(seconds=1)
        (job,) = await harness.take(1)
        served.append(job.brand)
    assert served == [None, "acme"] * 3


async def test_free_slots_are_divided_evenly_among_brands(harness: StoreHarness) -> None:
    await fill(harness, "acme", 100)
    await fill(harness, "bolt", 1)
    await fill(harness, "cora", 2)
    assert brands(await harness.take(9)) == {"acme": 6, "bolt": 1, "cora": 2}


@pytest.mark.parametrize("account", [True, False])
async def test_one_brand_never_holds_all_slots_of_a_channel(harness: StoreHarness, account: bool) -> None:
    await harness.store.set_cap("reports", 5, ME)
    for number in range(20):
        await harness.put(account=f"a{number}" if account else None, brand="acme")
    held = await harness.take()
    assert brands(held) == {"acme": 4}
    assert await harness.take() == []
    await fill(harness, "bolt", 3)
    for brand in ("bolt", "acme", "bolt"):  # each in its turn, and one more is always free for the other
        harness.clock.turn(seconds=1)
        assert brands(await harness.take()) == {brand: 1}
        assert await harness.end(held.pop(), Done())


async def test_single_slot_of_a_channel_is_open_to_every_brand(harness: StoreHarness) -> None:
    await harness.store.set_cap("reports", 1, ME)
    await fill(harness, "acme", 3)
    assert brands(await harness.take()) == {"acme": 1}
    assert await harness.take() == []


async def test_no_slot_is_reserved_without_brands(harness: StoreHarness) -> None:
    await harness.store.set_cap("reports", 5, ME)
    await fill(harness, None, 20)
    assert len(await harness.take()) == 5


@pytest.mark.parametrize("kind", ["ignores blackouts", "is urgent"])
async def test_what_goes_first_leaves_half_the_slots_to_other_brands(harness: StoreHarness, kind: str) -> None:
    await harness.store.set_cap("reports", 6, ME)
    for number in range(20):
        await put_first(harness, kind, f"a{number}", "acme")
    await fill(harness, "bolt", 3)
    assert brands(await harness.take()) == {"acme": 3, "bolt": 3}


@pytest.mark.parametrize("kind", ["ignores blackouts", "is urgent"])
async def test_what_goes_first_gets_the_slots_that_nobody_else_needs(harness: StoreHarness, kind: str) -> None:
    await harness.store.set_cap("reports", 6, ME)
    for number in range(20):
        await put_first(harness, kind, f"a{number}", "acme")
    assert brands(await harness.take()) == {"acme": 5}
    assert await harness.take() == []
    await put_first(harness, kind, "b", "bolt")
    assert brands(await harness.take()) == {"bolt": 1}


async def test_started_jobs_of_one_brand_leave_half_the_slots_to_other_brands(harness: StoreHarness) -> None:
    await fill(harness, "acme", 8)
    for job in await harness.take():
        await harness.intend(job)
        await harness.accept(job, f"remote of {job.id}")
        await harness.end(job, Defer(harness.clock.later(minutes=1), "not ready"))
    await harness.store.set_cap("reports", 4, ME)
    harness.clock.turn(hours=1)
    await fill(harness, "bolt", 1)
    await fill(harness, "cora", 1)
    assert brands(await harness.take()) == {"acme": 2, "bolt": 1, "cora": 1}


async def put_first(harness: StoreHarness, kind: str, account: str, brand: str) -> None:
    """Queue a job that goes before the default queue."""
    if kind == "is urgent":
        await harness.put(account=account, brand=brand, queue=Queue.HIGH)
    else:
        await create(
            harness.store,
            make_spec(account, type="report", channel="reports", brand=brand, ignore_blackouts=True),
        )


async def test_concurrent_claims_never_give_one_brand_all_slots(harness: StoreHarness) -> None:
    await harness.store.set_cap("reports", 5, ME)
    await fill(harness, "acme", 30)
    stores = [harness.store, *[await harness.open_another_store() for _ in range(2)]]
    for _ in range(5):
        claims = await asyncio.gather(*(harness.take(store=stores[turn % 3]) for turn in range(9)))
        held = [job for claim in claims for job in claim]
        assert brands(held) == {"acme": 4}
        for job in held:
            assert await harness.end(job, Done())


@pytest.mark.slow
async def test_pause_and_resume_of_a_brand_with_thousands_of_lanes(
    harness: StoreHarness,
) -> None:
    await fill(harness, "acme", MANY)
    while (await harness.store.poll("w1")).hinted:
        assert await harness.take(0) == []
    await harness.store.pause(Scope.BRAND, "acme", ME)
    other = await harness.put(account="bolt", brand="bolt")
    assert ids(await harness.take(10)) == {other.id}
    while (poll := await harness.store.poll("w1")).hinted:
        assert await harness.take(10) == []
    assert {head.due_at for head in poll.heads} == {FOREVER}
    await harness.store.resume(Scope.BRAND, "acme", ME)
    assert brands(await harness.take(10)) == {"acme": 10}
    while (await harness.store.poll("w1")).hinted:
        assert await harness.take(0) == []
    assert harness.database.sql("SELECT count(*) FROM {lane_due} WHERE due_at < '9999-01-01'") == [(MANY - 10,)]
