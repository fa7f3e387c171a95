"""One operation on one connection, a statement at a time, as an actor of a life performs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from postino.stores.postgres import Postgres
from postino.stores.statement import Operation, Query, Row

if TYPE_CHECKING:
    from tests.simulator.interleaving.sessions import Session


def ignore(*_: Any) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What somebody does, and what follows from it."""

    who: str
    what: str  # a verb and its objects, for the story
    begin: Callable[[], Operation[Any]]
    is_transaction: bool = True
    committed: Callable[[Actor, Any], None] = ignore  # called when it is true, whether or not the caller hears of it
    answered: Callable[[Any], Act | None] = ignore  # what the caller does with the result
    unanswered: Callable[[], None] = ignore  # what a caller does that waits in vain


class Actor:
    """Performs an act. Between its statements anything else may happen."""

    def __init__(self, act: Act, session: Session, driver: Postgres, now: datetime, step: int) -> None:
        self.act = act
        self.session = session
        self.driver = driver
        self.now = now  # of the transaction
        self.begun_at = self.statement_at = step
        self.operation = act.begin()
        self.query: Query | None = None  # None: the next step is the COMMIT
        self.result: Any = None
        self.is_begun = False
        self.is_in_transaction = False
        self.task: asyncio.Task[Sequence[Row]] | None = None
        self.blockers: set[int] = set()  # the sessions that it waits for
        self.caps: dict[str, int | None] = {}  # the highest since it began

    @property
    def pid(self) -> int:
        return self.session.get_server_pid()

    @property
    def who(self) -> str:
        return self.act.who

    @property
    def name(self) -> str:
        """Return the name of the operation."""
        return self.operation.gi_code.co_name  # type: ignore[attr-defined, no-any-return]

    def is_at_end(self) -> bool:
        """Return whether its last statement has run."""
        return self.query is None

    def describe(self) -> str:
        at = "COMMIT" if self.query is None else self.query.name
        return f"{self.who} ({self.act.what}, at {at})"

    def start(self, now: datetime, step: int) -> None:
        """Start the next step: a statement, or the COMMIT."""
        if not self.is_begun:
            self.is_begun, self.begun_at, self.now = True, step, now
            self.continue_with(None)
        elif not self.act.is_transaction:
            self.now = now
        self.statement_at = step
        self.task = asyncio.create_task(self.work())

    async def work(self) -> Sequence[Row]:
        if self.query is None:
            if self.is_in_transaction:
                await self.session.execute("COMMIT")
            return []
        if self.act.is_transaction and not self.is_in_transaction:
            await self.session.execute("BEGIN")
            self.is_in_transaction = True
        query = self.query
        return await self.driver.execute(
            self.session,  # type: ignore[arg-type]
            Query(query.name, {"now": self.now, **query.params}, query.rows),
        )

    def continue_with(self, rows: Sequence[Row] | None) -> None:
        """Give the operation the rows that it asked for, and take its next query. Raises what the operation raises."""
        try:
            self.query = next(self.operation) if rows is None else self.operation.send(rows)
            while self.query.rows == []:
                self.query = self.operation.send([])
        except StopIteration as end:
            self.query, self.result = None, end.value

    async def roll_back(self) -> None:
        self.operation.close()
        if self.session.is_in_transaction():
            await self.session.execute("ROLLBACK")
