"""The one file on disk. What was answered is in it: every write is committed, and synced, before its answer leaves."""

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
MOST_TOGETHER = 500


@dataclass(frozen=True, slots=True)
class Work:
    """Something to write, and where its result is awaited."""

    write: Write[Any]
    future: asyncio.Future[Any]


class Database:
    """Writes one after the other in a thread of its own; those that wait meanwhile share the next transaction."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))  # and so is the log SQLite makes by it
        self.path = path
        create(path)
        self.reader = connect(path)
        self.waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self.loop = asyncio.get_running_loop()
        self.thread = threading.Thread(target=self.work, name="sandbox-writer", daemon=True)
        self.thread.start()

    async def write(self, write: Write[T]) -> T:
        """Once this returns, it is on disk. It is written even if nobody waits for it any more."""
        future: asyncio.Future[T] = self.loop.create_future()
        self.waiting.put(Work(write, future))
        return await future

    def write_soon(self, write: Write[Any]) -> None:
        """Before whatever is written later, but nobody waits for it: it is on disk with the next transaction."""
        self.waiting.put(Work(write, self.loop.create_future()))

    def close(self) -> None:
        self.waiting.put(None)
        self.thread.join()
        self.reader.close()

    def work(self) -> None:
        connection = connect(self.path)
        while batch := self.next_batch():
            try:
                results = transact(connection, batch)
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                results = [error] * len(batch)
            self.loop.call_soon_threadsafe(deliver, batch, results)
        connection.close()

    def next_batch(self) -> list[Work]:
        """Waits for work, then takes all there is; empty when told to stop."""
        batch: list[Work] = []
        work = self.waiting.get()
        while work is not None:
            batch.append(work)
            if len(batch) == MOST_TOGETHER or self.waiting.empty():
                return batch
            work = self.waiting.get()
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
        raise SchemaMismatch(f"{path} is of another version of the sandbox. Move it away to begin with a new one.")
    for step, name in SCHEMA.items():
        if step > version:
            connection.execute(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    if version == 0:
        connection.execute("INSERT INTO epochs VALUES (1, ?)", (datetime.now(UTC).isoformat(),))
    if version < SCHEMA_VERSION:
        connection.pragma("user_version", SCHEMA_VERSION)
    connection.execute("COMMIT")
    connection.close()


def transact(connection: apsw.Connection, batch: list[Work]) -> list[Any]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        results = [perform(connection, work.write) for work in batch]
        connection.execute("COMMIT")
    except Exception:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return results


def perform(connection: apsw.Connection, write: Write[Any]) -> Any:
    """One write within the batch's transaction; if it fails, it leaves no trace, and the others do not fail."""
    try:
        with connection:
            return write(connection)
    except Exception as error:
        if not connection.in_transaction:
            raise  # a full disk takes the whole transaction with it
        return error


def deliver(batch: list[Work], results: list[Any]) -> None:
    for work, result in zip(batch, results, strict=True):
        if work.future.cancelled():
            continue
        if isinstance(result, Exception):
            work.future.set_exception(result)
        else:
            work.future.set_result(result)
