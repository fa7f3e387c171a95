"""A store in memory with a virtual clock, for forecasts and tests. Nothing of it reaches a disk."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import apsw

from postino.errors import WrongUse
from postino.stores.driver import drive
from postino.stores.sqlite import apply_missing
from postino.stores.sqlite_place import LOCATE
from postino.stores.sqlite_thread import execute
from postino.stores.statement import Operation
from postino.stores.store import Store

T = TypeVar("T")
STATEMENTS = 512  # more than there are; SQLite keeps them prepared
NOWHERE = '["memory"]'


class MemoryDriver:
    """Runs each operation to its end on the caller's thread. Use it from one thread at a time."""

    dialect = "sqlite"

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.place = NOWHERE
        self.connection = apsw.Connection(":memory:", statementcachesize=STATEMENTS)
        self.connection.create_scalar_function(LOCATE, lambda *_: self.place, 0)

    async def open(self) -> None:
        await self.migrate()

    async def close(self) -> None:
        self.connection.close()

    async def migrate(self) -> list[str]:
        return apply_missing(self.connection)

    async def transact(self, operation: Operation[T], *, lock_timeout: float | None = None) -> T:
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
        raise WrongUse("connection: a store in memory cannot join another transaction.", field="connection")


def memory_store(clock: Callable[[], datetime]) -> Store:
    """Return a store in memory; `open` creates its tables."""
    return Store(MemoryDriver(clock))
