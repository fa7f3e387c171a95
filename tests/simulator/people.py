"""What users and operators do during a life, one act at a time, through the services that the API calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from postino.errors import Conflict, NotFound, StoreUnreachable, WrongUse
from postino.publishing.blackouts import InBlackout
from postino.publishing.post_request import PostRequest
from postino.stores.records import AuditContext, JobFilter
from postino.values.content import Content, MediaRef
from postino.values.gate import GateKind, Scope
from postino.values.job import Job, State
from postino.values.outcome import Done, Reject, Retry
from postino.values.post import AccountState
from tests.simulator.oracle import Promise

if TYPE_CHECKING:
    from tests.simulator.life import Life

T = TypeVar("T")
CONTEXT = AuditContext("person", "felt like it")
MAX_WAITING = 10  # posts that wait at the same time
TRIES = 20  # of a request whose response is lost
EXPECTED = (Conflict, NotFound, InBlackout, StoreUnreachable, WrongUse)


class Person:
    """Acts on the app of a server process, and remembers in the oracle what it was promised."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.chance = life.chance  # of the act
        self.number = 0  # of the act
        self.app = life.server
        self.oracle = life.oracle
        self.requests: list[tuple[int, PostRequest, datetime]] = []

    async def act(self, name: str) -> None:
        """Do one thing. A refusal is an answer like any other."""
        method: Callable[[], Awaitable[None]] = getattr(self, name)
        try:
            await method()
        except EXPECTED as error:
            self.life.tell(f"a person wanted to {name.replace('_', ' ')}: {type(error).__name__}: {error}")

    # Posts

    async def publish(self) -> None:
        await self.create(None)

    async def schedule(self) -> None:
        await self.create(self.life.now() + timedelta(seconds=self.chance.choice((0.5, 2, 5, 12))))

    async def create(self, at: datetime | None) -> None:
        if len(await self.list_unfinished()) >= MAX_WAITING:
            return
        number, known = self.number, self.life.script.accounts
        chosen = self.chance.sample(self.life.accounts, self.chance.choice((1, 1, 2, 3)))
        accounts = [it for it in chosen if known is None or it in known]
        if not accounts:
            return
        media = (MediaRef(url=f"{self.life.media_url}"),) if self.chance.random() < 0.2 else ()
        until = None if self.chance.random() < 0.85 else (at or self.life.now()) + timedelta(seconds=30)
        content = Content(body=f"post {number}", media=media)
        request = PostRequest(content=content, accounts=tuple(accounts), at=at, publish_until_at=until)
        request = replace(request, key=f"key {number}")
        await self.submit(number, request)
        self.requests.append((number, request, self.life.now()))

    async def submit(self, number: int, request: PostRequest) -> None:
        """Send a request until it is answered, and remember what it promises."""
        when = f"at {request.at:%H:%M:%S}" if request.at else "now"
        before, restores = self.life.now(), self.life.restores
        self.oracle.unanswered.add(number)
        saved = await self.persist(lambda: self.app.posts.schedule(request))
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

    async def edit(self) -> None:
        promise, _ = await self.choose_unfinished()
        text = f"post {promise.number} edit {self.number}"
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
        was_live = bool(self.oracle.list_live(promise))
        self.life.tell(f"a user cancels post {promise.number} of {promise.account}")
        job = await self.app.cancel(promise.job, reason="changed my mind", actor="person")
        if job.state is State.CANCELLED:
            promise.cancelled = True
            if was_live and not promise.is_relaxed and promise.allowed == 1:
                self.life.fail(f"cancelled live post: post {promise.number} of {promise.account} was live before")

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
        others = [it for it in await self.app.store.jobs(JobFilter(limit=1000)) if it.account == job.account]
        taken = {it.remote_id for it in others if it.id != job.id}
        live = [it for it in self.oracle.list_live(promise) if it.remote_id not in taken]
        verdict: Done | Retry | Reject
        if bool(live) == truly:
            verdict = Done(remote_id=live[0].remote_id if live else None)
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

    # Gates

    def draw_gate(self) -> tuple[Scope, str]:
        return self.chance.choice((
            (Scope.ALL, ""), (Scope.BRAND, "rosso"), (Scope.CHANNEL, "telegram"),
            (Scope.ACCOUNT, self.chance.choice(self.life.accounts)),
        ))  # fmt: skip

    async def pause(self) -> None:
        scope, name = self.draw_gate()
        await self.app.gate_control.pause(scope, name, actor="person")
        self.oracle.held.setdefault((scope.value, name), self.life.now())
        self.life.tell(f"an operator pauses {scope.value} {name}")

    async def resume(self) -> None:
        paused = [it for it in await self.app.store.gates() if it.kind is GateKind.PAUSE]
        if paused:
            gate = self.chance.choice(paused)
            self.oracle.held.pop((gate.scope.value, gate.name), None)
            await self.app.gate_control.resume(gate.scope, gate.name, actor="person")
            self.life.tell(f"an operator resumes {gate.scope.value} {gate.name}")

    async def add_blackout(self) -> None:
        fields = {"scope": "brand", "brand": "verde", "start": "00:00", "end": "00:00", "timezone": "UTC"}
        await self.app.gate_control.add_blackout(fields, actor="person")
        self.life.tell("an operator adds a blackout for the brand verde")

    async def remove_blackout(self) -> None:
        for blackout in await self.app.gate_control.blackouts():
            await self.app.gate_control.remove_blackout(blackout.id, actor="person")
            self.life.tell("an operator removes a blackout")

    async def set_cap(self) -> None:
        cap = self.chance.choice((1, 2, None))
        await self.app.cap("bluesky", cap, actor="person")
        self.life.tell(f"an operator sets the cap of bluesky to {cap}")

    async def pause_account(self) -> None:
        account = self.chance.choice(self.life.accounts)
        await self.app.accounts.pause(account, CONTEXT)
        self.life.tell(f"an operator pauses the account {account}")

    async def resume_account(self) -> None:
        for account in await self.app.store.accounts():
            if account.state in (AccountState.PAUSED, AccountState.SUSPENDED):
                self.oracle.held.pop((Scope.ACCOUNT.value, account.id), None)
                await self.app.accounts.resume(account.id, CONTEXT)
                self.app.wakeup.notify()
                self.life.tell(f"an operator resumes the account {account.id}")

    async def open_circuit(self) -> None:
        await self.app.gate_control.open_circuit("telegram", seconds=5.0, reason="maintenance", actor="person")
        self.life.tell("an operator opens the circuit of telegram")

    async def close_circuit(self) -> None:
        for breaker in await self.app.gate_control.circuits():
            await self.app.gate_control.close_circuit(breaker.service, reason="done", actor="person")

    async def open_everything(self) -> None:
        """Open all gates, and answer all questions."""
        await self.life.platform.answer_restored()
        self.oracle.held.clear()
        for act in ("remove_blackout", "resume_account", "close_circuit", "resolve"):
            await self.act(act)
        for gate in await self.app.store.gates():
            if gate.kind is GateKind.PAUSE:
                await self.app.gate_control.resume(gate.scope, gate.name, actor="person")

    # Helpers

    async def persist(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do something until it is answered, as a client does with an idempotency key."""
        for _ in range(TRIES):
            try:
                return await act()
            except StoreUnreachable:
                await self.life.sleep(0.3)
        return await act()

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
        job = self.chance.choice(jobs)
        return self.oracle.promises[job.id], job
