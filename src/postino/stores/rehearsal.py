"""SQLite in memory, on a clock that somebody turns: what happens here has never happened, and is forgotten with it."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import apsw

from postino.errors import WrongUse
from postino.job import Job
from postino.store import Outlook
from postino.stores.driver import drive
from postino.stores.migrations import migrations
from postino.stores.operations import rehearsing
from postino.stores.sql_store import SqlStore
from postino.stores.sqlite_thread import execute
from postino.stores.statement import Operation

T = TypeVar("T")


class Unkept:
    """Runs operations at once, one after the other, in whatever thread asks: nobody else can be in the way."""

    dialect = "sqlite"

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.connection = apsw.Connection(":memory:")

    async def open(self) -> None:
        await self.migrate()

    async def close(self) -> None:
        self.connection.close()

    async def migrate(self) -> list[str]:
        made = migrations(self.dialect)
        for migration in made:
            self.connection.execute(migration.sql)
        return [migration.name for migration in made]

    async def surroundings(self) -> str:
        return ""

    async def transact(self, operation: Operation[T], *, patience: float | None = None) -> T:
        self.connection.execute("BEGIN")
        try:
            result = drive(operation, lambda query: execute(self.connection, query, self.clock()))
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        return result

    perform = transact
    read = transact

    async def join(self, connection: Any, operation: Operation[T]) -> T:
        raise WrongUse("connection: a rehearsal joins nobody's transaction.", field="connection")


class RehearsalStore(SqlStore):
    """The same store in every respect, but for what it starts from."""

    async def adopt(self, outlook: Outlook, workers: Sequence[str]) -> list[Job]:
        return await self.driver.transact(rehearsing.adopt(outlook, workers))


def rehearsal(clock: Callable[[], datetime]) -> RehearsalStore:
    return RehearsalStore(Unkept(clock))
