"""The contract of a driver: it runs operations on one kind of database."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from postino.errors import PostinoError, WrongUse
from postino.stores.statement import Operation, Query, Row

T = TypeVar("T")


class Blocked(PostinoError):
    """Another transaction holds a lock for longer than this one was willing to wait."""


def make_no_tables_error() -> WrongUse:
    """Return the error for a caller's connection to a database without Postino's tables."""
    message = "connection: its database has no Postino tables. Run `postino migrate` on it, or pass another connection."
    return WrongUse(message, field="connection")


class Driver(Protocol):
    """Runs operations on one database."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def migrate(self) -> list[str]: ...

    async def transact(self, operation: Operation[T], *, lock_timeout: float | None = None) -> T:
        """Run an operation in one transaction; raise Blocked if a lock takes longer than `lock_timeout` seconds."""
        ...

    async def perform(self, operation: Operation[T]) -> T:
        """Run an operation whose statements are each complete by themselves."""
        ...

    async def read(self, operation: Operation[T]) -> T:
        """Run an operation that changes nothing."""
        ...

    async def join(self, connection: Any, operation: Operation[T]) -> T:
        """Run an operation on a caller's connection, inside the transaction that is open there."""
        ...


def drive(operation: Operation[T], execute: "QueryExecutor") -> T:
    """Run an operation to its end where `execute` returns rows without waiting."""
    try:
        query = next(operation)
        while True:
            query = operation.send([] if query.rows == [] else execute(query))
    except StopIteration as end:
        result: T = end.value
        return result


class QueryExecutor(Protocol):
    """Executes a query and returns its rows."""

    def __call__(self, query: Query) -> Sequence[Row]: ...
