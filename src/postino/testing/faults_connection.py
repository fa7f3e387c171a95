"""The database connection of a worker that may die right before or after it writes."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from postino.stores.statement import Operation
from postino.testing.simulation.loop import process_name
from postino.testing.simulation.narration import NarratedConnection

T = TypeVar("T")
WORK = ("claim", "get_ledger", "record_intents", "save_step", "settle")  # what a worker does to a job


class MortalConnection(NarratedConnection):
    """`die` ends the process. Nothing of it runs after that."""

    def __init__(self, *arguments: Any, die: Callable[[str], None]) -> None:
        super().__init__(*arguments)
        self.die = die

    async def run(self, operation: Operation[T]) -> T:
        name = operation.gi_code.co_name  # type: ignore[attr-defined]
        if self.is_hit(name):
            await self.end(f"before “{name.replace('_', ' ')}”")
        result = await super().run(operation)
        if self.is_hit(name):
            await self.end(f"after “{name.replace('_', ' ')}”")
        return result

    def is_hit(self, name: str) -> bool:
        return name in WORK and self.chance.random() < self.rates.get("crash", 0.0)

    async def end(self, when: str) -> None:
        self.tell(f"{process_name.get()} dies {when}")
        self.die(process_name.get())
        await asyncio.sleep(0)  # for ever: its process is dead
