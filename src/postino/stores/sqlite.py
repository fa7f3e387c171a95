"""SQLite: one machine, nothing installed. One thread writes, and gathers what is waiting into one transaction."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw

from postino.errors import StoreUnreachable, WrongUse
from postino.stores.driver import drive, no_postino_here
from postino.stores.migrations import check_complete, migrations, missing
from postino.stores.sqlite_thread import Hand, busy_or_broken, connect, execute
from postino.stores.sqlite_values import bound, decoded
from postino.stores.statement import Operation, Query, Row, statement

T = TypeVar("T")

MIGRATIONS_TABLE = """
CREATE TABLE IF NOT EXISTS postino_migrations (
    number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
    applied_at text NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
)
"""
MACHINE = Path("/etc/machine-id")  # not the host's name, which a container gets anew each time it is made
TWO_LIBRARIES = (
    "connection: it comes from Python's sqlite3 module, which brings a second copy of the SQLite library. Two copies in"
    " one process do not see each other's locks and can destroy the file. Open it with apsw.Connection(path) instead,"
    " or let this process only ever enqueue with connection=."
)


def make_for_its_owner(path: Path) -> None:
    """Nobody else reads a new one, nor the write-ahead log beside it, which SQLite makes like it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):  # SQLite says what is wrong with the place
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def machine_clock() -> datetime:
    return datetime.now(UTC)


class Sqlite:
    """Runs operations on one file: a writing thread, a reading thread, and callers' own connections."""

    dialect = "sqlite"

    def __init__(
        self, path: Path, *, statement_seconds: float = 5, clock: Callable[[], datetime | None] = machine_clock
    ) -> None:
        self.path = path
        self.statement_seconds = statement_seconds
        self.clock = clock
        self.writer: Hand | None = None
        self.reader: Hand | None = None
        self.foreign_library_seen = False
        self.opening = asyncio.Lock()

    async def open(self) -> None:
        async with self.opening:
            if self.writer is None:
                await self.start_hands()

    async def start_hands(self) -> None:
        if self.foreign_library_seen:
            raise WrongUse(TWO_LIBRARIES, field="connection")
        await asyncio.to_thread(self.check_schema)
        self.writer = Hand(self.path, self.clock, writes=True)
        # Everybody's reads wait for the one that is under way.
        self.reader = Hand(self.path, self.clock, writes=False, statement_seconds=self.statement_seconds)

    async def close(self) -> None:
        hands, self.writer, self.reader = (self.writer, self.reader), None, None
        for hand in hands:
            if hand is not None:
                await asyncio.to_thread(hand.stop)

    async def is_new(self) -> bool:
        return await asyncio.to_thread(lambda: not self.path.exists() or not self.applied())

    def applied(self) -> dict[int, str]:
        with busy_or_broken(self.path):
            connection = connect(self.path, writes=False)
            try:
                return applied(connection)
            finally:
                connection.close()

    def check_schema(self) -> None:
        if not self.path.exists():
            raise StoreUnreachable(f"There is no database at {self.path}. `postino migrate` makes one.")
        check_complete(migrations(self.dialect), self.applied())

    async def migrate(self) -> list[str]:
        return await asyncio.to_thread(self.apply_missing)

    def apply_missing(self) -> list[str]:
        make_for_its_owner(self.path)
        with busy_or_broken(self.path):
            connection = connect(self.path, writes=True)
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(MIGRATIONS_TABLE)
                todo = missing(migrations(self.dialect), applied(connection))
                for migration in todo:
                    connection.execute(migration.sql)
                    connection.execute(
                        "INSERT INTO postino_migrations (number, name, checksum) VALUES (?, ?, ?)",
                        (migration.number, migration.name, migration.checksum),
                    )
                connection.execute("COMMIT")
            finally:
                connection.close()  # rolls back what was not committed
        return [migration.name for migration in todo]

    async def surroundings(self) -> str:
        return await asyncio.to_thread(self.place)

    def place(self) -> str:
        """A copy is another file, and a moved disk another machine."""
        machine = MACHINE.read_text().strip() if MACHINE.exists() else ""
        return f"{machine} {self.path.resolve()} {self.path.stat().st_ino}"

    async def transact(self, operation: Operation[T], *, patience: float | None = None) -> T:
        # Nobody but the writer's own batch can hold a key, so there is nothing to be patient about.
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
            return self.run_on(connection, operation)
        except (apsw.SQLError, sqlite3.OperationalError) as error:
            if "no such table: postino_" in str(error):
                raise no_postino_here() from error
            raise

    def run_on(self, connection: Any, operation: Operation[T]) -> T:
        if isinstance(connection, apsw.Connection):
            return drive(operation, lambda query: execute(connection, query, self.clock()))
        if isinstance(connection, sqlite3.Connection):
            if self.writer is not None:
                raise WrongUse(TWO_LIBRARIES, field="connection")
            self.foreign_library_seen = True
            return drive(operation, lambda query: execute_foreign(connection, query, self.clock()))
        raise WrongUse(
            f"connection: enqueue joins transactions of apsw and sqlite3, not {type(connection)!r}.", field="connection"
        )


def execute_foreign(connection: sqlite3.Connection, query: Query, now: datetime | None) -> Sequence[Row]:
    """The same through Python's own module, which takes one statement at a time."""
    found: list[Row] = []
    for row in [{}] if query.rows is None else query.rows:
        values = bound({"now": now, **query.params, **row})
        for part in statement(Sqlite.dialect, query.name).text.split(";"):
            cursor = connection.cursor()
            cursor.row_factory = None  # whatever a caller's own queries give
            cursor.execute(part, values)
            names = tuple(column[0] for column in cursor.description or ())
            found += [decoded(names, values) for values in cursor.fetchall()]
    return found


def applied(connection: apsw.Connection) -> dict[int, str]:
    if not connection.table_exists("main", "postino_migrations"):
        return {}
    return dict(connection.execute("SELECT number, checksum FROM postino_migrations"))
