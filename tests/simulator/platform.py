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
from tests.simulator.invariants import WatchedDatabase

if TYPE_CHECKING:
    from tests.simulator.life import Life

OPERATOR = AuditContext("operator", "a backup was put back")


class Platform:
    def __init__(self, life: Life) -> None:
        self.life = life
        self.chance = life.chance  # of the event
        self.workers: list[str] = []
        self.backups: list[bytes] = []
        self.standby: bytes | None = None  # what a standby has received
        self.copies: list[str] = []  # workers on copies of the database
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
        if not self.workers:
            return
        name = self.chance.choice(self.workers)
        self.workers.remove(name)
        self.life.tell(f"{name} is killed")
        self.life.kill(name)
        await asyncio.sleep(self.chance.choice((0.0, 0.0, 2.0, 10.0)))
        self.workers.append(self.life.start_worker())

    def stop_at(self, name: str, point: str) -> None:
        """Kill or freeze a worker at a crash point."""
        seconds = self.life.chance_to_stop.choice((0.0, 3.0, 12.0, 20.0))
        self.life.tell(f"{name} is {f'frozen for {seconds:g} s' if seconds else 'killed'} at {point}")
        self.workers.remove(name)
        if seconds:
            self.life.loop.freeze(name, seconds)
        else:
            self.life.kill(name)
        _ = self.life.loop.spawn("supervisor", self.start_again(name, seconds))

    async def start_again(self, name: str, seconds: float) -> None:
        """Replace a worker soon, as a supervisor does. One that was frozen may wake up beside the new one."""
        await asyncio.sleep(2.0)
        other = self.life.start_worker()
        self.workers.append(other)
        await asyncio.sleep(seconds)
        if seconds:
            self.workers.append(name)

    async def freeze(self) -> None:
        if not self.workers:
            return
        name, seconds = self.chance.choice(self.workers), self.chance.choice((0.5, 2.0, 6.0, 20.0))
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

    async def start_with_other_settings(self) -> None:
        """Replace a worker by one with another cap and a blackout in its settings."""
        if not self.workers:
            return
        name = self.chance.choice(self.workers)
        self.workers.remove(name)
        self.life.kill(name)
        self.workers.append(self.life.start_worker(site.OTHER_CONFIG))

    async def jump_clock(self) -> None:
        seconds = self.chance.choice((-30.0, -3.0, 1.0, 2.0))
        self.life.database.jump += seconds
        self.life.tell(f"the clock of the database jumps by {seconds:g} s")

    async def skew_clock(self) -> None:
        if not self.workers:
            return
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
        """Restore a backup: into the same file or another one, beside the workers or while they are stopped."""
        if not self.backups:
            return
        backup, is_stopped, is_same = self.chance.choice(self.backups[-3:]), self.draw_bool(), self.draw_bool()
        how = f"{'the same' if is_same else 'another'} file, {'without' if is_stopped else 'beside'} workers"
        self.life.tell(f"an operator puts a backup back into {how}")
        if is_stopped:
            for name in self.workers:
                self.life.kill(name)
        self.restore(backup, is_same=is_same)
        if is_stopped:
            self.workers = [self.life.start_worker() for _ in self.workers]

    def draw_bool(self) -> bool:
        return self.chance.random() < 0.5

    async def follow(self, end: float) -> None:
        """Receive what a standby receives: always a little late."""
        while self.life.loop.seconds < end:
            self.standby = self.life.database.connection.serialize("main")
            await asyncio.sleep(self.chance.expovariate(1 / 2.0))

    async def fail_over(self) -> None:
        if self.standby is None:
            return
        self.life.tell("the database fails over to a standby that has not received everything")
        self.life.is_away, tail = True, self.standby
        await asyncio.sleep(self.chance.choice((0.0, 1.0, 4.0)))
        self.restore(tail, is_same=True)
        self.life.is_away = False

    async def copy(self) -> None:
        """Start a worker on a copy of the database, on another machine, beside the original."""
        name = f"worker {self.life.next_number()} of a copy"
        database = WatchedDatabase(self.life)
        database.connection.deserialize("main", self.life.database.connection.serialize("main"))
        database.place = site.OTHER_MACHINE.format(self.life.next_number())
        self.life.tell(f"{name} starts on a copy of the database")
        app = self.life.make_app(name, database=database, state_dir=self.life.state_dir / name)
        _ = self.life.loop.spawn(name, self.life.run_worker(name, app))
        self.copies.append(name)

    async def fill_disk(self) -> None:
        seconds = self.chance.choice((1.0, 4.0, 10.0))
        self.life.tell(f"the disk is full for {seconds:g} s")
        self.life.is_full = True
        await asyncio.sleep(seconds)
        self.life.is_full = False

    def restore(self, content: bytes, *, is_same: bool) -> None:
        """Put an old state in place of the database."""
        self.life.database.connection.deserialize("main", content)
        if not is_same:
            self.life.database.place = site.PLACE.format(self.life.next_number())  # another file under the same path
        for promise in self.life.oracle.promises.values():
            promise.is_relaxed = True
        self.life.oracle.held.clear()
        self.life.reconnected.clear()
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
        account = self.chance.choice(self.life.accounts)
        network, _, handle = account.partition(":")
        handle = self.life.connected_to.get(account, handle)
        sandbox_accounts.set_blocked(self.life.sandbox.connection, SandboxAccount(network, handle, "", {}), blocked)
        self.life.tell(f"{network} {'blocks' if blocked else 'unblocks'} {handle}")

    async def expire_tokens(self) -> None:
        account = self.chance.choice(self.life.accounts)
        network, _, handle = account.partition(":")
        handle = self.life.connected_to.get(account, handle)
        self.life.reconnected.discard(account)
        self.life.expired.add(account)
        sandbox_accounts.set_expired(
            self.life.sandbox.connection, SandboxAccount(network, handle, "", {}), "access", True
        )
        self.life.tell(f"the tokens of {handle} on {network} expire")

    async def skew_network(self) -> None:
        seconds = self.chance.choice(site.NETWORK_SKEWS)
        self.life.source.skew["network"] = seconds
        self.life.tell(f"the clocks of the networks are wrong by {seconds} s")

    async def heal(self) -> None:
        """End every trouble. What is frozen stays so: it wakes up when others have done its work."""
        life = self.life
        life.is_away = life.is_full = False
        for name in self.copies:
            life.kill(name)
        life.sandbox.connection.execute("UPDATE tokens SET expires_at = NULL WHERE kind = 'access'")
        life.source.skew.clear()
        life.sandbox.connection.execute("UPDATE accounts SET blocked = 0")
        life.sandbox.connection.execute("DELETE FROM limits")
