"""Kill a worker at every passage of every publish; others go on, and the networks' record is checked."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

from postino import State
from postino.stores.records import AuditContext
from postino.values.gate import Scope
from postino.values.provider import PromiseClass
from tests.crash.publishing.faults import Fault, Trouble
from tests.crash.publishing.harness import FOR_EVER, IN_TIME, Posted, PublishingHarness
from tests.crash.publishing.passages import Passage, is_final
from tests.crash.publishing.post_shapes import Shape
from tests.crash.publishing.verdict import judge
from tests.crash.sql import instant

TRIES = 3  # how often a network asks to be asked again is not always the same
# Between these an answer may have come that nobody has read or written down: a doubt that only the network can end.
IN_DOUBT = ("record_intents.after", "send.before", "send.after", "record_receipt.before")
PUT_DOWN = "settle.after"  # the post is in nobody's hands any more
UNHURRIED = 0.8  # seconds to begin a call: all of them are in doubt before the first is looked for
WAITING = "SELECT state, may_be_live, run_at FROM postino.jobs WHERE id IN ({ids})"

Row = tuple[Any, ...]


class Sweep:
    def __init__(self, harness: PublishingHarness) -> None:
        self.harness = harness
        self.killed: dict[UUID, Passage] = {}
        self.reached: set[str] = set()
        self.set_by: list[Posted] = []

    async def kill(self, shape: Shape, crash: str, *faults: Fault, **order: Any) -> None:
        """A worker with this one post in its hands dies exactly there."""
        for _ in range(TRIES):
            posted = await self.harness.post(shape, " ".join([crash, *map(str, faults)]), *faults)
            victim = await self.harness.start(crash=crash, concurrency=1, lease=FOR_EVER, **order)
            if await self.harness.ended(victim, unless=partial(is_final, self.harness, posted)):
                break
            await self.harness.stop(victim)
        await self.harness.died(victim, f"{shape}: {crash}")
        self.killed[posted.id] = station = Passage.of(shape, crash)
        self.reached.add(station.point)
        if crash.startswith(PUT_DOWN):
            await self.set_aside(posted)
        else:
            assert self.harness.held_by(victim) == [posted.id], f"{shape}: at {crash} it died over another post"

    async def set_aside(self, posted: Posted) -> None:
        """What is parked would be due again before the next one dies."""
        if not await is_final(self.harness, posted):
            late = datetime.now(UTC) + timedelta(days=1)
            await self.harness.app.store.start_cooldown(Scope.ACCOUNT, posted.account.id, late, "set aside")
            self.set_by.append(posted)

    async def kill_while_looking(self, groups: Sequence[tuple[Sequence[Trouble], Sequence[str]]]) -> None:
        """Posts whose answers were lost; and for each group workers that die over them when they are looked for."""
        in_doubt = await self.put_in_doubt([troubles for troubles, _ in groups])
        shapes = {posted.id: posted.shape for posted in self.harness.posts}
        for posts, (_, points) in zip(in_doubt, groups, strict=True):
            for point in points:
                if not await self.rows(posts, State.UNCERTAIN):
                    break  # a worker may have had several in its hands
                victim = await self.harness.start(crash=point, concurrency=1, lease=FOR_EVER)
                await self.harness.died(victim, f"{point}, when a post is looked for")
                self.reached.add(point)
                for held in self.harness.held_by(victim):
                    self.killed[held] = Passage(shapes[held], point, 1)

    async def put_in_doubt(self, groups: Sequence[Sequence[Trouble]]) -> list[list[Posted]]:
        """From now on they are looked for by whoever comes first, one group after the other."""
        prepared = [[(it, await self.harness.open_account(it.shape.network)) for it in group] for group in groups]
        worker = await self.harness.start(concurrency=sum(map(len, groups)), lease=FOR_EVER, send_within=UNHURRIED)
        posts: list[list[Posted]] = []
        for group in prepared:
            posts.append([await self.harness.post(it.shape, str(it), *it.faults, account=whose) for it, whose in group])
            await self.until(posts[-1], lambda rows: all(sent for _, sent, _ in rows))
        every = list(chain(*posts))
        rows = await self.until(every, lambda rows: all(state == State.UNCERTAIN for state, *_ in rows))
        await self.harness.stop(worker)
        due_at = max(instant(run_at) for *_, run_at in rows)
        await asyncio.sleep((due_at - datetime.now(UTC)).total_seconds())
        return posts

    async def until(self, posts: Iterable[Posted], so: Callable[[list[Row]], bool]) -> list[Row]:
        """What they are once they are all so; one that has ended after all is of no interest."""
        async with asyncio.timeout(IN_TIME):
            while not so(rows := await self.rows(posts)):  # noqa: ASYNC110 - another process changes them
                await asyncio.sleep(0.02)
        return rows

    async def rows(self, posts: Iterable[Posted], *states: State) -> list[Row]:
        wanted = WAITING.format(ids=", ".join(f"'{posted.id}'" for posted in posts))
        rows = await asyncio.to_thread(self.harness.sql.ask, wanted)
        return [row for row in rows if not states or row[0] in states]

    async def kill_all_at(self, crash: str, **order: Any) -> None:
        """Whatever is due is in the hands of a worker that dies there."""
        victim = await self.harness.start(crash=crash, **order)
        await self.harness.died(victim, crash)

    async def finish(self, **order: Any) -> None:
        """Others go on."""
        for posted in self.set_by:
            await self.harness.app.store.end_cooldown(Scope.ACCOUNT, posted.account.id, AuditContext("test"))
        await self.harness.settle_all(workers=2 + len(self.killed) // 100, **order)

    async def check(self) -> None:
        verdict = await judge(self.harness)
        assert verdict.violations == []
        assert verdict.asked == {}, "where a network can be asked, no person has to be"
        for post_id, station in self.killed.items():
            if station.shape.grade is PromiseClass.D and station.point in IN_DOUBT:
                job = await self.harness.app.store.job(post_id)
                assert job.state is State.UNCERTAIN, f"{station}: nobody can know whether it is out there"
