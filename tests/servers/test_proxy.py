"""The proxy behaves as the tests that use it expect."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

import asyncpg
import pytest

from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy, any_of, nth, share

INSERT = "INSERT INTO notes VALUES ($1)"
GONE = (OSError, asyncpg.PostgresConnectionError)
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Write: TypeAlias = Callable[[Connection, int], Awaitable[None]]


@pytest.fixture
async def proxy(postgres_server: PostgresServer) -> AsyncIterator[Proxy]:
    async with Proxy(postgres_server) as proxy:
        yield proxy


@pytest.fixture
async def direct(postgres_url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("CREATE TABLE notes (id int)")
    yield connection
    connection.terminate()


@pytest.fixture
async def through(proxy: Proxy, postgres_url: str, direct: Connection) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(proxy.url(postgres_url))
    yield connection
    connection.terminate()


async def insert(connection: Connection, number: int) -> None:
    await connection.execute(INSERT, number)


async def insert_in_transaction(connection: Connection, number: int) -> None:
    async with connection.transaction():
        await connection.execute(INSERT, number)


@pytest.mark.parametrize(("write", "last"), [(insert, INSERT), (insert_in_transaction, "COMMIT;")])
async def test_work_with_a_lost_response_was_committed(
    proxy: Proxy, direct: Connection, through: Connection, write: Write, last: str
) -> None:
    await write(through, 1)
    proxy.loses = nth(2, any_of(INSERT))
    await write(through, 2)
    with pytest.raises(GONE):
        await write(through, 3)
    assert [lost[-1] for lost in proxy.lost] == [last]
    assert [row["id"] for row in await direct.fetch("SELECT id FROM notes ORDER BY id")] == [1, 2, 3]


async def test_share_of_responses_is_lost(proxy: Proxy, postgres_url: str) -> None:
    proxy.loses = share(0.5, random.Random(7), any_of("SELECT 1"))
    lost = 0
    for _ in range(20):
        connection = await asyncpg.connect(proxy.url(postgres_url))
        try:
            assert await connection.fetchval("SELECT 1") == 1
        except GONE:
            lost += 1
        connection.terminate()
    assert lost == len(proxy.lost)
    assert 5 <= lost <= 15


async def test_each_direction_is_slow(proxy: Proxy, through: Connection) -> None:
    assert await through.fetchval("SELECT 7") == 7
    proxy.slow(0.05, 0.02)
    asked_at = time.monotonic()
    assert await through.fetchval("SELECT 7") == 7
    assert time.monotonic() - asked_at >= 0.06


async def test_cut_connections_end_and_refused_ones_do_not_begin(
    proxy: Proxy, postgres_url: str, through: Connection
) -> None:
    await proxy.refuse()
    assert await through.fetchval("SELECT 7") == 7
    with pytest.raises(ConnectionRefusedError):
        await asyncpg.connect(proxy.url(postgres_url))
    await proxy.cut()
    with pytest.raises((*GONE, asyncpg.InterfaceError)):
        await through.fetchval("SELECT 7")
    await proxy.accept()
    again = await asyncpg.connect(proxy.url(postgres_url))
    assert await again.fetchval("SELECT 7") == 7
    again.terminate()


async def test_frozen_connection_goes_on_when_released(proxy: Proxy, through: Connection) -> None:
    proxy.freeze()
    asking = asyncio.create_task(through.fetchval("SELECT 7"))
    assert await asyncio.wait([asking], timeout=0.1) == (set(), {asking})
    proxy.thaw()
    assert await asking == 7


async def test_after_a_failover_only_new_connections_are_served(
    proxy: Proxy, postgres_url: str, through: Connection
) -> None:
    proxy.freeze()
    asking = asyncio.create_task(through.fetchval("SELECT 7"))
    proxy.fail_over()
    again = await asyncpg.connect(proxy.url(postgres_url))
    assert await again.fetchval("SELECT 7") == 7
    assert not asking.done()
    again.terminate()
    asking.cancel()
    await asyncio.wait([asking])


async def test_notifications_and_final_server_messages_pass(
    proxy: Proxy, direct: Connection, through: Connection
) -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()
    await through.add_listener("news", lambda *news: heard.put_nowait(news[-1]))
    await direct.execute("NOTIFY news, 'it rains'")
    async with asyncio.timeout(5):
        assert await heard.get() == "it rains"
    await direct.execute("SELECT pg_terminate_backend($1)", through.get_server_pid())
    ended = (asyncpg.AdminShutdownError, asyncpg.ConnectionDoesNotExistError, asyncpg.InterfaceError)
    # The last: the server's words arrived while the question was on its way, which asyncpg takes for its own mistake.
    with pytest.raises((*ended, asyncpg.InternalClientError)):
        await through.fetchval("SELECT 7")
