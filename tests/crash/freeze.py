"""SIGSTOP at a moment when the process holds no lock that others need."""

import asyncio
import signal

import apsw

from tests.crash.workers import Process

STOPPED = 0.02  # seconds until a stopped process has stopped
MOST_HELD_MS = 50


async def freeze(process: Process, database_url: str) -> None:
    """Stop a process, but not in the middle of a write: it would keep the only lock of SQLite."""
    process.signal(signal.SIGSTOP)
    await asyncio.sleep(STOPPED)
    while not await asyncio.to_thread(is_free, database_url):
        process.signal(signal.SIGCONT)
        await asyncio.sleep(STOPPED / 4)
        process.signal(signal.SIGSTOP)
        await asyncio.sleep(STOPPED)


def is_free(database_url: str) -> bool:
    """Return whether other processes can write; on PostgreSQL they always can."""
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
