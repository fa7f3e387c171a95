"""The same content published now by the same account within ten minutes is a duplicate."""

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
from tests.contract.sample_posts import PostSpec, create, make_spec, rows


async def click(harness: StoreHarness) -> UUID:
    (made,) = await create(harness.store, make_spec(guard=True))
    return made.job.id


async def test_duplicate_is_refused_and_names_the_other_post(harness: StoreHarness) -> None:
    first = await click(harness)
    harness.clock.turn(minutes=9, seconds=59)
    before = rows(harness)
    with pytest.raises(Conflict, match=f"post {first} \\(anna\\).*Nothing was queued.*allow_duplicate"):
        await create(harness.store, make_spec("bruno", guard=True), make_spec("anna", guard=True))
    assert rows(harness) == before
    assert [job.id for job in await harness.store.jobs(JobFilter())] == [first]


@pytest.mark.parametrize(
    "other", [make_spec(guard=False), make_spec("bruno", guard=True), make_spec(guard=True, fingerprint="other")]
)
async def test_allowed_other_or_different_post_is_no_duplicate(harness: StoreHarness, other: PostSpec) -> None:
    await click(harness)
    (made,) = await create(harness.store, other)
    assert made.created


async def test_same_content_is_no_duplicate_after_ten_minutes(harness: StoreHarness) -> None:
    await click(harness)
    harness.clock.turn(minutes=10, seconds=1)
    await click(harness)


async def test_published_post_counts_as_duplicate(harness: StoreHarness) -> None:
    await click(harness)
    assert await harness.end(await harness.take_one(), Done(remote_id="r1"))
    with pytest.raises(Conflict):
        await click(harness)


async def test_failed_or_cancelled_post_is_no_duplicate(harness: StoreHarness) -> None:
    await click(harness)
    assert await harness.end(await harness.take_one(), Reject("no"))
    await harness.store.cancel_job(await click(harness), ME)
    await click(harness)


async def test_scheduled_post_is_no_duplicate_before_its_time(harness: StoreHarness) -> None:
    await create(harness.store, make_spec(run_at=harness.clock.later(minutes=5)))
    harness.clock.turn(minutes=4)
    await harness.store.cancel_job(await click(harness), ME)
    harness.clock.turn(minutes=2)
    with pytest.raises(Conflict):
        await click(harness)


async def test_concurrent_duplicates_have_one_winner(harness: StoreHarness) -> None:
    others = [harness.store, await harness.open_another_store()]
    for turn in range(5):
        clicks = [create(store, make_spec(guard=True, fingerprint=str(turn))) for store in others]
        made = await asyncio.gather(*clicks, return_exceptions=True)
        assert [type(answer) for answer in made].count(Conflict) == 1
    assert rows(harness) == (5, 5, 5, 0)


async def test_duplicates_on_the_same_accounts_do_not_deadlock(harness: StoreHarness) -> None:
    others = [harness.store, await harness.open_another_store()]
    names = [f"account {number}" for number in range(20)]
    clicks = [
        create(store, *(make_spec(name, guard=True) for name in order))
        for store, order in zip(others, (names, names[::-1]), strict=True)
    ]
    made = await asyncio.gather(*clicks, return_exceptions=True)
    assert sorted(type(answer) is Conflict for answer in made) == [False, True]
    assert rows(harness) == (1, 20, 20, 0)


@only_postgres
async def test_duplicate_waits_for_the_uncommitted_first_post(harness: StoreHarness) -> None:
    assert isinstance(harness.store.driver, Postgres)
    post, _ = make_spec(guard=True)
    async with harness.store.driver.open_connection_outside_pool() as first, first.transaction():
        lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
        await first.execute(lock, f"{post.account} {post.fingerprint}")
        second = asyncio.create_task(create(harness.store, make_spec(guard=True)))
        done, _ = await asyncio.wait([second], timeout=0.2)
        assert not done
    (made,) = await second
    assert made.created
