"""What happens to the processes, the database and the networks during a life."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from postino.sandbox import accounts as sandbox_accounts
from postino.sandbox.network_state import SandboxAccount
from postino.stores.records import AuditContext, JobFilter
from postino.stores.store import Store
from postino.testing.simulation.script import Act
from postino.values.database import DatabaseAnswer, Standing
from postino.values.job import Job
from tests.simulator import site

if TYPE_CHECKING:
    from tests.simulator.life import Life

OPERATOR = AuditContext("operator", "a backup was put back")


class Platform:
    def __init__(self, life: Life) -> None:
        self.life = life
        self.chance = life.chance  # of the event
        self.workers: list[str] = []
        self.backups: list[bytes] = []
        self.store = Store(life.database)  # for those who look without failing

    async def do_event(self, event: Act) -> None:
        self.chance = self.life.draw_act("event", event)
        await getattr(self, event.name)()

    async def read(self, operation: str) -> Any:
        return await getattr(self.store, operation)()

    async def list_jobs(self) -> list[Job]:
        """Return all jobs as they are, whatever the connections of the life do."""
        return [*await self.store.jobs(JobFilter(limit=1000))]

    # Processes

    async def kill(self) -> None:
        name = self.chance.choice(self.workers)
        self.workers.remove(name)
        self.life.tell(f"{name} is killed")
        self.life.kill(name)
        await asyncio.sleep(self.chance.choice((0.0, 0.0, 2.0, 10.0)))
        self.workers.append(self.life.start_worker())

    async def freeze(self) -> None:
        name, seconds = self.chance.choice(self.workers), self.chance.choice((0.5, 2.0, 6.0, 15.0))
        self.life.tell(f"{name} is frozen for {seconds:g} s")
        self.life.loop.freeze(name, seconds)

    async def restart(self) -> None:
        """Stop all workers properly and start others."""
        for name in self.workers:
            app = self.life.apps[name]
            if app.worker is not None:
                app.worker.stop()
        self.life.tell("all workers are stopped")
        await asyncio.sleep(6.0)
        for name in [*self.workers]:
            self.life.kill(name)  # what has not ended by then
        self.workers = [self.life.start_worker() for _ in self.workers]

    async def skew_clock(self) -> None:
        name, seconds = self.chance.choice(self.workers), self.chance.choice((-30, -2, 3, 60))
        self.life.source.skew[name] = seconds
        self.life.tell(f"the clock of {name} is set by {seconds} s")

    # The database

    async def outage(self) -> None:
        seconds = self.chance.choice((1.0, 5.0, 12.0))
        self.life.tell(f"the database cannot be reached for {seconds:g} s")
        self.life.is_away = True
        await asyncio.sleep(seconds)
        self.life.is_away = False

    async def back_up(self) -> None:
        self.life.tell("an operator makes a backup")
        self.backups.append(self.life.database.connection.serialize("main"))

    async def put_back(self) -> None:
        if not self.backups:
            return
        self.life.tell("an operator puts a backup back")
        self.life.database.connection.deserialize("main", self.chance.choice(self.backups))
        self.life.database.place = site.PLACE.format(self.life.next_number())  # another file under the same path
        for promise in self.life.oracle.promises.values():
            promise.is_relaxed = True
        self.life.oracle.held.clear()
        self.life.restores += 1

    async def answer_restored(self) -> None:
        state = await self.life.server.store.database_state()
        if state.standing is Standing.ASKED:
            self.life.tell("an operator answers that the database was restored")
            await self.life.server.store.accept_database(
                DatabaseAnswer.RESTORED, None, uuid4().hex, uuid4().hex, OPERATOR
            )

    # The networks

    async def block_account(self) -> None:
        await self.set_blocked(True)

    async def unblock_account(self) -> None:
        await self.set_blocked(False)

    async def set_blocked(self, blocked: bool) -> None:
        network, _, handle = self.chance.choice(self.life.accounts).partition(":")
        sandbox_accounts.set_blocked(self.life.sandbox.connection, SandboxAccount(network, handle, "", {}), blocked)
        self.life.tell(f"{network} {'blocks' if blocked else 'unblocks'} {handle}")

    async def heal(self) -> None:
        """End every trouble."""
        life = self.life
        life.is_away = False
        life.loop.frozen = {name: (life.loop.seconds, handles) for name, (_, handles) in life.loop.frozen.items()}
        life.source.skew.clear()
        life.sandbox.connection.execute("UPDATE accounts SET blocked = 0")
        life.sandbox.connection.execute("DELETE FROM limits")
