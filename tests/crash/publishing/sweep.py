"""Kill a worker at every passage of every publish; other workers continue, and the live posts are checked."""

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
from tests.crash.publishing.faults import Fault, FaultCase
from tests.crash.publishing.harness import FOR_EVER, IN_TIME, AcceptedPost, PublishingHarness
from tests.crash.publishing.passages import Passage, is_final
from tests.crash.publishing.post_shapes import Shape
from tests.crash.publishing.verdict import judge
from tests.crash.sql import instant

TRIES = 3  # the number of polls of a network varies
# Between these a response may exist that was not recorded: only a lookup can end this doubt.
IN_DOUBT = ("record_intents.after", "send.before", "send.after", "record_receipt.before")
PUT_DOWN = "settle.after"  # no worker has claimed the post any more
UNHURRIED = (0.8, 3.0, 12.0)  # seconds to start a call: all posts are to be in doubt before the first lookup
WAITING = "SELECT state, may_be_live, run_at FROM postino.jobs WHERE id IN ({ids})"

Row = tuple[Any, ...]


class Sweep:
    def __init__(self, harness: PublishingHarness) -> None:
        self.harness = harness
        self.killed: dict[UUID, Passage] = {}
        self.reached: set[str] = set()
        self.set_by: list[AcceptedPost] = []

    async def kill(self, shape: Shape, crash: str, *faults: Fault, **order: Any) -> None:
        """Kill a worker at this crash point while it runs one post."""
        for _ in range(TRIES):
            posted = await self.harness.post(shape, " ".join([crash, *map(str, faults)]), *faults)
            victim = await self.harness.start(crash=crash, concurrency=1, lease=FOR_EVER, **order)
            if await self.harness.has_died(victim, unless=partial(is_final, self.harness, posted)):
                break
        await self.harness.expect_death(victim, f"{shape}: {crash}")
        self.killed[posted.id] = passage = Passage.from_crash_point(shape, crash)
        self.reached.add(passage.point)
        if crash.startswith(PUT_DOWN):
            await self.set_aside(posted)
        else:
            assert self.harness.list_claimed_posts(victim) == [posted.id], (
                f"{shape}: at {crash} it died over another post"
            )

    async def set_aside(self, posted: AcceptedPost) -> None:
        """Hold back a deferred post, which would be due again before the next kill."""
        if not await is_final(self.harness, posted):
            late = datetime.now(UTC) + timedelta(days=1)
            await self.harness.app.store.start_cooldown(Scope.ACCOUNT, posted.account.id, late, "set aside")
            self.set_by.append(posted)

    async def kill_while_looking(self, groups: Sequence[tuple[Sequence[FaultCase], Sequence[str]]]) -> None:
        """Kill workers while they look up posts whose responses were lost."""
        in_doubt = await self.put_in_doubt([cases for cases, _ in groups])
        shapes = {posted.id: posted.shape for posted in self.harness.posts}
        for posts, (_, points) in zip(in_doubt, groups, strict=True):
            for point in points:
                if not await self.rows(posts, State.UNCERTAIN):
                    break  # a worker may have claimed several
                victim = await self.harness.start(crash=point, concurrency=1, lease=FOR_EVER)
                await self.harness.expect_death(victim, f"{point}, during a lookup")
                self.reached.add(point)
                for held in self.harness.list_claimed_posts(victim):
                    self.killed[held] = Passage(shapes[held], point, 1)

    async def put_in_doubt(self, groups: Sequence[Sequence[FaultCase]]) -> list[list[AcceptedPost]]:
        """Publish posts whose responses are lost, and wait until their lookups are due."""
        for send_within in UNHURRIED:
            posts = await self.lose_responses(groups, send_within)
            rows = await self.rows(chain(*posts), State.UNCERTAIN)
            if len(rows) == sum(map(len, groups)):
                due_at = max(instant(run_at) for *_, run_at in rows)
                await asyncio.sleep((due_at - datetime.now(UTC)).total_seconds())
                return posts
            await self.harness.settle_all(workers=1)  # this machine was too slow: other posts get more time
        raise AssertionError("the first lookup always came before all posts were in doubt")

    async def lose_responses(
        self, groups: Sequence[Sequence[FaultCase]], send_within: float
    ) -> list[list[AcceptedPost]]:
        """Publish the groups one after the other with one worker, and stop it once all are in doubt, or some ended."""
        prepared = [[(it, await self.harness.open_account(it.shape.network)) for it in group] for group in groups]
        worker = await self.harness.start(concurrency=sum(map(len, groups)), lease=FOR_EVER, send_within=send_within)
        posts: list[list[AcceptedPost]] = []
        for group in prepared:
            posts.append([await self.harness.post(it.shape, str(it), *it.faults, account=whose) for it, whose in group])
            await self.until(posts[-1], lambda rows: all(sent for _, sent, _ in rows))
        every = list(chain(*posts))
        await self.until(
            every, lambda rows: len(rows) < len(every) or all(state == State.UNCERTAIN for state, *_ in rows)
        )
        await self.harness.stop(worker)
        return posts

    async def until(self, posts: Iterable[AcceptedPost], so: Callable[[list[Row]], bool]) -> list[Row]:
        """Wait until the unfinished posts fulfil the condition, and return their rows."""
        async with asyncio.timeout(IN_TIME):
            while not so(rows := await self.rows(posts)):  # noqa: ASYNC110 - another process changes them
                await asyncio.sleep(0.02)
        return rows

    async def rows(self, posts: Iterable[AcceptedPost], *states: State) -> list[Row]:
        query = WAITING.format(ids=", ".join(f"'{posted.id}'" for posted in posts))
        rows = await asyncio.to_thread(self.harness.sql.ask, query)
        return [row for row in rows if not states or row[0] in states]

    async def kill_all_at(self, crash: str, **order: Any) -> None:
        """Kill a worker at this crash point while it runs all due posts."""
        victim = await self.harness.start(crash=crash, **order)
        await self.harness.expect_death(victim, crash)

    async def finish(self, **order: Any) -> None:
        """Run workers until all posts are settled."""
        for posted in self.set_by:
            await self.harness.app.store.end_cooldown(Scope.ACCOUNT, posted.account.id, AuditContext("test"))
        await self.harness.settle_all(workers=2 + len(self.killed) // 100, **order)

    async def check(self) -> None:
        verdict = await judge(self.harness)
        assert verdict.violations == []
        assert verdict.left_to_person == {}, "no person has to decide where the network has a lookup"
        for post_id, passage in self.killed.items():
            if passage.shape.grade is PromiseClass.D and passage.point in IN_DOUBT:
                job = await self.harness.app.store.job(post_id)
                assert job.state is State.UNCERTAIN, f"{passage}: only a person can know whether it is live"
