"""A thread with its own connection: the only place where Postino calls SQLite."""

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
from postino.stores.sqlite_values import decode_row, encode_params
from postino.stores.statement import Operation, Query, Row, get_statement

T = TypeVar("T")
log = structlog.get_logger("postino.store")
MAX_BATCH = 1000
BUSY_TIMEOUT_MS = 5000
CHECKPOINT_PAGES = 8000  # of 4 kB
STEPS = 20_000  # SQLite instructions between two checks of the time limit


@dataclass(frozen=True, slots=True)
class QueuedOperation:
    """An operation, and the future that awaits its result."""

    operation: Operation[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The value or the error of an operation."""

    value: Any = None
    error: BaseException | None = None


class SqliteThread:
    """Runs operations one after the other; those that wait while it is busy share the next transaction."""

    def __init__(
        self, path: Path, clock: Callable[[], datetime | None], *, writes: bool, statement_seconds: float | None = None
    ) -> None:
        self.path = path
        self.clock = clock
        self.statement_seconds = statement_seconds  # None: no limit
        self.give_up_at = math.inf
        self.begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
        self.writes = writes
        self.waiting: queue.SimpleQueue[QueuedOperation | None] = queue.SimpleQueue()
        name = "postino-writer" if writes else "postino-reader"
        self.thread = threading.Thread(target=self.work, name=name, daemon=True)
        self.thread.start()

    async def run(self, operation: Operation[T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self.waiting.put(QueuedOperation(operation, loop, future))
        return await future

    def stop(self) -> None:
        self.waiting.put(None)
        self.thread.join()

    def work(self) -> None:
        """Run batches until stopped. Whoever waits for a result also gets the error."""
        connection: apsw.Connection | None = None
        while batch := self.next_batch():
            try:
                with convert_errors(self.path):
                    connection = connection or self.open_connection()
                    results = self.transact(connection, batch)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the result gets it
                results = [OperationResult(error=error)] * len(batch)
            deliver(batch, results)
        if connection is not None:
            connection.close()

    def open_connection(self) -> apsw.Connection:
        """Open the connection, with a time limit for statements if there is one."""
        connection = connect(self.path, writes=self.writes)
        if self.statement_seconds is not None:
            connection.set_progress_handler(self.is_overdue, STEPS)
        return connection

    def is_overdue(self) -> bool:
        """Return whether the running statement is past its time limit."""
        return time.monotonic() > self.give_up_at

    def next_batch(self) -> list[QueuedOperation]:
        """Wait for work, then take all that waits; return an empty batch when asked to stop."""
        batch: list[QueuedOperation] = []
        work = self.waiting.get()
        while work is not None:
            batch.append(work)
            if len(batch) == MAX_BATCH:
                return batch
            try:
                work = self.waiting.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self.waiting.put(None)
        return batch

    def transact(self, connection: apsw.Connection, batch: Sequence[QueuedOperation]) -> list[OperationResult]:
        """Run a batch in one transaction."""
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

    def perform(self, connection: apsw.Connection, operation: Operation[Any], now: datetime | None) -> OperationResult:
        """Run one operation inside the batch's transaction; if it fails, the others do not."""
        connection.execute("SAVEPOINT one")
        try:
            with convert_errors(self.path):
                result = OperationResult(
                    drive(operation, lambda query: self.execute_within_limit(connection, query, now))
                )
        except Exception as error:
            if not connection.in_transaction:
                raise  # a full disk rolls back the whole transaction
            connection.execute("ROLLBACK TO one")
            result = OperationResult(error=error)
        connection.execute("RELEASE one")
        return result

    def execute_within_limit(self, connection: apsw.Connection, query: Query, now: datetime | None) -> list[Row]:
        """Execute a query within the time limit."""
        self.give_up_at = time.monotonic() + (self.statement_seconds or 0.0)
        try:
            return execute(connection, query, now)
        except apsw.InterruptError as error:
            message = f"SQLite did not finish within {self.statement_seconds} s. Nothing was changed; try again."
            raise StoreUnreachable(message) from error
        finally:
            self.give_up_at = math.inf


def execute(connection: apsw.Connection, query: Query, now: datetime | None) -> list[Row]:
    """Execute a query on an apsw connection."""
    sql = get_statement("sqlite", query.name).text
    shared = encode_params({"now": now, **query.params})
    cursor = connection.cursor()
    cursor.row_trace = keep_row
    rows: list[Row] = []
    names: tuple[str, ...] = ()
    try:
        if query.rows is None:
            cursor.execute(sql, shared)
        else:
            cursor.executemany(sql, [shared | encode_params(row) for row in query.rows])
        for values in cursor:
            names = names or tuple(column[0] for column in cursor.get_description())
            rows.append(decode_row(names, values))
    finally:
        cursor.close(True)  # a half-read cursor would keep its snapshot open beyond the transaction
    return rows


def keep_row(_: apsw.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the row as it is, whatever row trace the caller uses."""
    return row


def deliver(batch: Sequence[QueuedOperation], results: Sequence[OperationResult]) -> None:
    """Deliver results with one call for each event loop that waits."""
    for loop in {id(work.loop): work.loop for work in batch}.values():
        results_of_loop = [
            (work.future, result) for work, result in zip(batch, results, strict=True) if work.loop is loop
        ]
        try:
            loop.call_soon_threadsafe(settle_futures, results_of_loop)
        except RuntimeError:
            log.warning(
                "sqlite.loop_closed",
                operations=len(results_of_loop),
                next="none; they are committed, but nobody waits for them",
            )


def settle_futures(results: Sequence[tuple[asyncio.Future[Any], OperationResult]]) -> None:
    """Set the results, except on futures that were cancelled."""
    for future, result in results:
        if future.cancelled():
            continue
        if result.error is None:
            future.set_result(result.value)
        else:
            future.set_exception(result.error)


def connect(path: Path, *, writes: bool) -> apsw.Connection:
    """Open a connection in WAL mode; a committed transaction is on disk."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if writes else 0)
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = FULL")
    # A queue writes the same pages over and over, so checkpoints are rare.
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    return connection


def use_write_ahead_log(connection: apsw.Connection) -> None:
    """Switch to WAL, retrying while another process switches the same new file: SQLite does not wait there."""
    give_up_at = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.01)


@contextmanager
def convert_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into Postino's."""
    try:
        yield
    except apsw.BusyError as error:
        seconds = BUSY_TIMEOUT_MS // 1000
        raise StoreUnreachable(
            f"Another process has locked {path} for more than {seconds} s. Nothing was changed; try again."
        ) from error
    except apsw.FullError as error:
        raise StoreUnreachable(
            f"The disk of {path} is full. Nothing was lost; free some space and try again."
        ) from error
    except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreUnreachable(f"{path} cannot be used: {error}.") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
