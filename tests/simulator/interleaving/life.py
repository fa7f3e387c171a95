"""One life: operations of workers, users and operators on several connections, interleaved from one seed."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from postino.stores.records import SettledJob
from postino.stores.statement import Operation
from postino.values.job import Job
from tests.simulator.interleaving.actor import Act, Actor
from tests.simulator.interleaving.oracle import Oracle
from tests.simulator.interleaving.scheduler import Scheduler
from tests.simulator.interleaving.sessions import CONNECTIONS, Sessions
from tests.simulator.interleaving.swarm import draw_swarm

FEW_JOBS = 3  # that wait: with fewer, a user enqueues others


class Life:
    def __init__(self, seed: str, sessions: Sessions) -> None:
        self.seed = seed
        self.sessions = sessions
        self.chance = random.Random(f"{seed} interleaving")
        self.swarm = draw_swarm(seed)
        self.started_at = self.now = find_start()
        self.steps = 0
        self.ids = 0
        self.story: list[tuple[datetime, str]] = []
        self.failures: list[str] = []
        self.operations: Counter[str] = Counter()
        self.oracle = Oracle(self)
        self.scheduler = Scheduler(self)
        sessions.driver.clock = lambda: self.now

    def make_id(self) -> UUID:
        """Return the next id. Ids sort by age."""
        self.ids += 1
        return UUID(int=self.ids << 80 | 0x7 << 76 | 0x2 << 62 | self.chance.getrandbits(60))

    # The story

    def tell(self, sentence: str) -> None:
        self.story.append((self.now, sentence))

    def tell_step(self, actor: Actor) -> None:
        if actor.query is not None:
            self.tell(f"{actor.who} runs {actor.query.name} ({actor.act.what})")

    def fail(self, sentence: str) -> None:
        """Note that something has happened that must never happen."""
        self.failures.append(sentence)
        self.tell(f"BROKEN: {sentence}")

    def compute_fingerprint(self) -> str:
        """Return a hash of the story, without the date."""
        return hashlib.sha256("".join(f"{at:%H:%M:%S} {it}" for at, it in self.story).encode()).hexdigest()[:12]

    def describe_result(self, result: Any) -> str:
        """Return the jobs of a result, for the story."""
        items = result if isinstance(result, list | set | frozenset) else []
        names = sorted(
            self.oracle.describe(
                item.id if isinstance(item, Job) else item.job.id if isinstance(item, SettledJob) else item
            )
            for item in items
            if isinstance(item, Job | SettledJob | UUID)
        )
        return f": {', '.join(names) or 'nothing'}" if isinstance(result, list | set) else ""

    # Time

    def let_time_pass(self) -> None:
        """Let no two steps have the same time: of jobs with one time, the place on the disk would decide."""
        self.now += timedelta(microseconds=10)
        if self.chance.random() < self.swarm.pace:
            self.now += timedelta(seconds=self.chance.choice((1, 6, 50)))

    # Acts

    async def run(self, *acts: Act | None) -> None:
        """Run acts concurrently."""
        await self.scheduler.run([act for act in acts if act is not None])

    async def ask(self, operation: Operation[Any]) -> Any:
        """Run an operation that nothing interrupts."""
        session = self.sessions.free[-1]
        async with session.transaction():
            return await self.sessions.driver.run(session, operation)  # type: ignore[arg-type]

    async def live(self) -> None:
        """Let people and workers act, one burst after the other, and then bring everything to its end."""
        from tests.simulator.interleaving.cast import Cast
        from tests.simulator.interleaving.peace import make_peace
        from tests.simulator.interleaving.rest import check_at_rest

        await self.sessions.wipe()
        cast = Cast(self)
        await cast.begin()
        for _ in range(self.swarm.bursts):
            await self.run(*(cast.make(name) or cast.make("claim") for name in self.draw_burst()))
            self.now += timedelta(seconds=self.chance.choice((0, 0, 1, 6, 50)))
            if not self.failures:
                await check_at_rest(self)
            if self.failures:
                return
        await make_peace(self, cast)

    def draw_burst(self) -> list[str]:
        """Return what happens at the same time: a few kinds of acts, so that some meet their own kind."""
        names, weights = list(self.swarm.acts), list(self.swarm.acts.values())
        kinds = dict.fromkeys(self.chance.choices(names, weights, k=self.chance.choice((1, 2, 3, CONNECTIONS - 2))))
        burst = [*kinds, *self.chance.choices([*kinds], k=self.chance.randrange(CONNECTIONS - 1 - len(kinds)))]
        self.chance.shuffle(burst)
        waiting = [it for it in self.oracle.jobs.values() if it.token is None and not it.is_ended]
        return burst if len(waiting) >= FEW_JOBS else ["enqueue", *burst[1:]]

    async def check_caps(self, actor: Actor) -> None:
        """No claim runs more jobs of a channel than its cap; a cap that was lowered stops nothing that runs."""
        for channel in sorted({job.channel for job in actor.result} if actor.name == "claim" else ()):
            cap = actor.caps.get(channel)
            running = await self.sessions.watcher.fetchval(RUNNING, channel)
            if cap is not None and running > cap:
                self.fail(f"cap: {running} jobs of {channel} run, although its cap is {cap}")


RUNNING = "SELECT count(*) FROM postino.jobs WHERE channel = $1 AND state = 'running'"


def find_start() -> datetime:
    """Return ten o'clock on Monday of this week: for its days the database has partitions."""
    today = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0)
    return today - timedelta(days=today.weekday())


async def run_life(seed: str, sessions: Sessions) -> Life:
    """Run a life to its end, and return it with its story and failures."""
    life = Life(seed, sessions)
    await life.live()
    return life
