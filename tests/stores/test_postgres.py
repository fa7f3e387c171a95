"""Errors when PostgreSQL cannot be used: never with the password."""

import asyncio
import traceback

import asyncpg
import psycopg
import pytest

from postino.errors import ConfigError, StoreError, StoreUnreachable, WrongUse
from postino.stores.postgres import Postgres
from postino.stores.records import NewJob
from postino.stores.store import Store
from postino.values.job import Queue, new_id
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
