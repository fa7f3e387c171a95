"""Enqueue inside the caller's transaction: committed with it or not at all, and blocking nobody."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from typing import Any

import apsw
import asyncpg
import psycopg
import pytest
from psycopg.rows import dict_row

from postino.errors import WrongUse
from postino.stores.store import Store
from postino.values.job import State
from postino.values.outcome import Done
from tests.contract.databases import PostgresDatabase, SqliteDatabase, only_postgres, only_sqlite
from tests.contract.harness import POISON, StoreHarness, ids, new


class ChangedMind(Exception):
    """Makes the caller roll back."""


@asynccontextmanager
async def asyncpg_transaction(database: Any) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database.url)
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def psycopg_transaction(database: Any) -> AsyncIterator[Any]:
    with psycopg.connect(database.url, row_factory=dict_row) as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def apsw_transaction(database: Any) -> AsyncIterator[Any]:
    connection = apsw.Connection(str(database.path))
    try:
        with connection:
            yield connection
    finally:
        connection.close()


@contextmanager
def sqlite3_transaction(database: SqliteDatabase) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(database.path)) as connection:
        connection.row_factory = sqlite3.Row
        with connection:
            yield connection


every_door = pytest.mark.parametrize(
    ("database", "transaction"),
    [
        pytest.param("sqlite", apsw_transaction, id="apsw"),
        pytest.param("postgres", asyncpg_transaction, id="asyncpg", marks=pytest.mark.postgres),
        pytest.param("postgres", psycopg_transaction, id="psycopg", marks=pytest.mark.postgres),
    ],
    indirect=["database"],
)


@every_door
async def test_a_job_of_a_committed_transaction_runs(harness: StoreHarness, transaction: Any) -> None:
    async with transaction(harness.database) as connection:
        (made,) = await harness.store.enqueue_on(connection, [new(payload=POISON, account="acme", user_id="u")])
        assert made.created
    claimed = await harness.take_one()
    assert (claimed.id, claimed.payload, claimed.account) == (made.job.id, POISON, "acme")


@every_door
async def test_rolled_back_transaction_leaves_neither_job_nor_key(harness: StoreHarness, transaction: Any) -> None:
    with suppress(ChangedMind):
        async with transaction(harness.database) as connection:
            (made,) = await harness.store.enqueue_on(connection, [new(key="k", account="acme", channel="fresh")])
            assert made.created
            raise ChangedMind
    for table in ("jobs", "idempotency_keys", "lane_hints", "channels"):
        assert harness.database.sql(f"SELECT count(*) FROM {{{table}}}") == [(0,)], table
    (again,) = await harness.store.enqueue([new(key="k")])
    assert again.created


@every_door
async def test_a_known_key_gives_the_existing_job_inside_a_transaction_too(
    harness: StoreHarness, transaction: Any
) -> None:
    job = await harness.put(key="k", payload=POISON)
    async with transaction(harness.database) as connection:
        known, twice, again = await harness.store.enqueue_on(connection, [new(key="k"), new(key="t"), new(key="t")])
    assert (known.created, known.job) == (False, job)
    assert twice.job == again.job
    assert len(await harness.take()) == 2


async def test_a_connection_of_another_kind_is_refused_with_its_field_named(store: Store) -> None:
    with pytest.raises(WrongUse, match=r"enqueue joins transactions of .* not <class 'str'>") as refusal:
        await store.enqueue_on("postgresql://…", [new()])
    assert refusal.value.field == "connection"


@only_postgres
async def test_an_asynchronous_psycopg_connection_is_refused(store: Store, database: PostgresDatabase) -> None:
    async with await psycopg.AsyncConnection.connect(database.url) as connection:
        with pytest.raises(WrongUse, match="synchronous psycopg"):
            await store.enqueue_on(connection, [new()])


@only_sqlite
async def test_sqlite3_is_refused_while_the_store_is_open_in_this_process(
    store: Store, database: SqliteDatabase
) -> None:
    with sqlite3_transaction(database) as connection, pytest.raises(WrongUse, match=r"apsw\.Connection"):
        await store.enqueue_on(connection, [new()])
    assert database.sql("SELECT count(*) FROM {jobs}") == [(0,)]


@only_sqlite
@pytest.mark.parametrize("ending", ["commit", "rollback"])
async def test_a_store_that_is_not_open_enqueues_through_sqlite3(database: SqliteDatabase, ending: str) -> None:
    store = database.store()
    with suppress(ChangedMind), sqlite3_transaction(database) as connection:
        made, again = await store.enqueue_on(connection, [new(key="k", payload=POISON), new(key="k")])
        assert (made.created, again.created, again.job) == (True, False, made.job)
        if ending == "rollback":
            raise ChangedMind
    with closing(sqlite3.connect(database.path)) as connection:
        kept = connection.execute("SELECT id, payload FROM postino_jobs").fetchall()
    assert kept == ([(str(made.job.id), POISON)] if ending == "commit" else [])


@only_sqlite
async def test_a_store_used_through_sqlite3_does_not_open_with_the_other_library(database: SqliteDatabase) -> None:
    store = database.store()
    with sqlite3_transaction(database) as connection:
        await store.enqueue_on(connection, [new()])
    with pytest.raises(WrongUse, match="own copy of the SQLite library"):
        await store.open()


SQLITE3_PROCESS = """
import asyncio, sqlite3, sys
from pathlib import Path
from postino.stores.store import Store
from postino.stores.sqlite import Sqlite
from tests.contract.harness import new
with sqlite3.connect(sys.argv[1]) as connection:
    (made,) = asyncio.run(Store(Sqlite(Path(sys.argv[1]))).enqueue_on(connection, [new(account="acme", key="k")]))
connection.close()
print(made.job.id)
"""


@only_sqlite
async def test_another_process_enqueues_through_sqlite3_while_this_one_works(
    harness: StoreHarness, database: SqliteDatabase
) -> None:
    command = [sys.executable, "-c", SQLITE3_PROCESS, str(database.path)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    harness.clock.turn(minutes=1)
    assert [str(job.id) for job in await harness.take()] == [done.stdout.strip()]
    known = await harness.store.job_by_key("reports", "k")
    assert known is not None
    assert known.state is State.RUNNING


@only_postgres
async def test_an_open_transaction_blocks_no_enqueue_on_the_same_new_channel_and_lane(harness: StoreHarness) -> None:
    async with asyncpg_transaction(harness.database) as caller:
        await harness.store.enqueue_on(caller, [new(channel="fresh", account="acme", brand="shoes", key="a")])
        (made,) = await harness.store.enqueue(
            [new(channel="fresh", account="acme", brand="shoes", key="b")], lock_timeout=0.5
        )
        assert made.created
        assert ids(await harness.take()) == {made.job.id}


@only_postgres
async def test_an_open_transaction_blocks_no_claim_of_other_lanes_nor_of_its_own(harness: StoreHarness) -> None:
    mine, other, bulk = await harness.put(account="acme"), await harness.put(account="other"), await harness.put()
    async with asyncpg_transaction(harness.database) as caller:
        await harness.store.enqueue_on(caller, [new(account="acme"), new(account="third"), new()])
        claimed = await harness.take()
        assert ids(claimed) == {mine.id, other.id, bulk.id}
        for job in claimed:
            assert await harness.end(job, Done())
    assert {job.account for job in await harness.take()} == {"acme", "third", None}
