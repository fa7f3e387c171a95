"""Turn operations into methods of the store.

An operation is a generator that a driver runs. `transact`, `perform` and `read` bind one to the store under the name it
is assigned to, with the operation's own signature. A bound write passes two crash points, `<name>.before` and
`<name>.after`, so no write can be added without them.
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from postino.stores.audit import AuditSigner
from postino.stores.crash_points import crash_point
from postino.stores.driver import Driver
from postino.stores.statement import Operation

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


class HasDriver(Protocol):
    driver: Driver
    audit_signer: AuditSigner


class BoundOperation(Generic[P, T]):
    """An operation as a method: calling it runs the operation on the store's driver."""

    def __init__(
        self, operation: Callable[P, Operation[T]], run: Callable[[Driver, Operation[T]], Coroutine[Any, Any, T]]
    ) -> None:
        self.operation = operation
        self.run = run
        self.name = operation.__name__
        self.__doc__ = operation.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, store: None, owner: type) -> Self: ...
    @overload
    def __get__(self, store: HasDriver, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, store: HasDriver | None, owner: type) -> Any:
        return self if store is None else self.bind(store)

    def bind(self, store: HasDriver) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(self.operation)
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return await self.run(store.driver, self.operation(*args, **kwargs))

        return call


class BoundWrite(BoundOperation[P, T]):
    """A bound operation that changes the database."""

    def bind(self, store: HasDriver) -> Callable[P, Coroutine[Any, Any, T]]:
        call = self.bind_unwatched(store)

        @wraps(call)
        async def call_with_crash_points(*args: P.args, **kwargs: P.kwargs) -> T:
            crash_point(f"{self.name}.before")
            result = await call(*args, **kwargs)
            crash_point(f"{self.name}.after")
            return result

        return call_with_crash_points

    def bind_unwatched(self, store: HasDriver) -> Callable[P, Coroutine[Any, Any, T]]:
        """Bind the operation without crash points."""
        return super().bind(store)


class BoundTransaction(BoundWrite[P, T]):
    """A bound write that may insert entries into the audit trail, which get their proofs."""

    def bind_unwatched(self, store: HasDriver) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(self.operation)
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return await store.audit_signer.run(
                lambda: self.operation(*args, **kwargs), lambda work: self.run(store.driver, work)
            )

        return call


def transact(operation: Callable[P, Operation[T]], *, lock_timeout: float | None = None) -> BoundWrite[P, T]:
    """Bind an operation that runs in one transaction. A lock that takes longer than `lock_timeout` seconds ends it."""
    return BoundTransaction(operation, lambda driver, work: driver.transact(work, lock_timeout=lock_timeout))


def perform(operation: Callable[P, Operation[T]]) -> BoundWrite[P, T]:
    """Bind an operation whose statements are each complete by themselves."""
    return BoundWrite(operation, lambda driver, work: driver.perform(work))


def read(operation: Callable[P, Operation[T]]) -> BoundOperation[P, T]:
    """Bind an operation that changes nothing."""
    return BoundOperation(operation, lambda driver, work: driver.read(work))


def write(
    *, has_effect: Callable[[Any], object] = lambda _: True
) -> Callable[
    [Callable[Concatenate[S, P], Coroutine[Any, Any, T]]], Callable[Concatenate[S, P], Coroutine[Any, Any, T]]
]:
    """Add crash points to a method that chooses how to run its operation.

    The second point is passed only if the result says that something was written.
    """

    def decorate(
        method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
    ) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
        @wraps(method)
        async def call_with_crash_points(store: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            crash_point(f"{method.__name__}.before")
            result = await method(store, *args, **kwargs)
            if has_effect(result):
                crash_point(f"{method.__name__}.after")
            return result

        setattr(call_with_crash_points, WRITES, True)
        return call_with_crash_points

    return decorate


WRITES = "__postino_writes__"


def list_crash_points(store: type) -> tuple[str, ...]:
    """Return the crash points of every write that the store has."""
    names = [name for name, value in vars(store).items() if isinstance(value, BoundWrite) or hasattr(value, WRITES)]
    return tuple(f"{name}.{side}" for name in names for side in ("before", "after"))
