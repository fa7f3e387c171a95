"""The database of a simulation: one SQLite database in memory, which each simulated process reaches by a connection.

A transaction is atomic. Before and after it the connection can wait, break, or lose the response to a commit.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from postino.errors import StoreUnreachable
from postino.stores.memory import MemoryDriver
from postino.stores.statement import Operation

T = TypeVar("T")
LATENCIES = (0.0, 0.0, 0.001, 0.01, 0.05)


class SimulatedConnection:
    """A driver for one process. `rates` has the probability of each fault.

    `is_away` tells of an outage, `is_full` of a disk on which nothing can be written.
    """

    dialect = "sqlite"

    def __init__(
        self,
        database: MemoryDriver,
        chance: random.Random,
        rates: Mapping[str, float],
        is_away: Callable[[], bool] = lambda: False,
        is_full: Callable[[], bool] = lambda: False,
    ) -> None:
        self.database = database
        self.chance = chance
        self.rates = rates
        self.is_away = is_away
        self.is_full = is_full

    async def open(self) -> None:
        """Do nothing: the tables exist."""

    async def close(self) -> None:
        """Do nothing: other processes use the database."""

    async def migrate(self) -> list[str]:
        return []

    async def transact(self, operation: Operation[T], *, lock_timeout: float | None = None) -> T:
        if self.is_full():
            operation.close()
            raise StoreUnreachable("The simulated disk is full. Nothing was changed.")
        return await self.run(operation)

    perform = transact

    async def read(self, operation: Operation[T]) -> T:
        return await self.run(operation)

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation on the database. The connection may break before or after it."""
        try:
            await asyncio.sleep(self.chance.choice(LATENCIES))
            if self.is_away() or self.chance.random() < self.rates.get("store_before", 0.0):
                raise StoreUnreachable("The simulated connection broke before the transaction.")
        except BaseException:
            operation.close()
            raise
        result = await self.database.transact(operation)
        await asyncio.sleep(self.chance.choice(LATENCIES))
        if self.is_away() or self.chance.random() < self.rates.get("store_after", 0.0):
            raise StoreUnreachable("The simulated connection broke after the transaction.")
        return result

    async def join(self, connection: Any, operation: Operation[T]) -> T:
        return await self.database.join(connection, operation)
