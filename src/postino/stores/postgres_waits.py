"""Logs which session holds the lock that a migration, or a store that opens, waits for."""

import asyncio

import asyncpg
import structlog

from postino.stores.postgres_session import APPLICATION

log = structlog.get_logger("postino.store")
FIRST_LOOK = 1.0  # seconds
REPEAT_EVERY = 30.0  # seconds
BLOCKING_SESSIONS = """
SELECT pid, application_name, datname, extract(epoch FROM now() - xact_start)::int AS seconds
FROM pg_stat_activity WHERE pid = ANY (pg_blocking_pids($1)) ORDER BY xact_start NULLS LAST LIMIT 1
"""


async def report_waits(url: str, pid: int) -> None:
    """Log which session this one waits for, after a second and then every half minute, until cancelled."""
    try:
        await asyncio.sleep(FIRST_LOOK)
        connection = await asyncpg.connect(url, statement_cache_size=0, server_settings=APPLICATION)
        try:
            while True:
                blocking = await connection.fetchrow(BLOCKING_SESSIONS, pid)
                if blocking is not None:
                    log_wait(blocking)
                await asyncio.sleep(FIRST_LOOK if blocking is None else REPEAT_EVERY)
        finally:
            connection.terminate()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        log.info("database.wait_unknown", error=str(error), next="Postino waits on without reporting the cause")


def log_wait(blocking: "asyncpg.Record") -> None:
    """Log the session that holds a lock."""
    log.warning(
        "database.waiting",
        for_process=blocking["pid"],
        application=blocking["application_name"],
        database=blocking["datname"],
        transaction_seconds=blocking["seconds"],
        next="Postino continues when that transaction ends; if nobody needs it, run"
        f" SELECT pg_terminate_backend({blocking['pid']})",
    )
