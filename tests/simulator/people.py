"""What users and operators do during a life, one act at a time, through the services that the API calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from postino.errors import NotFound, StoreUnreachable
from postino.publishing.imports import Importer
from postino.publishing.post_request import PostRequest
from postino.publishing.post_validation import InvalidPost
from postino.stores.records import JobFilter
from postino.values.content import Content, MediaRef
from postino.values.job import Job, State
from postino.values.outcome import Done, Reject, Retry
from tests.simulator.operators import CONTEXT, EXPECTED, Operator
from tests.simulator.oracle import Promise

if TYPE_CHECKING:
    from tests.simulator.life import Life

MAX_WAITING = 10  # posts that wait at the same time
FAR = timedelta(days=1)
HOSTILE = (
    "\u202eright to left", "family \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "##tag #tag #",
    "a\x07b\x1bc", "tab\tand\nline", "'; DROP TABLE postino_jobs; --", "%s {} \\u0000", "@someone@example.com",
    "<b>&amp;</b> https://example.com/?a=b&c=d.", "e\u0301" * 60, "\ufeff\u200b", "\U0010ffff",
)  # fmt: skip


class Person(Operator):
    """A user, who may do what an operator does, too."""

    def __init__(self, life: Life) -> None:
        super().__init__(life)
        self.requests: list[tuple[int, PostRequest, datetime]] = []

    # Posts

    async def publish(self) -> None:
        await self.create(None)

    async def schedule(self) -> None:
        await self.create(self.life.now() + timedelta(seconds=self.chance.choice((0.5, 2, 5, 12))))

    async def schedule_far(self) -> None:
        await self.create(self.life.now() + self.chance.choice((timedelta(days=400), timedelta(days=365 * 60))))

    def write_text(self, text: str) -> str:
        return f"{text} {self.chance.choice(HOSTILE)}" if self.chance.random() < 0.1 else text

    async def create(self, at: datetime | None) -> None:
        if len(await self.list_unfinished()) >= MAX_WAITING:
            return
        number, known = self.number, self.life.script.accounts
        chosen = self.chance.sample(self.life.accounts, self.chance.choice((1, 1, 2, 3)))
        accounts = [it for it in chosen if known is None or it in known]
        if not accounts:
            return
        count = self.chance.choice((0, 0, 0, 0, 0, 1, 2))
        media = (MediaRef(url=self.life.media_url),) * count  # equal ones may be merged
        until = None if self.chance.random() < 0.85 else (at or self.life.now()) + timedelta(seconds=30)
        content = Content(body=self.write_text(f"post {number}"), media=media)
        request = PostRequest(content=content, accounts=tuple(accounts), at=at, publish_until_at=until)
        request = replace(request, key=f"key {number}")
        await self.submit(number, request)
        self.requests.append((number, request, self.life.now()))

    async def submit(self, number: int, request: PostRequest) -> None:
        """Send a request until it is answered, and remember what it promises."""
        when = f"at {request.at:%H:%M:%S}" if request.at else "now"
        before, restores = self.life.now(), self.life.restores
        self.oracle.unanswered.add(number)
        try:
            saved = await self.persist(lambda: self.app.posts.schedule(request))
        except InvalidPost:
            self.oracle.unanswered.remove(number)
            raise
        self.oracle.unanswered.remove(number)
        for one in saved:
            job = one.post.job
            self.oracle.promises[job.id] = Promise(
                job=job.id, number=number, account=job.account or "", texts={request.content.body},
                due_at=request.at or before,
                is_relaxed=self.life.restores > restores,
            )  # fmt: skip
        self.life.tell(f"a user writes post {number} for {', '.join(request.accounts)}, to go out {when}")

    async def click_again(self) -> None:
        """Send a request of the last minutes again, as a second click does: without its key."""
        recent = [it for it in self.requests[-4:] if it[1].at is None]
        if not recent:
            return
        number, request, _ = self.chance.choice(recent)
        known = {it.job for it in self.oracle.promises.values() if it.number == number}
        same = [it for it in self.oracle.promises.values() if it.number == number]
        is_unchanged = all(it.texts == {request.content.body} and not it.moved and not it.is_relaxed for it in same)
        states = {it.state for it in await self.life.platform.list_jobs() if it.id in known}
        again = replace(request, key=None) if self.chance.random() < 0.5 else request
        self.life.tell(f"a user sends the request of post {number} again {'with' if again.key else 'without'} its key")
        saved = await self.persist(lambda: self.app.posts.schedule(again))
        for one in saved:
            job = one.post.job
            if job.id in known:
                continue
            if again.key is not None and not any(it.is_relaxed for it in same):
                self.life.fail(f"key: the key of post {number} gave a second post")
            elif is_unchanged and not states & {State.CANCELLED, State.FAILED}:
                self.life.fail(f"second click: post {number} was accepted twice")
            self.oracle.promises[job.id] = Promise(
                job=job.id, number=number, account=job.account or "", texts={request.content.body},
                due_at=self.life.now() - timedelta(seconds=60),
            )  # fmt: skip

    async def import_twice(self) -> None:
        """Import a file, and send it again while it is being saved."""
        if len(await self.list_unfinished()) >= MAX_WAITING:
            return
        number, at = self.number, self.life.now() + timedelta(seconds=self.chance.choice((3, 8)))
        accounts = self.chance.sample(self.life.accounts, 2)
        text = f"post {number} imported"
        file = f'text,accounts,at\n{text},"{",".join(accounts)}",{at.isoformat()}\n'.encode()
        self.life.tell(f"a user imports a file with post {number} for {', '.join(accounts)} twice")
        self.oracle.unanswered.add(number)
        restores = self.life.restores
        known = {account.id: account for account in await self.app.store.accounts()}
        importer = Importer(self.app.store, self.app.post_validator)
        checked = await self.persist(lambda: importer.check(file, "UTC", known, "person", "person"))

        async def save() -> None:
            await importer.save(await self.app.store.import_by_id(checked.id), known, "person")

        await asyncio.gather(self.persist(save), self.persist(save))
        self.promise_imported(number, text, at, await self.life.platform.list_jobs(), self.life.restores > restores)

    def promise_imported(self, number: int, text: str, at: datetime, jobs: list[Job], is_relaxed: bool) -> None:
        made: dict[str, UUID] = {}
        for job in jobs:
            if text.encode() not in job.payload:
                continue
            account = job.account or ""
            if account in made:
                self.life.fail(f"import: post {number} of {account} exists twice")
            made[account] = job.id
            self.oracle.promises[job.id] = Promise(
                job=job.id, number=number, account=account, texts={text}, due_at=at, is_relaxed=is_relaxed
            )
        self.oracle.unanswered.discard(number)

    async def write_same(self) -> None:
        """Write a post with the text of another one, for which a lookup may take it."""
        if not self.requests or len(await self.list_unfinished()) >= MAX_WAITING:
            return
        number, request, _ = self.chance.choice(self.requests[-4:])
        await self.submit(number, replace(request, key=f"key {number} again {self.number}"))

    async def edit(self) -> None:
        promise, _ = await self.choose_unfinished()
        text = self.write_text(f"post {promise.number} edit {self.number}")
        before = set(promise.texts)
        promise.texts.add(text)
        self.life.tell(f"a user edits post {promise.number} of {promise.account}")
        try:
            await self.app.posts.edit(promise.job, Content(body=text), CONTEXT)
        except StoreUnreachable:
            raise
        except EXPECTED:
            promise.texts = before
            raise
        promise.texts = {text}

    async def reschedule(self) -> None:
        promise, _ = await self.choose_unfinished()
        at = self.life.now() + timedelta(seconds=self.chance.choice((1, 4, 15)))
        before, promise.due_at, promise.moved = promise.due_at, min(promise.due_at, at), True
        self.life.tell(f"a user moves post {promise.number} of {promise.account} to {at:%H:%M:%S}")
        try:
            await self.app.posts.reschedule(promise.job, at, CONTEXT)
        except StoreUnreachable:
            raise
        except EXPECTED:
            promise.due_at = before
            raise
        promise.due_at = at

    async def publish_scheduled_now(self) -> None:
        promise, _ = await self.choose_unfinished()
        promise.due_at = min(promise.due_at, self.life.now())
        self.life.tell(f"a user publishes post {promise.number} of {promise.account} now")
        await self.app.posts.publish_now(promise.job, CONTEXT)

    async def cancel(self) -> None:
        promise, _ = await self.choose_unfinished()
        same = self.oracle.find_promises(promise.number, promise.account)
        was_live = len(self.oracle.list_live(promise)) >= len(same)  # or it may be another one with this text
        self.life.tell(f"a user cancels post {promise.number} of {promise.account}")
        job = await self.app.cancel(promise.job, reason="changed my mind", actor="person")
        if job.state is State.CANCELLED:
            promise.cancelled = True
            if was_live and not promise.is_relaxed and promise.allowed == 1:
                self.life.fail(f"cancelled live post: post {promise.number} of {promise.account} was live before")

    async def cancel_far(self) -> None:
        """Cancel the posts that are due too late for this life."""
        for job in await self.list_unfinished():
            promise = self.oracle.promises.get(job.id)
            if promise is not None and job.run_at is not None and job.run_at > self.life.now() + FAR:
                await self.persist(lambda job=job: self.app.cancel(job.id, reason="too late", actor="person"))  # type: ignore[misc]
                promise.cancelled = True

    async def resolve(self) -> None:
        """Look at the network, and answer truly what has become of the posts that ask for a person."""
        for job in await self.list_questions():
            await self.answer(job, truly=True)

    async def answer_wrongly(self) -> None:
        for job in (await self.list_questions())[:1]:
            await self.answer(job, truly=False)

    async def answer(self, job: Job, *, truly: bool) -> None:
        promise = self.oracle.promises.get(job.id)
        if promise is None or self.life.is_request_under_way():
            return
        same = {it.job for it in self.oracle.find_promises(promise.number, promise.account)}
        jobs = await self.app.store.jobs(JobFilter(limit=1000))
        taken = Counter(it.remote_id for it in jobs if it.id != job.id and it.id in same)
        live = []
        for post in reversed(self.oracle.list_live(promise)):  # another chat may have the same id for an older post
            taken[post.remote_id] -= 1
            if taken[post.remote_id] < 0:
                live.append(post)
        verdict: Done | Retry | Reject
        if bool(live) == truly:
            verdict = Done(remote_id=live[-1].remote_id if live else None)
            promise.declared_live = promise.declared_live or not live
        elif self.chance.random() < 0.2:
            verdict = Reject("give up")
        else:
            verdict = Retry("send it again")
            promise.allowed += len(live) > 0
        self.life.tell(f"a person answers for post {promise.number} of {promise.account}: {type(verdict).__name__}")
        await self.persist(lambda: self.app.resolve(job.id, verdict, reason="looked", actor="person"))

    async def replay(self) -> None:
        failed = await self.app.store.jobs(JobFilter(states=(State.FAILED,), limit=20))
        known = [it for it in failed if it.id in self.oracle.promises]
        if not known:
            return
        job = self.chance.choice(known)
        promise = self.oracle.promises[job.id]
        if self.life.is_request_under_way():
            return
        promise.allowed += len(self.oracle.list_live(promise)) >= promise.allowed
        self.life.tell(f"a person replays post {promise.number} of {promise.account}")
        await self.app.replay(job.id, force=True, reason="once more", actor="person")

    async def explain(self) -> None:
        promise, job = await self.choose_unfinished()
        sentence = (await self.life.explain(job)).sentence
        self.life.tell(f"explain says of post {promise.number} of {promise.account}: {sentence}")

    # Helpers

    async def list_unfinished(self) -> list[Job]:
        states = (State.PENDING, State.RUNNING, State.UNCERTAIN)
        return [*await self.app.store.jobs(JobFilter(states=states, limit=100))]

    async def list_questions(self) -> list[Job]:
        """Return the posts of which only a person can tell what has become."""
        return [it for it in await self.list_unfinished() if it.state is State.UNCERTAIN and it.run_at is None]

    async def choose_unfinished(self) -> tuple[Promise, Job]:
        jobs = sorted(
            (it for it in await self.list_unfinished() if it.id in self.oracle.promises), key=lambda it: it.id
        )
        if not jobs:
            raise NotFound("There is no unfinished post.")
        running = [it for it in jobs if it.state is State.RUNNING]  # people act on what is being published, too
        job = self.chance.choice(running if running and self.chance.random() < 0.4 else jobs)
        return self.oracle.promises[job.id], job
