"""One suite, every store: each test that takes `store`, `harness` or `database` runs on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postino.stores.store import Store
from postino.values.job import Job
from tests.contract.databases import Clock, Database, PostgresDatabase, SqliteDatabase
from tests.contract.harness import StoreHarness
from tests.contract.restore_site import Site


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "postino.db"
    asyncio.run(SqliteDatabase(path).store().migrate())
    return path


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Return a migrated, empty database."""
    if request.param == "sqlite":
        path = tmp_path / "postino.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        copy = SqliteDatabase(path)
        copy.sql("UPDATE {database_state} SET place = NULL")  # that of the template
        yield copy
        return
    database: PostgresDatabase = request.getfixturevalue("postgres_database")
    database.wipe()
    yield database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Return a database that is not migrated."""
    if request.param == "sqlite":
        yield SqliteDatabase(tmp_path / "postino.db")
        return
    database = PostgresDatabase(request.getfixturevalue("postgres_url"))
    yield database
    database.close()


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime.now(UTC))


@pytest.fixture
async def store(database: Database, clock: Clock) -> AsyncIterator[Store]:
    store = database.store(clock)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def harness(store: Store, clock: Clock, database: Database) -> AsyncIterator[StoreHarness]:
    """Return the store with one registered worker, w1."""
    harness = StoreHarness(store, clock, database)
    await harness.hire("w1")
    async with harness.visitors:
        yield harness
        if harness.all_reachable:
            assert await store.unreachable_jobs() == []


@pytest.fixture
async def due_job(harness: StoreHarness) -> Job:
    return await harness.put()


@pytest.fixture
async def running_job(harness: StoreHarness, due_job: Job) -> Job:
    return await harness.take_one()


@pytest.fixture
async def site(harness: StoreHarness, tmp_path: Path) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        site = Site(harness, tmp_path / "machines", stack)
        yield site
    site.forget_backup()
