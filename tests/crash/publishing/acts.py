"""What users and operators do in a chaos run, at random. Each accepted act changes what its post must become."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial

from postino import Conflict, Done, Job, NotFound, Reject, Retry, State
from postino.errors import StoreUnreachable
from postino.rules.ledger import SUSPICIONS, list_uncertain_intents
from postino.stores.records import AuditContext, DeadLetterFilter, JobFilter
from postino.values.gate import Scope
from postino.values.job import Queue
from tests.crash.publishing.harness import AcceptedPost, PublishingHarness

RECENT = 40  # posts among which users choose
USER_EVERY = 0.05
OPERATOR_EVERY = 0.3
CLOSED_FOR = (0.05, 0.8)  # seconds of a pause or a blackout
SETTLED = timedelta(seconds=5)  # after the lookup: by then no slow request and no frozen worker publishes any more
USER = AuditContext("user", "chance")


class Reply(Enum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    LOST = "lost"  # a response was lost, and the repeated act was refused


class Acts:
    """Users and operators; they act until the run is closed, and leave no gate closed."""

    def __init__(self, harness: PublishingHarness, seed: int) -> None:
        self.harness = harness
        self.user = random.Random(f"{seed} user")
        self.operator = random.Random(f"{seed} operator")
        self.closed = False
        self.counts: Counter[str] = Counter()
        self.paused: set[tuple[Scope, str]] = set()
        self.unanswered = 0

    async def use_repeatedly(self) -> None:
        acts: dict[Callable[[], Awaitable[None]], int] = {
            self.edit: 4,
            self.reschedule: 3,
            self.cancel: 1,
            self.publish_now: 2,
            self.resolve: 2,
            self.replay: 1,
        }
        while not self.closed:
            [act] = self.user.choices(list(acts), list(acts.values()))
            async with self.harness.turns.share():
                await act()
            await asyncio.sleep(USER_EVERY)

    async def operate_repeatedly(self) -> None:
        while not self.closed:
            await self.operator.choice([self.pause_and_resume, self.black_out])()
            await asyncio.sleep(OPERATOR_EVERY)

    # Users

    async def edit(self) -> None:
        posted = self.choose()
        if posted is None:
            return
        text = f"{posted.shape} {self.draw_key()}, edited"
        content, parts = posted.shape.content(text, self.harness.oracle.url), posted.shape.texts(text)
        reply = await self.send("edit", lambda: self.harness.app.posts.edit(posted.id, content, USER))
        if reply is Reply.ACCEPTED or (reply is Reply.LOST and await self.read_parts(posted) == parts):
            self.harness.change(posted, parts=parts)

    async def reschedule(self) -> None:
        posted = self.choose()
        if posted is None:
            return
        at = datetime.now(UTC) + timedelta(seconds=self.user.uniform(0, 1.5))
        reply = await self.send("reschedule", lambda: self.harness.app.posts.reschedule(posted.id, at, USER))
        if reply is not Reply.REFUSED:
            self.harness.change(posted, due_at=at if reply is Reply.ACCEPTED else None)

    async def publish_now(self) -> None:
        posted = self.choose()
        if posted is None:
            return
        regardless = self.user.random() < 0.5
        reply = await self.send(
            "publish now", lambda: self.harness.app.posts.publish_now(posted.id, USER, allow_blackout=regardless)
        )
        if reply is not Reply.REFUSED:
            self.harness.change(posted, due_at=None)

    async def cancel(self) -> None:
        posted = self.choose()
        if posted is None:
            return
        reply = await self.send("cancel", lambda: self.harness.app.cancel(posted.id, reason="chance"))
        if reply is Reply.ACCEPTED or (reply is Reply.LOST and await self.read_state(posted) is State.CANCELLED):
            self.harness.change(posted, cancelled=True)

    async def resolve(self) -> None:
        """Answer for a post that waits for a person: look at the network first, as a person would."""
        waiting = await self.list_answerable()
        if not waiting:
            return
        job = self.user.choice(waiting)
        verdict = await self.look_up(job)
        if verdict is not None:
            await self.send("resolve", lambda: self.harness.app.resolve(job.id, verdict, reason="looked"))

    async def list_answerable(self) -> list[Job]:
        try:
            uncertain = await self.harness.app.store.jobs(JobFilter(states=(State.UNCERTAIN,), limit=1000))
        except StoreUnreachable:
            return []
        late = datetime.now(UTC) - SETTLED
        return [
            job
            for job in uncertain
            if job.run_at is None and (known_at := job.lookup_at or self.harness.restored_at) and known_at < late
        ]

    async def look_up(self, job: Job) -> Done | Retry | Reject | None:
        """Return the answer, or None if a part before the last one in doubt is live: that takes longer to clear up."""
        posted = self.harness.find(job.id)
        ledger = await self.harness.app.store.ledger(job.id)
        doubts = [doubt for doubt in list_uncertain_intents(ledger) if doubt.step not in SUSPICIONS]
        parts = [int(doubt.step.removeprefix("post ")) - 1 for doubt in doubts] or [*range(len(posted.parts))]
        whose = (posted.shape.network, posted.account.handle)
        every = await asyncio.to_thread(self.harness.oracle.list_live_posts)
        of_account = [live for live in every if (live.network, live.account) == whose]
        for part in reversed(parts):
            texts = {version[part] for version in posted.versions}
            for live in of_account:
                if live.text in texts:
                    return Done(remote_id=live.remote_id) if doubts and part == parts[-1] else None
        return Retry("It is not there.") if self.user.random() < 0.7 else Reject("It is not there.")

    async def replay(self) -> None:
        try:
            letters = await self.harness.app.store.dead_letters(DeadLetterFilter(limit=100))
        except StoreUnreachable:
            return
        if letters:
            failed = self.user.choice(list(letters)).job
            await self.send("replay", lambda: self.harness.app.replay(failed.id, force=True, reason="chance"))

    def choose(self) -> AcceptedPost | None:
        return self.user.choice(self.harness.posts[-RECENT:]) if self.harness.posts else None

    def draw_key(self) -> str:
        return f"{self.user.getrandbits(64):016x}"

    async def read_parts(self, posted: AcceptedPost) -> tuple[str, ...]:
        content = json.loads((await self.harness.app.posts.get(posted.id)).content)
        return (content["body"], *content.get("thread", ()))

    async def read_state(self, posted: AcceptedPost) -> State:
        return (await self.harness.app.store.job(posted.id)).state

    # Operators

    async def pause_and_resume(self) -> None:
        scope, name = self.choose_scope()
        pause, resume = self.harness.app.pause, self.harness.app.resume
        self.paused.add((scope, name))
        async with self.harness.turns.share():
            await self.send("pause", lambda: pause(scope, name, reason="chance"))
        await asyncio.sleep(self.operator.uniform(*CLOSED_FOR))
        async with self.harness.turns.share():
            await self.send("resume", lambda: resume(scope, name, reason="chance"))

    async def black_out(self) -> None:
        scope, name = self.choose_scope()
        if scope is Scope.QUEUE:
            return
        now = datetime.now(UTC)
        start, end = (f"{now + timedelta(hours=hours):%H:%M}" for hours in (-1, 1))
        fields = {"scope": scope.value, "start": start, "end": end, "timezone": "UTC"}
        if scope is not Scope.ALL:
            fields[scope.value] = name
        gates = self.harness.app.gate_control
        async with self.harness.turns.share():
            await self.send("blackout", lambda: gates.add_blackout(fields, reason="chance"))
        await asyncio.sleep(self.operator.uniform(*CLOSED_FOR))
        async with self.harness.turns.share():
            await self.send("end of blackouts", self.remove_blackouts)

    async def remove_blackouts(self) -> None:
        for blackout in await self.harness.app.gate_control.blackouts():
            await self.harness.app.gate_control.remove_blackout(blackout.id, reason="chance")

    async def open_gates(self) -> None:
        """Open what a backup that was put back had closed."""
        for scope, name in [*self.paused]:
            await self.send("resume", partial(self.harness.app.resume, scope, name, reason="restored"))
        await self.send("end of blackouts", self.remove_blackouts)

    def choose_scope(self) -> tuple[Scope, str]:
        posted = self.operator.choice(self.harness.posts[-RECENT:]) if self.harness.posts else None
        names = {Scope.ALL: "", Scope.QUEUE: Queue.DEFAULT.label}
        if posted is not None:
            names |= {Scope.ACCOUNT: posted.account.id, Scope.CHANNEL: posted.shape.network}
            names |= {Scope.BRAND: posted.account.brand} if posted.account.brand else {}
        return self.operator.choice(list(names.items()))

    async def send(self, name: str, act: Callable[[], Awaitable[object]]) -> Reply:
        """Repeat an act until there is a response; a frozen process may hold the database."""
        refusal = Reply.REFUSED
        while True:
            try:
                await act()
            except StoreUnreachable:
                self.unanswered += 1
                refusal = Reply.LOST
            except (Conflict, NotFound):
                self.counts[f"{name}, refused"] += 1
                return refusal
            else:
                self.counts[name] += 1
                return Reply.ACCEPTED
