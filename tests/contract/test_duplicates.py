"""The same content published now by the same account is a duplicate while the first waits, and ten minutes more."""

from __future__ import annotations

import asyncio
import re
from uuid import UUID

import pytest

from postino.errors import Conflict
from postino.stores.postgres import Postgres
from postino.stores.records import JobFilter
from postino.stores.statement import get_statement
from postino.values.job import State
from postino.values.outcome import Done, Reject, Unknown
from tests.contract.databases import only_postgres
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import PostSpec, content, create, make_spec, rows


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


async def test_same_content_is_no_duplicate_ten_minutes_after_it_was_published(harness: StoreHarness) -> None:
    await click(harness)
    assert await harness.end(await harness.take_one(), Done(remote_id="r1"))
    harness.clock.turn(minutes=10, seconds=1)
    await click(harness)


async def test_waiting_post_counts_after_the_clock_was_set_back(harness: StoreHarness) -> None:
    first = await click(harness)
    harness.clock.turn(minutes=-5)
    with pytest.raises(Conflict, match=f"post {first}"):
        await click(harness)


@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING, State.UNCERTAIN])
async def test_post_that_has_not_ended_counts_whatever_its_age(harness: StoreHarness, state: State) -> None:
    first = await click(harness)
    if state is not State.PENDING:
        job = await harness.take_one()
    if state is State.UNCERTAIN:
        assert await harness.end(job, Unknown("lost"))
    harness.clock.turn(days=3)
    assert (await harness.store.job(first)).state is state
    with pytest.raises(Conflict, match=f"post {first}"):
        await click(harness)


async def test_replayed_post_counts_while_it_waits(harness: StoreHarness) -> None:
    first = await click(harness)
    assert await harness.end(await harness.take_one(), Reject("no"))
    harness.clock.turn(days=1)
    await harness.store.replay_dead_letter(first, None, True, ME)
    harness.clock.turn(days=1)
    with pytest.raises(Conflict, match=f"post {first}"):
        await click(harness)


@only_postgres
async def test_duplicates_are_found_through_indexes(harness: StoreHarness) -> None:
    """Among a thousand published posts with the same content, on the same account."""
    harness.database.sql(
        "INSERT INTO {posts} (id, content_id, network, account, fingerprint, scheduled_at, phase, created_at, ended_at)"
        " SELECT gen_random_uuid(), gen_random_uuid(), 'mastodon', 'anna', 'hello', at, 'completed', at, at"
        " FROM (SELECT now() - make_interval(days => n) AS at FROM generate_series(1, 3000) AS n) AS past"
    )
    harness.database.sql("ANALYZE {posts}")
    query = re.sub(r":now\b", "now()", get_statement("postgres", "find_duplicates").text)
    query = query.replace("coalesce(now()::timestamptz, now())", "now()").replace(":seconds", "600")
    query = query.replace(":account", "ARRAY['anna']").replace(":fingerprint", "ARRAY['hello']")
    plan = "\n".join(line for (line,) in harness.database.sql(f"EXPLAIN {query}"))
    assert "posts_live_duplicates" in plan
    assert "posts_published" in plan
    assert "Seq Scan" not in plan


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


async def test_scheduled_post_is_no_duplicate_at_any_time(harness: StoreHarness) -> None:
    await create(harness.store, make_spec(run_at=harness.clock.later(minutes=5)))
    await harness.store.cancel_job(await click(harness), ME)
    harness.clock.turn(minutes=6)
    await harness.store.cancel_job(await click(harness), ME)
    assert await harness.end(await harness.take_one(), Done(remote_id="r1"))
    await click(harness)


@pytest.mark.parametrize("edited", [False, True])
async def test_scheduled_post_that_a_person_publishes_now_counts(harness: StoreHarness, edited: bool) -> None:
    (made,) = await create(harness.store, make_spec(run_at=harness.clock.later(hours=5), fingerprint="before"))
    if edited:
        post, job = make_spec(fingerprint="hello")
        await harness.store.edit_post(made.job.id, content(), post, job.payload, "another key", ME)
    await harness.store.publish_post_now(made.job.id, ME)
    with pytest.raises(Conflict, match=f"post {made.job.id}"):
        await create(harness.store, make_spec(guard=True, fingerprint="hello" if edited else "before"))


async def test_post_that_a_person_moves_to_a_later_time_no_longer_counts(harness: StoreHarness) -> None:
    first = await click(harness)
    await harness.store.reschedule_post(first, harness.clock.later(hours=1), "key", ME)
    harness.clock.turn(hours=2)
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
    async with harness.store.driver.open_connection_outside_pool() as first:
        lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
        await first.execute(lock, f"{post.account} {post.fingerprint}")
        second = asyncio.create_task(create(harness.store, make_spec(guard=True)))
        done, _ = await asyncio.wait([second], timeout=0.2)
        assert not done
    (made,) = await second
    assert made.created
