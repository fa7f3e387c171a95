"""Those who act in a life: workers, users, operators and a reader of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulator.interleaving.actor import Act
from tests.simulator.interleaving.operators import Operators
from tests.simulator.interleaving.reader import Reader
from tests.simulator.interleaving.users import Users
from tests.simulator.interleaving.workers import Workers

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life


class Cast:
    def __init__(self, life: Life) -> None:
        self.life = life
        self.workers = Workers(life)
        self.users = Users(life)
        self.operators = Operators(life)
        self.reader = Reader(life)
        self.groups = (self.workers, self.users, self.operators, self.reader)

    async def begin(self) -> None:
        await self.workers.begin()
        await self.operators.begin()
        for _ in range(3):
            await self.life.run(self.users.enqueue())

    def make(self, name: str) -> Act | None:
        """Return what somebody wants to do now; None if there is nothing of the kind to do."""
        [method] = [getattr(group, name) for group in self.groups if hasattr(group, name)]
        act: Act | None = method()
        return act
