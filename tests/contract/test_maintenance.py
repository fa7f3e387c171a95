"""Duties that any worker may do, one at a time, and pruning."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from postino.config import RetentionConfig
from postino.errors import Conflict, NotFound
from postino.stores.driver import Blocked
from postino.values.event import Cursor
from postino.values.outcome import Done, Reject
from tests.contract.databases import PostgresDatabase, only_postgres, only_sqlite
from tests.contract.harness import ME, StoreHarness

SHORT = RetentionConfig(finished_days=10, dead_letter_days=10, event_days=10)


def a_week_of_2020(table: str) -> str:
    return (
        f"CREATE TABLE postino.{table}_20200106 PARTITION OF postino.{table}"
        " FOR VALUES FROM ('2020-01-06Z') TO ('2020-01-13Z')"
    )


async def test_duty_is_done_by_one_worker_and_only_when_due(harness: StoreHarness) -> None:
    async def takes(holder: str) -> bool:
        return await harness.store.take_duty("prune", holder, seconds=60, every=3600)

    assert sorted(await asyncio.gather(*(takes(f"w{number}") for number in range(5)))) == [False] * 4 + [True]
    assert not await takes("another")
    harness.clock.turn(seconds=61)
    assert await takes("another"), "whoever held it died"
    await harness.store.finish_duty("prune", "another")
    harness.clock.turn(seconds=3000)
    assert not await takes("w0")
    harness.clock.turn(seconds=601)
    assert await takes("w0")


@only_sqlite
async def test_pruning_deletes_only_what_is_past_its_retention(harness: StoreHarness) -> None:
    old = await harness.run(Done(), key="old")
    dead = await harness.run(Reject("no"))
    await harness.store.discard_dead_letter(dead.id, ME)
    unresolved = await harness.run(Reject("no"))
    harness.clock.turn(days=11)
    young, live = await harness.run(Done()), await harness.put()
    while await harness.store.prune(SHORT):
        pass
    for gone in (old, dead):
        with pytest.raises(NotFound):
            await harness.store.job(gone.id)
    with pytest.raises(NotFound):
        await harness.store.dead_letter(dead.id)
    assert (await harness.store.dead_letter(unresolved.id)).job.id == unresolved.id
    assert {(await harness.store.job(kept.id)).id for kept in (young, live)} == {young.id, live.id}
    assert await harness.store.attempts(old.id) == []
    assert {event.job_id for event in await harness.store.events(Cursor(), 100)} <= {young.id, None}
    with pytest.raises(Conflict, match="by a job that was pruned since"):
        await harness.put(key="old")


@only_postgres
async def test_old_partitions_are_dropped_and_new_ones_created(
    harness: StoreHarness, database: PostgresDatabase
) -> None:
    async def weeks() -> int:
        counted = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'postino.finished_jobs'::regclass"
        return int(await connection.fetchval(counted))

    connection = await asyncpg.connect(database.url)
    for name in ("finished_jobs", "attempts", "events"):
        await connection.execute(a_week_of_2020(name))
    before = await weeks()
    live = await harness.put()
    assert await harness.store.prune(RetentionConfig()) == 3
    assert await weeks() == before - 1
    assert await harness.store.prune(RetentionConfig()) == 0
    assert (await harness.store.job(live.id)).id == live.id
    await connection.close()


@only_postgres
async def test_pruning_waits_for_no_lock(harness: StoreHarness, database: PostgresDatabase) -> None:
    reader = await asyncpg.connect(database.url)
    await reader.execute(a_week_of_2020("finished_jobs"))
    async with reader.transaction():
        await reader.fetch("SELECT * FROM postino.finished_jobs")
        with pytest.raises(Blocked):
            await harness.store.prune(RetentionConfig())
    assert await harness.store.prune(RetentionConfig()) == 1
    await reader.close()
