"""A thread with a connection of its own: the only place where SQLite is called."""

import asyncio
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw
import structlog

from postino.errors import StoreError, StoreUnreachable
from postino.stores.driver import drive
from postino.stores.sqlite_values import bound, decoded
from postino.stores.statement import Operation, Query, Row, statement

T = TypeVar("T")
log = structlog.get_logger("postino.store")
MOST_TOGETHER = 1000
PATIENCE_MS = 5000
PAGES_IN_LOG = 8000  # of 4 kB
STEPS = 20_000  # of SQLite's own, after which it is asked whether it takes too long


@dataclass(frozen=True, slots=True)
class Work:
    """An operation, and where its result is awaited."""

    operation: Operation[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class Result:
    value: Any = None
    error: BaseException | None = None


class Hand:
    """Runs operations one after the other; those that wait while it is busy share the next transaction."""

    def __init__(
        self, path: Path, clock: Callable[[], datetime | None], *, writes: bool, statement_seconds: float | None = None
    ) -> None:
        self.path = path
        self.clock = clock
        self.statement_seconds = statement_seconds  # None: as long as it takes
        self.give_up_at = math.inf
        self.begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
        self.writes = writes
        self.waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        name = "postino-writer" if writes else "postino-reader"
        self.thread = threading.Thread(target=self.work, name=name, daemon=True)
        self.thread.start()

    async def run(self, operation: Operation[T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self.waiting.put(Work(operation, loop, future))
        return await future

    def stop(self) -> None:
        self.waiting.put(None)
        self.thread.join()

    def work(self) -> None:
        connection: apsw.Connection | None = None
        while batch := self.next_batch():
            try:
                with busy_or_broken(self.path):
                    connection = connection or self.connected()
                    results = self.transact(connection, batch)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the result gets it
                results = [Result(error=error)] * len(batch)
            deliver(batch, results)
        if connection is not None:
            connection.close()

    def connected(self) -> apsw.Connection:
        connection = connect(self.path, writes=self.writes)
        if self.statement_seconds is not None:
            connection.set_progress_handler(self.takes_too_long, STEPS)
        return connection

    def takes_too_long(self) -> bool:
        return time.monotonic() > self.give_up_at

    def next_batch(self) -> list[Work]:
        """Waits for work, then takes all there is; empty when told to stop."""
        batch: list[Work] = []
        work = self.waiting.get()
        while work is not None:
            batch.append(work)
            if len(batch) == MOST_TOGETHER:
                return batch
            try:
                work = self.waiting.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self.waiting.put(None)
        return batch

    def transact(self, connection: apsw.Connection, batch: Sequence[Work]) -> list[Result]:
        connection.execute(self.begin)
        try:
            now = self.clock()
            results = [self.perform(connection, work.operation, now) for work in batch]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return results

    def perform(self, connection: apsw.Connection, operation: Operation[Any], now: datetime | None) -> Result:
        """One operation inside the batch's transaction; if it fails, the others do not."""
        connection.execute("SAVEPOINT one")
        try:
            with busy_or_broken(self.path):
                result = Result(drive(operation, lambda query: self.answer(connection, query, now)))
        except Exception as error:
            if not connection.in_transaction:
                raise  # a full disk takes the whole transaction with it
            connection.execute("ROLLBACK TO one")
            result = Result(error=error)
        connection.execute("RELEASE one")
        return result

    def answer(self, connection: apsw.Connection, query: Query, now: datetime | None) -> list[Row]:
        self.give_up_at = time.monotonic() + (self.statement_seconds or 0.0)
        try:
            return execute(connection, query, now)
        except apsw.InterruptError as error:
            told = f"SQLite did not finish within {self.statement_seconds} s. Nothing was changed; try again."
            raise StoreUnreachable(told) from error
        finally:
            self.give_up_at = math.inf


def execute(connection: apsw.Connection, query: Query, now: datetime | None) -> list[Row]:
    sql = statement("sqlite", query.name).text
    shared = bound({"now": now, **query.params})
    cursor = connection.cursor()
    cursor.row_trace = plain_row  # whatever a caller's own queries give
    found: list[Row] = []
    names: tuple[str, ...] = ()
    try:
        if query.rows is None:
            cursor.execute(sql, shared)
        else:
            cursor.executemany(sql, [shared | bound(row) for row in query.rows])
        for values in cursor:
            names = names or tuple(column[0] for column in cursor.get_description())
            found.append(decoded(names, values))
    finally:
        cursor.close(True)  # one left half read would keep its view of the database open beyond the transaction
    return found


def plain_row(_: apsw.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row


def deliver(batch: Sequence[Work], results: Sequence[Result]) -> None:
    """Hands results over, with one call for each event loop that waits."""
    for loop in {id(work.loop): work.loop for work in batch}.values():
        ours = [(work.future, result) for work, result in zip(batch, results, strict=True) if work.loop is loop]
        try:
            loop.call_soon_threadsafe(settle_futures, ours)
        except RuntimeError:
            log.warning("sqlite.nobody_waits", operations=len(ours), next="they are written; their loop is closed")


def settle_futures(results: Sequence[tuple[asyncio.Future[Any], Result]]) -> None:
    for future, result in results:
        if future.cancelled():
            continue
        if result.error is None:
            future.set_result(result.value)
        else:
            future.set_exception(result.error)


def connect(path: Path, *, writes: bool) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if writes else 0)
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(PATIENCE_MS)
    use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = FULL")  # accepted means on disk
    # A queue writes the same pages over and over: the fewer times they are copied back, the better.
    connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_IN_LOG}")
    return connection


def use_write_ahead_log(connection: apsw.Connection) -> None:
    """SQLite does not wait by itself where somebody else is just making the same change to a new file."""
    give_up_at = time.monotonic() + PATIENCE_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.01)


@contextmanager
def busy_or_broken(path: Path) -> Iterator[None]:
    try:
        yield
    except apsw.BusyError as error:
        seconds = PATIENCE_MS // 1000
        raise StoreUnreachable(f"{path} is held by another process for more than {seconds} s. Try again.") from error
    except apsw.FullError as error:
        raise StoreUnreachable(f"The disk of {path} is full. Nothing was lost; free some space and go on.") from error
    except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreUnreachable(f"{path} cannot be used: {error}.") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
