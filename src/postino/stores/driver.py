"""The contract of a driver: it runs operations on one kind of database."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from postino.errors import PostinoError, WrongUse
from postino.stores.statement import Operation, Query, Row

T = TypeVar("T")


class Blocked(PostinoError):
    """Another transaction holds what this one needs, for longer than it was willing to wait."""


def no_postino_here() -> WrongUse:
    told = "connection: there is no Postino in its database. Run `postino migrate` on it, or give another connection."
    return WrongUse(told, field="connection")


class Driver(Protocol):
    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def migrate(self) -> list[str]: ...
    async def surroundings(self) -> str:
        """What tells this database from a copy of it."""
        ...

    async def transact(self, operation: Operation[T], *, patience: float | None = None) -> T:
        """Runs the operation in one transaction; raises Blocked if a lock takes longer than `patience` seconds."""
        ...

    async def perform(self, operation: Operation[T]) -> T:
        """Runs the operation with each of its statements standing for itself."""
        ...

    async def read(self, operation: Operation[T]) -> T:
        """Runs an operation that changes nothing."""
        ...

    async def join(self, connection: Any, operation: Operation[T]) -> T:
        """Runs the operation on a caller's own connection, inside whatever transaction is open there."""
        ...


def drive(operation: Operation[T], answer: "Answer") -> T:
    """Runs an operation to its end where queries are answered at once."""
    try:
        query = next(operation)
        while True:
            query = operation.send([] if query.rows == [] else answer(query))
    except StopIteration as end:
        result: T = end.value
        return result


class Answer(Protocol):
    def __call__(self, query: Query) -> Sequence[Row]: ...
