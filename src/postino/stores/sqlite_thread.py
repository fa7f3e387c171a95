"""Run operations in a thread with its own SQLite connection, which is opened anew when its files are replaced."""

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

from postino.errors import SchemaMismatch, StoreUnreachable
from postino.stores.driver import drive
from postino.stores.migrations import check_complete, load_migrations
from postino.stores.sqlite_connection import (
    close_without_checkpoint,
    connect,
    convert_errors,
    is_breaking,
    read_applied,
    use_write_ahead_log,
)
from postino.stores.sqlite_file import OpenFiles, hold_folder_lock, read_files
from postino.stores.sqlite_values import decode_row, encode_params
from postino.stores.statement import Operation, Query, Row, get_statement

T = TypeVar("T")
log = structlog.get_logger("postino.store")
MAX_BATCH = 1000
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


THREADS: set["SqliteThread"] = set()  # of this process, which open the same files: SQLite shares their log's index
THREADS_LOCK = threading.Lock()


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
        self.connection: apsw.Connection | None = None
        self.files: OpenFiles | None = None
        self.using = threading.Lock()
        self.waiting: queue.SimpleQueue[QueuedOperation | None] = queue.SimpleQueue()
        name = "postino-writer" if writes else "postino-reader"
        self.thread = threading.Thread(target=self.work, name=name, daemon=True)
        with THREADS_LOCK:
            THREADS.add(self)
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
        """Run batches until stopped. An error is raised in every caller that waits for a result."""
        while batch := self.next_batch():
            try:
                with convert_errors(self.path):
                    results = self.run_batch(batch)
            except BaseException as error:  # noqa: BLE001 - raised in the callers that wait
                results = [OperationResult(error=error)] * len(batch)
            deliver(batch, results)
        self.finish()

    def run_batch(self, batch: Sequence[QueuedOperation]) -> list[OperationResult]:
        """Run a batch on the files that have the names now; never on those that were deleted or replaced."""
        with self.using:
            if self.connection is None or self.files is None:
                self.open_connection()
            assert self.connection is not None
            assert self.files is not None
            try:
                if self.writes:
                    self.files.check()  # so that nothing is written to a file that will be lost
                results = self.transact(self.connection, batch)
                self.files.check()  # so that no caller gets a result from such a file
            except BaseException as error:
                self.leave_files(self.files, error)
                raise
            return results

    def open_connection(self) -> None:
        """Open the files that have the names now, after those of replaced databases were set aside."""
        with hold_folder_lock(self.path):
            leave_old_files(self.path)
            files = read_files(self.path)
            if files.database is None:
                raise StoreUnreachable(f"There is no database at {self.path}. Run `postino migrate` to create one.")
            if self.path.stat().st_size == 0:  # SQLite would create a database in it
                raise StoreUnreachable(f"{self.path} is empty. Perhaps it is still being copied; try again.")
            connection = connect(self.path)
            try:
                check_complete(load_migrations("sqlite"), read_applied(connection))
                use_write_ahead_log(connection)
                read_applied(connection)  # opens the log
                self.files = confirm_files(files)
            except BaseException as error:
                try:
                    if read_files(self.path).database != files.database:
                        files.set_aside()
                finally:
                    close_without_checkpoint(connection)
                if isinstance(error, SchemaMismatch):  # it was complete when the store was opened
                    raise StoreUnreachable(f"{self.path} was replaced. {error}") from error
                raise
        if self.statement_seconds is not None:
            connection.set_progress_handler(self.is_overdue, STEPS)
        self.connection = connection

    def leave_files(self, files: OpenFiles, error: BaseException) -> None:
        """Close the connection if its files have lost their names, or if it may never work again."""
        if not files.are_current():
            log.warning("sqlite.replaced", path=str(self.path), next="Postino opens the file that has this path now")
            with hold_folder_lock(self.path):
                files.set_aside()
                self.close_connection()
        elif is_breaking(error):
            log.warning("sqlite.reopened", path=str(self.path), error=str(error), next="Postino opens the file again")
            with hold_folder_lock(self.path):
                self.close_connection()
                close_siblings(self.path, files)

    def close_connection(self) -> None:
        """Close the connection, and leave the write-ahead log to those who open the file next."""
        connection, self.connection, self.files = self.connection, None, None
        if connection is not None:
            close_without_checkpoint(connection)

    def finish(self) -> None:
        """Close the connection at the end; the last one of all processes writes its log to the database."""
        with THREADS_LOCK:
            THREADS.discard(self)
        with self.using:
            connection, files, self.connection, self.files = self.connection, self.files, None, None
            if connection is None or files is None:
                return
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            try:
                with hold_folder_lock(self.path):
                    if files.are_current():
                        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
                        connection.close()
                    else:
                        files.set_aside()
            except (apsw.Error, StoreUnreachable) as error:
                log.warning("sqlite.not_closed", path=str(self.path), error=str(error), next="the next start recovers")
            finally:
                connection.close(True)

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
        except BaseException as error:
            if connection.in_transaction and not is_breaking(error):
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
            if not connection.in_transaction or is_breaking(error):
                raise  # a full disk rolls back the whole transaction, and a broken connection is closed
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
                next="nothing: the operations are committed, and nobody waits for their results",
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


@contextmanager
def open_briefly(path: Path) -> Iterator[apsw.Connection]:
    """Open a connection for work outside the two threads of a store."""
    with convert_errors(path):
        with hold_folder_lock(path):
            leave_old_files(path)
            connection = connect(path)
        try:
            yield connection
        finally:
            try:
                with hold_folder_lock(path):
                    connection.close()
            finally:
                connection.close(True)  # without the lock, if another process keeps it


def leave_old_files(path: Path) -> None:
    """Prepare to open a path under the folder's lock: set aside what the threads of this process know to be stale."""
    for other in list_threads(path):
        files = other.files
        if files is None:
            continue
        now = read_files(path)
        if files.database != now.database:
            files.set_aside()  # that thread closes its connection at its next transaction
        elif files != now and not close_idle(other):
            raise StoreUnreachable(
                f"A file beside {path} was deleted or replaced. Postino closes the old one; try again."
            )


def close_siblings(path: Path, files: OpenFiles) -> None:
    """Close the idle connections to the same files in this process: SQLite shares what may be broken among them."""
    for other in list_threads(path):
        if other.files == files:
            close_idle(other)


def close_idle(thread: SqliteThread) -> bool:
    """Close a thread's connection; return False if it is in use."""
    if not thread.using.acquire(blocking=False):
        return False
    try:
        if thread.files is not None:
            thread.files.set_aside()
        thread.close_connection()
    finally:
        thread.using.release()
    return True


def list_threads(path: Path) -> list[SqliteThread]:
    """Return the threads on a path. Those of the parent process of a fork are not alive here."""
    with THREADS_LOCK:
        return [thread for thread in THREADS if thread.path == path and thread.thread.is_alive()]


def confirm_files(files: OpenFiles) -> OpenFiles:
    """Return which files a connection has opened; raise StoreUnreachable if another database came meanwhile."""
    now = read_files(files.path)
    if now.database != files.database or now.log is None or now.index is None:
        raise StoreUnreachable(f"{files.path} was deleted or replaced while it was opened. Try again.")
    return now
