"""The SQLite driver: one thread writes, and commits what waits in one transaction; another thread reads.

`sqlite_thread.py` runs them, `sqlite_connection.py` opens their connections.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw

from postino import clock
from postino.errors import StoreUnreachable, WrongUse
from postino.stores.driver import drive, make_no_tables_error
from postino.stores.migrations import LOCATE_UNUSED, check_complete, find_missing, load_migrations
from postino.stores.sqlite_connection import read_applied, use_write_ahead_log
from postino.stores.sqlite_thread import SqliteThread, execute, open_briefly
from postino.stores.sqlite_values import decode_row, encode_params
from postino.stores.statement import Operation, Query, Row, get_statement

T = TypeVar("T")

# The last three digits of a time are random: they tell databases apart that are created in the same millisecond.
MIGRATIONS_TABLE = """
CREATE TABLE IF NOT EXISTS postino_migrations (
    number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
    applied_at text NOT NULL DEFAULT (
        strftime('%Y-%m-%dT%H:%M:%f', 'now') || printf('%03dZ', abs(random() % 1000))
    )
)
"""
TWO_LIBRARIES = (
    "connection: it comes from Python's sqlite3 module, which has its own copy of the SQLite library. Two copies in one"
    " process do not see each other's locks and can corrupt the file. Open it with apsw.Connection(path) instead, or"
    " use this process only to enqueue with connection=."
)


def apply_missing(connection: apsw.Connection) -> list[str]:
    """Apply and record the migrations that the database lacks, and return their names."""
    connection.execute(MIGRATIONS_TABLE)
    pending = find_missing(load_migrations("sqlite"), read_applied(connection))
    for migration in pending:
        connection.execute(migration.sql)
        connection.execute(
            "INSERT INTO postino_migrations (number, name, checksum) VALUES (?, ?, ?)",
            (migration.number, migration.name, migration.checksum),
        )
    if not pending:
        connection.execute(get_statement("sqlite", LOCATE_UNUSED).text)
    return [migration.name for migration in pending]


def create_private_file(path: Path) -> None:
    """Create the file for its owner alone; SQLite creates the write-ahead log beside it with the same permissions.

    An existing file is not opened: to close it would drop the locks that SQLite holds on it in this process.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):  # SQLite reports what is wrong with the path
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def read_machine_clock() -> datetime:
    """Return this machine's time."""
    return clock.now()


class Sqlite:
    """Runs operations on one file: a writing thread, a reading thread, and callers' own connections."""

    dialect = "sqlite"

    def __init__(
        self, path: Path, *, statement_seconds: float = 5, clock: Callable[[], datetime | None] = read_machine_clock
    ) -> None:
        self.path = path
        self.statement_seconds = statement_seconds
        self.clock = clock
        self.writer: SqliteThread | None = None
        self.reader: SqliteThread | None = None
        self.foreign_library_seen = False
        self.opening = asyncio.Lock()

    async def open(self) -> None:
        async with self.opening:
            if self.writer is None:
                await self.start_threads()

    async def start_threads(self) -> None:
        """Check the schema and start the two threads."""
        if self.foreign_library_seen:
            raise WrongUse(TWO_LIBRARIES, field="connection")
        await asyncio.to_thread(self.check_schema)
        self.writer = SqliteThread(self.path, self.clock, writes=True)
        # All reads wait for the one that runs, so it has a time limit.
        self.reader = SqliteThread(self.path, self.clock, writes=False, statement_seconds=self.statement_seconds)

    async def close(self) -> None:
        threads, self.writer, self.reader = (self.writer, self.reader), None, None
        for thread in threads:
            if thread is not None:
                await asyncio.to_thread(thread.stop)

    async def is_new(self) -> bool:
        """Return whether the file has no schema yet."""
        return await asyncio.to_thread(lambda: not self.path.exists() or not self.read_applied())

    def read_applied(self) -> dict[int, str]:
        """Return the checksums of the applied migrations, by number."""
        with open_briefly(self.path) as connection:
            return read_applied(connection)

    def check_schema(self) -> None:
        """Raise if the file does not exist or lacks migrations."""
        if not self.path.exists():
            raise StoreUnreachable(f"There is no database at {self.path}. Run `postino migrate` to create one.")
        check_complete(load_migrations(self.dialect), self.read_applied())

    async def migrate(self) -> list[str]:
        return await asyncio.to_thread(self.apply_migrations)

    def apply_migrations(self) -> list[str]:
        """Create the file if necessary, apply missing migrations in one transaction, and return their names."""
        create_private_file(self.path)
        with open_briefly(self.path) as connection:  # rolls back what was not committed
            use_write_ahead_log(connection)
            connection.execute("BEGIN IMMEDIATE")
            names = apply_missing(connection)
            connection.execute("COMMIT")
        return names

    async def transact(self, operation: Operation[T], *, lock_timeout: float | None = None) -> T:
        # Only the writer's own batch can hold a lock, so `lock_timeout` has no meaning here.
        if self.writer is None:
            await self.open()
        assert self.writer is not None
        return await self.writer.run(operation)

    perform = transact

    async def read(self, operation: Operation[T]) -> T:
        if self.reader is None:
            await self.open()
        assert self.reader is not None
        return await self.reader.run(operation)

    async def join(self, connection: Any, operation: Operation[T]) -> T:
        try:
            return self.run_on_connection(connection, operation)
        except (apsw.SQLError, sqlite3.OperationalError) as error:
            if "no such table: postino_" in str(error):
                raise make_no_tables_error() from error
            raise

    def run_on_connection(self, connection: Any, operation: Operation[T]) -> T:
        """Run an operation on a caller's connection, of apsw or of sqlite3."""
        if isinstance(connection, apsw.Connection):
            return drive(operation, lambda query: execute(connection, query, self.clock()))
        if isinstance(connection, sqlite3.Connection):
            if self.writer is not None:
                raise WrongUse(TWO_LIBRARIES, field="connection")
            self.foreign_library_seen = True
            return drive(operation, lambda query: execute_with_sqlite3(connection, query, self.clock()))
        raise WrongUse(
            f"connection: enqueue joins transactions of apsw and sqlite3, not {type(connection)!r}.", field="connection"
        )


def execute_with_sqlite3(connection: sqlite3.Connection, query: Query, now: datetime | None) -> Sequence[Row]:
    """Execute a query through Python's sqlite3 module, which takes one statement at a time."""
    rows: list[Row] = []
    for row in [{}] if query.rows is None else query.rows:
        values = encode_params({"now": now, **query.params, **row})
        for part in get_statement(Sqlite.dialect, query.name).text.split(";"):
            cursor = connection.cursor()
            cursor.row_factory = None  # whatever row factory the caller uses
            cursor.execute(part, values)
            names = tuple(column[0] for column in cursor.description or ())
            rows += [decode_row(names, values) for values in cursor.fetchall()]
    return rows
