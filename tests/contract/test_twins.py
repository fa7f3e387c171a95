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
from tests.contract.desk import ME, Desk
from tests.contract.posting import Wanted, create, rows, wanted


async def click(desk: Desk) -> UUID:
    (made,) = await create(desk.store, wanted(guard=True))
    return made.job.id


async def test_a_second_click_is_refused_with_the_other_posts_name_and_nothing_is_queued(desk: Desk) -> None:
    first = await click(desk)
    desk.clock.turn(minutes=9, seconds=59)
    before = rows(desk)
    with pytest.raises(Conflict, match=f"post {first} \\(anna\\).*Nothing was queued.*allow_duplicate"):
        await create(desk.store, wanted("bruno", guard=True), wanted("anna", guard=True))
    assert rows(desk) == before
    assert [job.id for job in await desk.store.jobs(JobFilter())] == [first]


@pytest.mark.parametrize(
    "other", [wanted(guard=False), wanted("bruno", guard=True), wanted(guard=True, fingerprint="other")]
)
async def test_what_is_meant_said_by_another_or_different_is_no_second_click(desk: Desk, other: Wanted) -> None:
    await click(desk)
    (made,) = await create(desk.store, other)
    assert made.created


async def test_after_ten_minutes_the_same_may_be_said_again(desk: Desk) -> None:
    await click(desk)
    desk.clock.turn(minutes=10, seconds=1)
    await click(desk)


async def test_a_published_post_is_a_twin_too(desk: Desk) -> None:
    await click(desk)
    assert await desk.end(await desk.take_one(), Done(remote_id="r1"))
    with pytest.raises(Conflict):
        await click(desk)


async def test_what_failed_or_was_cancelled_is_no_twin(desk: Desk) -> None:
    await click(desk)
    assert await desk.end(await desk.take_one(), Reject("no"))
    await desk.store.cancel_job(await click(desk), ME)
    await click(desk)


async def test_what_is_planned_for_later_is_no_twin_until_its_time_has_come(desk: Desk) -> None:
    await create(desk.store, wanted(run_at=desk.clock.later(minutes=5)))
    desk.clock.turn(minutes=4)
    await desk.store.cancel_job(await click(desk), ME)
    desk.clock.turn(minutes=2)
    with pytest.raises(Conflict):
        await click(desk)


async def test_of_two_clicks_at_once_one_is_refused(desk: Desk) -> None:
    others = [desk.store, await desk.another_store()]
    for turn in range(5):
        clicks = [create(store, wanted(guard=True, fingerprint=str(turn))) for store in others]
        made = await asyncio.gather(*clicks, return_exceptions=True)
        assert [type(answer) for answer in made].count(Conflict) == 1
    assert rows(desk) == (5, 5, 5, 0)


async def test_clicks_on_the_same_accounts_in_any_order_do_not_wait_in_a_circle(desk: Desk) -> None:
    others = [desk.store, await desk.another_store()]
    names = [f"account {number}" for number in range(20)]
    clicks = [
        create(store, *(wanted(name, guard=True) for name in order))
        for store, order in zip(others, (names, names[::-1]), strict=True)
    ]
    made = await asyncio.gather(*clicks, return_exceptions=True)
    assert sorted(type(answer) is Conflict for answer in made) == [False, True]
    assert rows(desk) == (1, 20, 20, 0)


@only_postgres
async def test_a_second_click_waits_for_the_first_that_has_not_committed_yet(desk: Desk) -> None:
    assert isinstance(desk.store.driver, Postgres)
    post, _ = wanted(guard=True)
    async with desk.store.driver.open_connection_outside_pool() as first, first.transaction():
        lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
        await first.execute(lock, f"{post.account} {post.fingerprint}")
        second = asyncio.create_task(create(desk.store, wanted(guard=True)))
        done, _ = await asyncio.wait([second], timeout=0.2)
        assert not done
    (made,) = await second
    assert made.created
