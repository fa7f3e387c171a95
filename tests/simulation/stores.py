"""The stores under test, side by side, under one clock that the simulation controls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import apsw

from postino.stores.operations import claims, workers
from postino.stores.operations.poll import poll as poll_operation
from postino.stores.postgres import Postgres
from postino.stores.records import ClaimRequest, WorkerInfo
from postino.stores.sqlite import Sqlite
from postino.stores.statement import Operation
from postino.stores.store import Store
from postino.values.job import Job

T = TypeVar("T")
PROBER = WorkerInfo(id="prober", host="nowhere", pid=1)
PROBE_TOKEN = UUID(int=0xFFFF)


class Clock:
    """A clock that the simulation sets."""

    def __init__(self) -> None:
        self.started_at = self.now = datetime.now(UTC).replace(microsecond=0)

    def __call__(self) -> datetime:
        return self.now


class RolledBack(Exception):
    """Rolls back a transaction and carries the jobs that it claimed."""

    def __init__(self, jobs: list[Job]) -> None:
        super().__init__()
        self.jobs = jobs


@dataclass(frozen=True)
class StoreUnderTest:
    """One store, and a fast way to empty it."""

    name: str
    store: Store
    empty: Callable[[], Awaitable[None]]

    async def list_all_claimable(self) -> list[Job]:
        """Return the jobs that repeated claims would get; the transaction is rolled back."""
        try:
            await self.store.driver.transact(claim_everything())
        except RolledBack as rolled_back:
            return rolled_back.jobs
        raise AssertionError("a transaction that was to be undone was not")


def claim_everything() -> Operation[None]:
    yield from workers.register_worker(PROBER)
    jobs: list[Job] = []
    while True:
        poll = yield from poll_operation(PROBER.id)
        order = ClaimRequest(worker=PROBER.id, token=PROBE_TOKEN, free=1000, poll=poll)
        more = yield from claims.claim(order)
        if not more:
            raise RolledBack(jobs)
        jobs += more


class StoresUnderTest:
    """Runs an action on every store and checks that all results are equal."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, sides: Sequence[StoreUnderTest]) -> None:
        self.loop = loop
        self.clock = clock
        self.sides = sides

    def on_all(self, act: Callable[[StoreUnderTest], Awaitable[T]]) -> list[T]:
        async def together() -> list[T]:
            return await asyncio.gather(*(act(side) for side in self.sides))

        return self.loop.run_until_complete(together())

    def agree(self, act: Callable[[Store], Awaitable[T]], order: Callable[[T], Any] | None = None) -> T:
        """Return the result of all stores, which must be equal after sorting with `order`."""
        answers = [order(answer) if order else answer for answer in self.on_all(lambda side: act(side.store))]
        for side, answer in zip(self.sides, answers, strict=True):
            assert answer == answers[0], difference(side.name, answer, self.sides[0].name, answers[0])
        return answers[0]


def difference(name: str, answer: Any, other_name: str, other: Any) -> str:
    if isinstance(answer, list) and isinstance(other, list):
        answer, other = [a for a in answer if a not in other], [a for a in other if a not in answer]
    return f"{name} says {answer}\nbut {other_name} says {other}"


@contextlib.contextmanager
def open_stores(clock: Clock, path: Path, postgres_url: str | None = None) -> Iterator[StoresUnderTest]:
    sides = [sqlite_side(path, clock)]
    if postgres_url is not None:
        sides.append(postgres_side(postgres_url, clock))
    with asyncio.Runner() as runner:
        world = StoresUnderTest(runner.get_loop(), clock, sides)
        world.on_all(lambda side: side.store.migrate())
        world.on_all(lambda side: side.store.open())
        try:
            yield world
        finally:
            world.on_all(lambda side: side.store.close())


def sqlite_side(path: Path, clock: Clock) -> StoreUnderTest:
    async def empty() -> None:
        connection = apsw.Connection(str(path))
        try:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'postino%'")
            tables = [name for (name,) in names if name.removeprefix("postino_") not in KEPT]
            with connection:
                for table in tables:
                    connection.execute(f"DELETE FROM {table}")
        finally:
            connection.close()

    return StoreUnderTest("SQLite", Store(Sqlite(path, clock=clock)), empty)


def postgres_side(url: str, clock: Clock) -> StoreUnderTest:
    driver = Postgres(url, clock=clock)

    async def empty() -> None:
        async with driver.connection() as connection:
            await connection.execute(
                "; ".join(f"DELETE FROM postino.{table['name']}" for table in await connection.fetch(TABLES))
            )

    return StoreUnderTest("PostgreSQL", Store(driver), empty)


KEPT = ("migrations", "database_state")
TABLES = """
SELECT relname AS name FROM pg_class
WHERE relnamespace = 'postino'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  AND relname NOT IN ('migrations', 'database_state')
"""
