"""Decides which of the concurrent operations takes its next step, which is killed, and whose answer is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg

from postino.errors import Conflict, NotFound, WrongUse
from tests.simulator.interleaving.actor import Act, Actor

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life

PATIENCE = 0.002  # seconds after which the scheduler asks the server whether a statement waits
EXPECTED = (Conflict, NotFound, WrongUse)
PATIENT = ("claim", "rescue")  # one that is frozen must not stop the others
ONLY_LOCKS = ("lock_hints_shared",)  # several that get the lock at once change nothing in their statement


class Scheduler:
    """Runs acts of a life, one step at a time. A statement that waits for a lock is left until it has it."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.actors: list[Actor] = []
        self.weights: dict[str, float] = {}

    async def run(self, acts: list[Act]) -> None:
        """Run acts concurrently, and what follows from them, until all have ended."""
        for act in acts:
            self.add(act)
        while self.actors:
            ready = [actor for actor in self.actors if actor.task is None]
            if not ready or self.life.failures:
                await self.give_up()
                return
            await self.take_step(ready)

    def add(self, act: Act) -> None:
        life = self.life
        actor = Actor(act, life.sessions.free.pop(), life.sessions.driver, life.now, life.steps)
        actor.caps = dict(life.oracle.caps)
        self.actors.append(actor)

    async def take_step(self, ready: list[Actor]) -> None:
        """Let one actor go on, or kill one."""
        life, chance = self.life, self.life.chance
        life.steps += 1
        life.let_time_pass()
        for actor in ready:
            self.weights.setdefault(actor.who, chance.choice((0.2, 1, 5)))
        if chance.random() < life.swarm.kills:
            begun = [actor for actor in self.actors if actor.is_begun]
            if begun:
                await self.kill(chance.choice(begun), "dies")
                return
        actor = chance.choices(ready, [self.weights[actor.who] for actor in ready])[0]
        try:
            actor.start(life.now, life.steps)
        except EXPECTED as error:  # before its first statement
            await self.refuse(actor, error)
            return
        await self.settle([actor])

    async def settle(self, working: list[Actor]) -> None:
        """Wait until each statement has ended, or waits for a session that does nothing."""
        while working:
            tasks = [actor.task for actor in working if actor.task is not None]
            _ = await asyncio.wait(tasks, timeout=PATIENCE)
            late = [actor for actor in working if actor.task is not None and not actor.task.done()]
            blockers = await self.life.sessions.find_blockers([actor.pid for actor in late]) if late else {}
            if not all(blockers.values()) or any(actor.task is not None and actor.task.done() for actor in late):
                continue
            is_released = False
            for actor in working:  # in the order in which they began to wait
                if actor not in late:
                    is_released = await self.complete(actor) or is_released
            working = await self.wait(late, blockers)
            if is_released:
                working += [actor for actor in self.actors if actor.blockers and actor not in working]

    async def wait(self, working: list[Actor], blockers: dict[int, set[int]]) -> list[Actor]:
        """Leave these alone until somebody else ends; return those in a deadlock, which the server will end."""
        for actor in working:
            if not actor.blockers:
                self.actors.remove(actor)  # the last that began to wait is the last in the list
                self.actors.append(actor)
                self.tell_wait(actor, [other for other in self.actors if other.pid in blockers[actor.pid]])
            actor.blockers = blockers[actor.pid]
        deadlocked = [actor for actor in self.actors if self.is_in_cycle(actor)]
        if deadlocked:
            self.life.fail(f"deadlock: {' and '.join(sorted(actor.describe() for actor in deadlocked))}")
            return deadlocked
        for actor in working:
            if actor.blockers and self.would_race(actor):
                await self.kill(actor, "gives up: it would go on at the same time as another")
        return []

    def tell_wait(self, actor: Actor, others: list[Actor]) -> None:
        names = " and ".join(sorted(other.describe() for other in others))
        self.life.tell(f"{actor.describe()} waits for {names}")
        if actor.name in PATIENT and any(other.name == actor.name for other in others):
            self.life.fail(f"wait: {actor.describe()} waits for {names}: if that one is frozen, no other can go on")

    def is_in_cycle(self, actor: Actor) -> bool:
        """Return whether an actor waits for itself."""
        seen: set[int] = set()
        left = set(actor.blockers)
        while left:
            pid = left.pop()
            if pid == actor.pid:
                return True
            if pid not in seen:
                seen.add(pid)
                left |= next((other.blockers for other in self.actors if other.pid == pid), set())
        return False

    def would_race(self, actor: Actor) -> bool:
        """Return whether another statement would go on at the same moment: the life would not be the same again."""
        if actor.query is not None and actor.query.name in ONLY_LOCKS:
            return False
        return any(
            other.blockers & actor.blockers and other.pid not in actor.blockers and actor.pid not in other.blockers
            for other in self.actors
            if other is not actor and other.blockers
        )

    async def complete(self, actor: Actor) -> bool:
        """Take the result of a statement or a COMMIT; return whether its locks are released."""
        assert actor.task is not None
        task, actor.task, actor.blockers = actor.task, None, set()
        try:
            rows = task.result()
            if actor.is_at_end():
                await self.finish(actor)
                return True
            self.life.tell_step(actor)
            actor.continue_with(rows)
        except EXPECTED as error:
            await self.refuse(actor, error)
            return True
        except asyncpg.PostgresError as error:
            await self.remove(actor)
            self.life.fail(f"error: {actor.describe()} got {type(error).__name__}: {error}")
            return True
        if actor.is_at_end() and not actor.is_in_transaction:
            await self.finish(actor)
        return not actor.act.is_transaction

    async def finish(self, actor: Actor) -> None:
        """Note what is true now, and let the caller hear of it or not."""
        life, act = self.life, actor.act
        life.tell(f"{actor.who} has done it: {act.what}{life.describe_result(actor.result)}")
        await self.remove(actor)
        life.operations[actor.name] += 1
        act.committed(actor, actor.result)
        await life.check_caps(actor)
        if life.chance.random() < life.swarm.lost_answers:
            life.tell(f"{actor.who} never hears of it")
            act.unanswered()
            return
        following = act.answered(actor.result)
        if following is not None:
            self.add(following)

    async def refuse(self, actor: Actor, error: Exception) -> None:
        self.life.tell(f"{actor.who} is refused: {error}")
        await self.remove(actor)

    async def kill(self, actor: Actor, why: str) -> None:
        """End an actor in the middle of its work, and release its locks."""
        self.life.tell(f"{actor.who} {why}")
        if actor.task is not None:
            await self.life.sessions.cancel(actor.pid)
            _ = await asyncio.wait([actor.task])
            _ = actor.task.exception()
        await self.remove(actor)
        actor.act.unanswered()
        await self.settle([other for other in self.actors if other.blockers])

    async def remove(self, actor: Actor) -> None:
        await actor.roll_back()
        actor.task, actor.blockers = None, set()
        self.actors.remove(actor)
        self.life.sessions.free.append(actor.session)

    async def give_up(self) -> None:
        """End what is left after a failure."""
        if not self.life.failures:
            self.life.fail(f"standstill: {' and '.join(actor.describe() for actor in self.actors)} wait")
        for actor in [*self.actors]:
            if actor.task is not None:
                await self.life.sessions.cancel(actor.pid)
                _ = await asyncio.wait([actor.task])
                _ = actor.task.exception()
            await self.remove(actor)
