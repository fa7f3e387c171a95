"""A private PostgreSQL server, the connections of a simulation, and what they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import asyncpg

from postino.stores.postgres import Postgres, register_timestamp_codec
from postino.stores.postgres_session import PLANNER_SETTINGS, SEMANTIC_SETTINGS
from tests.servers.postgres import PostgresServer
from tests.simulator.interleaving.names import ACCOUNTS

if TYPE_CHECKING:
    Session = asyncpg.Connection[asyncpg.Record]

CONNECTIONS = 6
VACUUM_EVERY = 40  # lives
DEADLOCK_TIMEOUT = "20ms"  # the server looks for a deadlock after so long a wait
SETTINGS = PLANNER_SETTINGS | SEMANTIC_SETTINGS | {"deadlock_timeout": DEADLOCK_TIMEOUT, "synchronous_commit": "off"}
# Nothing but the life may hold locks or transaction ids.
QUIET = ("ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()")
TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'postino'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  AND relname NOT IN ('migrations', 'database_state')
ORDER BY relname
"""
ADD_ACCOUNT = """
INSERT INTO postino.accounts (id, network, handle, base_url, brand, service, sealed, created_at)
VALUES ($1, 'net', $1, $2, $3, $4, '', now())
"""


class Sessions:
    """The connections of a simulation. One of them watches the others."""

    def __init__(self, driver: Postgres, free: list[Session], watcher: Session, tables: list[str]) -> None:
        self.driver = driver
        self.free = free
        self.watcher = watcher
        self.wiping = "; ".join(f"DELETE FROM postino.{table}" for table in tables)
        self.wipes = 0

    async def wipe(self) -> None:
        """Leave nothing of the last life. Dead rows go now and then: after that, all plans are made anew."""
        await self.watcher.execute(self.wiping)
        self.wipes += 1
        if self.wipes % VACUUM_EVERY == 0:
            await self.watcher.execute("VACUUM")
        for account in ACCOUNTS:
            url = f"https://{account.service.partition('@')[2]}"
            await self.watcher.execute(ADD_ACCOUNT, account.id, url, account.brand, account.service)

    async def find_blockers(self, pids: Collection[int]) -> dict[int, set[int]]:
        """Return which sessions each of these waits for; nothing for one that works."""
        rows = await self.watcher.fetch("SELECT p, pg_blocking_pids(p) FROM unnest($1::int[]) AS p", [*pids])
        return {pid: set(blockers) for pid, blockers in rows}

    async def cancel(self, pid: int) -> None:
        await self.watcher.execute("SELECT pg_cancel_backend($1)", pid)


@asynccontextmanager
async def open_sessions() -> AsyncIterator[Sessions]:
    """Start a server and yield connections to its migrated database."""
    with await asyncio.to_thread(PostgresServer) as server:
        url = server.create_database()
        driver = Postgres(url)
        await driver.migrate()
        free = [await connect(url) for _ in range(CONNECTIONS)]
        watcher = await connect(url)
        for statement in QUIET:
            await watcher.execute(statement)
        tables = [row["relname"] for row in await watcher.fetch(TABLES)]
        try:
            yield Sessions(driver, free, watcher, tables)
        finally:
            for session in (*free, watcher):
                session.terminate()


async def connect(url: str) -> Session:
    session = await asyncpg.connect(url, server_settings=SETTINGS, statement_cache_size=500)
    await register_timestamp_codec(session)
    return session
