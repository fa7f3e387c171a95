"""The same published now by the same account within ten minutes is taken for a second click."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from postino.errors import Conflict
from postino.stores.postgres import Postgres
from postino.stores.records import JobFilter
from postino.values.outcome import Done, Reject
from tests.contract.databases import only_postgres
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import Wanted, create, rows, wanted


async def click(harness: StoreHarness) -> UUID:
    (made,) = await create(harness.store, wanted(guard=True))
    return made.job.id


async def test_a_second_click_is_refused_with_the_other_posts_name_and_nothing_is_queued(harness: StoreHarness) -> None:
    first = await click(harness)
    harness.clock.turn(minutes=9, seconds=59)
    before = rows(harness)
    with pytest.raises(Conflict, match=f"post {first} \\(anna\\).*Nothing was queued.*allow_duplicate"):
        await create(harness.store, wanted("bruno", guard=True), wanted("anna", guard=True))
    assert rows(harness) == before
    assert [job.id for job in await harness.store.jobs(JobFilter())] == [first]


@pytest.mark.parametrize(
    "other", [wanted(guard=False), wanted("bruno", guard=True), wanted(guard=True, fingerprint="other")]
)
async def test_what_is_meant_said_by_another_or_different_is_no_second_click(
    harness: StoreHarness, other: Wanted
) -> None:
    await click(harness)
    (made,) = await create(harness.store, other)
    assert made.created


async def test_after_ten_minutes_the_same_may_be_said_again(harness: StoreHarness) -> None:
    await click(harness)
    harness.clock.turn(minutes=10, seconds=1)
    await click(harness)


async def test_a_published_post_is_a_twin_too(harness: StoreHarness) -> None:
    await click(harness)
    assert await harness.end(await harness.take_one(), Done(remote_id="r1"))
    with pytest.raises(Conflict):
        await click(harness)


async def test_what_failed_or_was_cancelled_is_no_twin(harness: StoreHarness) -> None:
    await click(harness)
    assert await harness.end(await harness.take_one(), Reject("no"))
    await harness.store.cancel_job(await click(harness), ME)
    await click(harness)


async def test_what_is_planned_for_later_is_no_twin_until_its_time_has_come(harness: StoreHarness) -> None:
    await create(harness.store, wanted(run_at=harness.clock.later(minutes=5)))
    harness.clock.turn(minutes=4)
    await harness.store.cancel_job(await click(harness), ME)
    harness.clock.turn(minutes=2)
    with pytest.raises(Conflict):
        await click(harness)


async def test_of_two_clicks_at_once_one_is_refused(harness: StoreHarness) -> None:
    others = [harness.store, await harness.another_store()]
    for turn in range(5):
        clicks = [create(store, wanted(guard=True, fingerprint=str(turn))) for store in others]
        made = await asyncio.gather(*clicks, return_exceptions=True)
        assert [type(answer) for answer in made].count(Conflict) == 1
    assert rows(harness) == (5, 5, 5, 0)


async def test_clicks_on_the_same_accounts_in_any_order_do_not_wait_in_a_circle(harness: StoreHarness) -> None:
    others = [harness.store, await harness.another_store()]
    names = [f"account {number}" for number in range(20)]
    clicks = [
        create(store, *(wanted(name, guard=True) for name in order))
        for store, order in zip(others, (names, names[::-1]), strict=True)
    ]
    made = await asyncio.gather(*clicks, return_exceptions=True)
    assert sorted(type(answer) is Conflict for answer in made) == [False, True]
    assert rows(harness) == (1, 20, 20, 0)


@only_postgres
async def test_a_second_click_waits_for_the_first_that_has_not_committed_yet(harness: StoreHarness) -> None:
    assert isinstance(harness.store.driver, Postgres)
    post, _ = wanted(guard=True)
    async with harness.store.driver.open_connection_outside_pool() as first, first.transaction():
        lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
        await first.execute(lock, f"{post.account} {post.fingerprint}")
        second = asyncio.create_task(create(harness.store, wanted(guard=True)))
        done, _ = await asyncio.wait([second], timeout=0.2)
        assert not done
    (made,) = await second
    assert made.created
