"""The sandbox's SQLite file. Every write is committed and synced before its response is sent."""

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw

from postino.errors import SchemaMismatch

T = TypeVar("T")
Write = Callable[[apsw.Connection], T]

SCHEMA = {2: "schema.sql", 3: "schema_3.sql"}  # by the version each leads to
SCHEMA_VERSION = max(SCHEMA)
MAX_BATCH = 500


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A write that waits for its turn, and the future of its result."""

    write: Write[Any]
    future: asyncio.Future[Any]


class SandboxDatabase:
    """One thread writes; writes that wait meanwhile share the next transaction."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        )  # SQLite creates its log with the same mode
        self.path = path
        create(path)
        self.reader = connect(path)
        self.waiting: queue.SimpleQueue[PendingWrite | None] = queue.SimpleQueue()
        self.loop = asyncio.get_running_loop()
        self.thread = threading.Thread(target=self.run_writer, name="sandbox-writer", daemon=True)
        self.thread.start()

    async def write(self, write: Write[T]) -> T:
        """Write and return the result once it is on disk. A cancelled caller does not undo the write."""
        future: asyncio.Future[T] = self.loop.create_future()
        self.waiting.put(PendingWrite(write, future))
        return await future

    def write_soon(self, write: Write[Any]) -> None:
        """Queue a write without waiting: it is on disk with the next transaction."""
        self.waiting.put(PendingWrite(write, self.loop.create_future()))

    def close(self) -> None:
        self.waiting.put(None)
        self.thread.join()
        self.reader.close()

    def run_writer(self) -> None:
        connection = connect(self.path)
        while batch := self.next_batch():
            try:
                results = write_batch(connection, batch)
            except Exception as error:  # noqa: BLE001 - passed on to the callers
                results = [error] * len(batch)
            self.loop.call_soon_threadsafe(deliver, batch, results)
        connection.close()

    def next_batch(self) -> list[PendingWrite]:
        """Wait for writes and return all there are; an empty list means stop."""
        batch: list[PendingWrite] = []
        run_writer = self.waiting.get()
        while run_writer is not None:
            batch.append(run_writer)
            if len(batch) == MAX_BATCH or self.waiting.empty():
                return batch
            run_writer = self.waiting.get()
        if batch:
            self.waiting.put(None)
        return batch


def connect(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    return connection


def create(path: Path) -> None:
    connection = connect(path)
    connection.execute("BEGIN IMMEDIATE")
    version = connection.pragma("user_version")
    if version not in (0, *SCHEMA):
        connection.close()
        raise SchemaMismatch(f"{path} belongs to another version of the sandbox. Move it away to start with a new one.")
    for step, name in SCHEMA.items():
        if step > version:
            connection.execute(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    if version == 0:
        connection.execute("INSERT INTO epochs VALUES (1, ?)", (datetime.now(UTC).isoformat(),))
    if version < SCHEMA_VERSION:
        connection.pragma("user_version", SCHEMA_VERSION)
    connection.execute("COMMIT")
    connection.close()


def write_batch(connection: apsw.Connection, batch: list[PendingWrite]) -> list[Any]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        results = [write_one(connection, work.write) for work in batch]
        connection.execute("COMMIT")
    except Exception:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return results


def write_one(connection: apsw.Connection, write: Write[Any]) -> Any:
    """Run one write in a savepoint of the batch's transaction; if it fails, only this write is rolled back."""
    try:
        with connection:
            return write(connection)
    except Exception as error:
        if not connection.in_transaction:
            raise  # a full disk rolls back the whole transaction
        return error


def deliver(batch: list[PendingWrite], results: list[Any]) -> None:
    for run_writer, result in zip(batch, results, strict=True):
        if run_writer.future.cancelled():
            continue
        if isinstance(result, Exception):
            run_writer.future.set_exception(result)
        else:
            run_writer.future.set_result(result)
