"""Each brand in its turn: another's job takes the next free slot, whatever the first one's backlog."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from postino.rules.gates import FOREVER
from postino.values.gate import Scope
from postino.values.job import Job
from postino.values.outcome import Done
from tests.contract.desk import ME, Desk, ids, new

MANY = 2500  # lanes: more than one claim folds


async def fill(desk: Desk, brand: str | None, lanes: int) -> None:
    await desk.store.enqueue([new(account=f"{brand}{number}", brand=brand) for number in range(lanes)])


def brands(jobs: list[Job]) -> Counter[str | None]:
    return Counter(job.brand for job in jobs)


@pytest.mark.parametrize("lanes", [20, 200])
async def test_beside_any_number_of_due_lanes_of_one_brand_another_takes_the_next_free_slot(
    desk: Desk, lanes: int
) -> None:
    await fill(desk, "acme", lanes)
    first, *_ = await desk.take(5)
    desk.clock.turn(minutes=10)
    await fill(desk, "bolt", 1)
    assert await desk.end(first, Done())
    assert brands(await desk.take(1)) == {"bolt": 1}
    assert brands(await desk.take(1)) == {"acme": 1}


async def test_brands_with_backlogs_take_turns(desk: Desk) -> None:
    for brand in ("acme", "bolt", "cora"):
        await fill(desk, brand, 5)
    served = []
    for _ in range(9):
        desk.clock.turn(seconds=1)
        (job,) = await desk.take(1)
        served.append(job.brand)
    assert served == ["acme", "bolt", "cora"] * 3


async def test_what_has_no_brand_takes_turns_with_brands_as_one_of_them(desk: Desk) -> None:
    await fill(desk, None, 10)
    await fill(desk, "acme", 10)
    served = []
    for _ in range(6):
        desk.clock.turn(seconds=1)
        (job,) = await desk.take(1)
        served.append(job.brand)
    assert served == [None, "acme"] * 3


async def test_free_slots_are_divided_evenly_and_what_one_cannot_use_goes_to_the_others(desk: Desk) -> None:
    await fill(desk, "acme", 100)
    await fill(desk, "bolt", 1)
    await fill(desk, "cora", 2)
    assert brands(await desk.take(9)) == {"acme": 6, "bolt": 1, "cora": 2}


@pytest.mark.parametrize("account", [True, False])
async def test_one_brand_never_holds_all_slots_of_a_channel(desk: Desk, account: bool) -> None:
    await desk.store.set_cap("reports", 5, ME)
    for number in range(20):
        await desk.put(account=f"a{number}" if account else None, brand="acme")
    held = await desk.take()
    assert brands(held) == {"acme": 4}
    assert await desk.take() == []
    await fill(desk, "bolt", 3)
    for brand in ("bolt", "acme", "bolt"):  # each in its turn, and one more is always free for the other
        desk.clock.turn(seconds=1)
        assert brands(await desk.take()) == {brand: 1}
        assert await desk.end(held.pop(), Done())


async def test_the_only_slot_of_a_channel_is_for_whoever_comes(desk: Desk) -> None:
    await desk.store.set_cap("reports", 1, ME)
    await fill(desk, "acme", 3)
    assert brands(await desk.take()) == {"acme": 1}
    assert await desk.take() == []


async def test_where_there_are_no_brands_no_slot_is_kept_free(desk: Desk) -> None:
    await desk.store.set_cap("reports", 5, ME)
    await fill(desk, None, 20)
    assert len(await desk.take()) == 5


async def test_several_claimers_at_once_never_give_one_brand_all_slots(desk: Desk) -> None:
    await desk.store.set_cap("reports", 5, ME)
    await fill(desk, "acme", 30)
    stores = [desk.store, *[await desk.another_store() for _ in range(2)]]
    for _ in range(5):
        claims = await asyncio.gather(*(desk.take(store=stores[turn % 3]) for turn in range(9)))
        held = [job for claim in claims for job in claim]
        assert brands(held) == {"acme": 4}
        for job in held:
            assert await desk.end(job, Done())


@pytest.mark.slow
async def test_a_brand_with_thousands_of_lanes_is_folded_away_by_a_pause_and_brought_back(desk: Desk) -> None:
    await fill(desk, "acme", MANY)
    while (await desk.store.poll("w1")).hinted:
        assert await desk.take(0) == []
    await desk.store.pause(Scope.BRAND, "acme", ME)
    other = await desk.put(account="bolt", brand="bolt")
    assert ids(await desk.take(10)) == {other.id}
    while (poll := await desk.store.poll("w1")).hinted:
        assert await desk.take(10) == []
    assert {head.due_at for head in poll.heads} == {FOREVER}
    await desk.store.resume(Scope.BRAND, "acme", ME)
    assert brands(await desk.take(10)) == {"acme": 10}
    while (await desk.store.poll("w1")).hinted:
        assert await desk.take(0) == []
    assert desk.database.sql("SELECT count(*) FROM {lane_due} WHERE due_at < '9999-01-01'") == [(MANY - 10,)]
