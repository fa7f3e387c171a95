"""Errors when PostgreSQL cannot be used: never with the password."""

import asyncio
import traceback

import asyncpg
import psycopg
import pytest
import structlog

from postino.errors import ConfigError, StoreError, StoreUnreachable, WrongUse
from postino.stores.postgres import Postgres
from postino.stores.records import NewJob
from postino.stores.store import Store
from postino.values.job import Queue, new_id
from tests.engine.conftest import wait_for
from tests.servers.postgres import PostgresServer


async def get_open_error(url: str) -> tuple[type[Exception], str]:
    with pytest.raises((ConfigError, StoreError)) as error:
        await Store(Postgres(url)).open()
    return error.type, "".join(traceback.format_exception(error.value))


async def test_unreachable_server_is_an_error_without_the_password() -> None:
    kind, text = await get_open_error("postgresql://me:hunter2@127.0.0.1:1/queue?application_name=x")
    assert kind is StoreUnreachable
    assert "postgresql://127.0.0.1:1/queue does not respond" in text
    assert "hunter2" not in text


async def test_missing_postgres_database_is_an_error(postgres_server: PostgresServer) -> None:
    kind, text = await get_open_error(f"{postgres_server.url.rpartition('/')[0]}/nowhere")
    assert kind is StoreUnreachable
    assert 'database "nowhere" does not exist' in text


async def test_invalid_database_url_is_an_error() -> None:
    kind, text = await get_open_error("postgresql://me:hunter2@[broken/queue")
    assert kind is ConfigError
    assert "hunter2" not in text


async def test_concurrent_opens_share_one_pool(postgres_url: str) -> None:
    store = Store(Postgres(postgres_url))
    await store.migrate()
    await asyncio.gather(*(store.open() for _ in range(10)))
    assert isinstance(store.driver, Postgres)
    pool = store.driver.pool
    await store.queue_depths()
    assert store.driver.pool is pool
    await store.close()


async def test_a_callers_connection_to_a_database_without_postino(postgres_url: str) -> None:
    job = NewJob(id=new_id(), type="t", channel="t", queue=Queue.DEFAULT, payload=b"null")
    store = Store(Postgres(postgres_url))
    other = await asyncpg.connect(postgres_url)
    with pytest.raises(WrongUse, match="its database has no Postino tables"):
        await store.enqueue_on(other, [job])
    await other.close()
    with psycopg.connect(postgres_url) as same, pytest.raises(WrongUse, match="its database has no Postino tables"):
        await store.enqueue_on(same, [job])


async def test_migration_that_waits_for_a_lock_says_whose(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postino.stores.postgres_waits.FIRST_LOOK", 0.01)
    other = await asyncpg.connect(postgres_url, server_settings={"application_name": "nightly report"})
    store = Store(Postgres(postgres_url))
    with structlog.testing.capture_logs() as logs:
        async with other.transaction():
            await other.execute("SELECT pg_advisory_xact_lock(hashtext('postino.migrate'))")
            migrating = asyncio.create_task(store.migrate())
            await wait_for(lambda: asyncio.sleep(0, [*logs]))
        await migrating
    await other.close()
    assert logs[0]["event"] == "database.waiting"
    assert (logs[0]["application"], logs[0]["for_process"]) == ("nightly report", other.get_server_pid())


async def test_process_frozen_in_its_start_does_not_keep_others_from_starting(postgres_url: str) -> None:
    await Store(Postgres(postgres_url)).migrate()
    frozen, other = Postgres(postgres_url, statement_seconds=0.5), Postgres(postgres_url)
    start = frozen.open_connection_outside_pool()
    await (await start.__aenter__()).fetchval("SELECT postino.make_partitions(9)")
    await asyncio.wait_for(other.open(), 30)  # PostgreSQL ends the frozen transaction
    await other.close()
    with pytest.raises(StoreUnreachable):
        await start.__aexit__(None, None, None)
