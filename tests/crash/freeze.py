"""SIGSTOP at a moment when the process holds no lock that others need."""

import asyncio
import signal

import apsw

from tests.crash.workers import Process

MOMENT = 0.005  # seconds that the process continues when it was stopped during a write
MOST_HELD_MS = 50


async def freeze(process: Process, database_url: str) -> None:
    """Stop a process, but not in the middle of a write: it would keep the only lock of SQLite."""
    await process.stop()
    while not await asyncio.to_thread(is_free, database_url):
        process.signal(signal.SIGCONT)
        await asyncio.sleep(MOMENT)
        await process.stop()


def is_free(database_url: str) -> bool:
    """Return whether other processes can write; PostgreSQL ends the transactions of frozen processes."""
    if not database_url.startswith("sqlite:///"):
        return True
    connection = apsw.Connection(database_url.removeprefix("sqlite:///"))
    connection.set_busy_timeout(MOST_HELD_MS)
    try:
        connection.execute("BEGIN IMMEDIATE; ROLLBACK")
    except apsw.BusyError:
        return False
    finally:
        connection.close()
    return True
