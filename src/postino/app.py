"""The façade: what a program that uses Postino calls."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self, TypeVar
from uuid import UUID

from postino.config import Config
from postino.engine.actions import make_audit_context, parse_gate, parse_job_id, replay_each
from postino.engine.breaker import CircuitBreaker
from postino.engine.call_context import HttpClientFactory
from postino.engine.channel_limits import ChannelLimits, make_breaker_policy
from postino.engine.checks import check_cap, check_name, check_time, parse_queue, suggest
from postino.engine.duties import Duties, make_duties, run_beside
from postino.engine.enqueue import enqueue_with_retry, make_job_batcher
from postino.engine.gate_control import GateControl
from postino.engine.handlers import Function, Handler, make_handler
from postino.engine.job_spec import JobSpec, build_new_job, encode_payload, make_override
from postino.engine.relay import Listener, Relay
from postino.engine.store_retry import retry_store
from postino.engine.sync import Sync
from postino.engine.worker import Worker
from postino.errors import Conflict, WrongUse
from postino.rules.retry import Backoff
from postino.stores.records import DeadLetter, DeadLetterFilter, NewJob
from postino.stores.store import Store
from postino.values.event import Event, EventType
from postino.values.gate import Gate, Scope
from postino.values.job import Job, Queue, new_ids
from postino.values.outcome import Done, Reject, Retry
from postino.wakeups.wakeup import Wakeup

F = TypeVar("F", bound=Function)
T = TypeVar("T")
Hear = TypeVar("Hear", bound=Callable[[Event], Awaitable[None]])


@dataclass(frozen=True, slots=True)
class Parts:
    """What the wiring puts together."""

    config: Config
    store: Store
    wakeup: Wakeup
    make_ready: Callable[[], Awaitable[None]]
    make_store: Callable[[], Store]  # one more on the same database, for another event loop
    make_door: Callable[[], AbstractAsyncContextManager[HttpClientFactory]]
    channel_limits: ChannelLimits


class App:
    """Handlers, and the jobs they work on."""

    def __init__(self, parts: Parts) -> None:
        self.config = parts.config
        self.store = parts.store
        self.wakeup = parts.wakeup
        self.handlers: dict[str, Handler] = {}
        self.listeners: list[Listener] = []
        self.sync = Sync(self.enqueue, self.enqueue_many, self.close, lambda: self._loop)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening, self._ready = asyncio.Lock(), False
        self._make_ready, self._make_store, self._make_door = parts.make_ready, parts.make_store, parts.make_door
        self.channel_limits = parts.channel_limits
        policy = partial(make_breaker_policy, parts.config)
        self.breaker = CircuitBreaker(parts.store, policy)
        self.gate_control = GateControl(parts.store, parts.wakeup.tell, policy, parts.channel_limits.circuits)
        self._job_batcher = make_job_batcher(parts.store)

    async def open(self) -> Self:
        async with self._opening:
            if not self._ready:
                await self._make_ready()
                self._ready, self._loop = True, asyncio.get_running_loop()
        return self

    async def close(self) -> None:
        await self._job_batcher.flush()
        await self.wakeup.close()
        await self.store.close()
        self._ready, self._loop = False, None

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def handler(
        self,
        type: str,
        *,
        queue: str = "default",
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        time_limit: float | None = None,
    ) -> Callable[[F], F]:
        """Registers a function for a type of job: `(job, payload, call)`, `async` or plain."""

        def register(function: F) -> F:
            if check_name(type, "type") in self.handlers:
                raise WrongUse(f"type: {type!r} has a handler already, {self.handlers[type].function!r}.", field="type")
            override = make_override(max_attempts, backoff, time_limit)
            self.handlers[type] = make_handler(type, function, parse_queue(queue), override)
            return function

        return register

    def on(self, *types: str, name: str | None = None) -> Callable[[Hear], Hear]:
        """Registers a listener for events; none named means all. Its name keeps its place in the stream."""
        for unknown in set(types) - set(EventType):
            raise WrongUse(f"on: there is no event {unknown!r}.{suggest(unknown, list(EventType))}", field="types")

        def register(hear: Hear) -> Hear:
            listener = Listener(name or f"{hear.__module__}.{hear.__qualname__}", frozenset(types), hear)
            if listener.name in (other.name for other in self.listeners):
                raise WrongUse(f"name: there is a listener {listener.name!r} already; give each its own.", field="name")
            self.listeners.append(listener)
            return hear

        return register

    async def enqueue(
        self,
        type: str,
        payload: Any = None,
        *,
        at: datetime | None = None,
        queue: str | Queue | None = None,
        channel: str | None = None,
        account: str | None = None,
        brand: str | None = None,
        user_id: str | None = None,
        key: str | None = None,
        parent: UUID | None = None,
        correlation_id: str | None = None,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        time_limit: float | None = None,
        connection: Any = None,
    ) -> Job:
        """Puts one job in, and returns it committed; the existing one if its key is known on that channel.
        With `connection` it is written inside the caller's own transaction and exists when that commits."""
        spec = JobSpec(
            type, payload, at, queue, channel, account, brand, user_id, key, parent, correlation_id,
            max_attempts, backoff, time_limit,
        )  # fmt: skip
        if connection is not None:
            return (await self.store.enqueue_on(connection, [self._new(spec)]))[0].job
        return await self.enqueue_spec(spec)

    async def enqueue_spec(self, spec: JobSpec) -> Job:
        new = self._new(spec)
        if not self._ready:
            await retry_store(lambda _: self.open())
        self.wake([job := (await self._job_batcher.put(new)).job])
        return job

    async def enqueue_many(
        self, jobs: Sequence[JobSpec | Mapping[str, Any] | Sequence[Any]], *, connection: Any = None
    ) -> list[Job]:
        """Puts many jobs in, all or none; the existing jobs where keys are known."""
        specs = [JobSpec.parse(wanted) for wanted in jobs]
        new = [self._new(spec, job_id) for spec, job_id in zip(specs, new_ids(len(specs)), strict=True)]
        if connection is not None:
            return [enqueued.job for enqueued in await self.store.enqueue_on(connection, new)]
        await retry_store(lambda _: self.open())
        self.wake(written := [enqueued.job for enqueued in await enqueue_with_retry(self.store, new)])
        return written

    async def work(self, *, stop: asyncio.Event | None = None) -> None:
        """Runs a worker with this app's handlers and listeners, until `stop` is set or the task is cancelled."""
        await self.open()
        async with self._make_door() as door:
            await self._work(stop, door)

    async def _work(self, stop: asyncio.Event | None, door: HttpClientFactory) -> None:
        worker = Worker(
            self.store,
            self.wakeup,
            self.handlers,
            self.config,
            self.enqueue_spec,
            self._make_store,
            door,
            self.channel_limits,
        )
        poll = self.config.worker.poll
        beside = [Relay(self.store, listener, worker.id, poll).run() for listener in self.listeners]
        beside.append(Duties(self.store, worker.id, make_duties(self.store, self.config)).run())
        if stop is not None:
            beside.append(worker.stop_when(stop))
        await run_beside(worker.run(), beside)

    async def cancel(self, job_id: UUID, *, reason: str = "", actor: str = "app") -> Job:
        return await self._by_hand(self.store.cancel_job(parse_job_id(job_id), make_audit_context(actor, reason)))

    async def edit(self, job_id: UUID, payload: Any, *, reason: str = "", actor: str = "app") -> Job:
        return await self._by_hand(
            self.store.edit_job(parse_job_id(job_id), encode_payload(payload), make_audit_context(actor, reason))
        )

    async def reschedule(self, job_id: UUID, at: datetime | None, *, reason: str = "", actor: str = "app") -> Job:
        return await self._by_hand(
            self.store.reschedule_job(parse_job_id(job_id), check_time("at", at), make_audit_context(actor, reason))
        )

    async def replay(
        self, job_id: UUID, *, payload: Any = None, force: bool = False, reason: str = "", actor: str = "app"
    ) -> Job:
        """Runs a failed job again: its key and its history stay."""
        edited = None if payload is None else encode_payload(payload)
        return await self._by_hand(
            self.store.replay_dead_letter(parse_job_id(job_id), edited, force, make_audit_context(actor, reason))
        )

    async def replay_many(
        self, wanted: DeadLetterFilter, *, force: bool = False, reason: str = "", actor: str = "app"
    ) -> list[tuple[DeadLetter, Job | Conflict]]:
        """Replays each of these dead letters; one that is refused does not stop the others."""
        await self.open()
        again = partial(self.replay, force=force, reason=reason, actor=actor)
        return await replay_each(await self.store.dead_letters(wanted), again)

    async def discard(self, job_id: UUID, *, reason: str, actor: str = "app") -> DeadLetter:
        return await self._by_hand(
            self.store.discard_dead_letter(parse_job_id(job_id), make_audit_context(actor, reason))
        )

    async def resolve(self, job_id: UUID, verdict: Done | Retry | Reject, *, reason: str, actor: str = "app") -> Job:
        """A person's word about an uncertain job: it happened, do it again, or give up."""
        return await self._by_hand(
            self.store.resolve_job(parse_job_id(job_id), verdict, make_audit_context(actor, reason))
        )

    async def pause(self, scope: str | Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        return await self._by_hand(self.store.pause(*parse_gate(scope, name), make_audit_context(actor, reason)))

    async def resume(self, scope: str | Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        return await self._by_hand(self.store.resume(*parse_gate(scope, name), make_audit_context(actor, reason)))

    async def cap(self, channel: str, most: int | None, *, reason: str = "", actor: str = "app") -> int | None:
        """At most so many jobs of a channel run at once, over all workers; None is as many as usual."""
        return await self._by_hand(
            self.store.set_cap(check_name(channel), check_cap(most), make_audit_context(actor, reason))
        )

    async def dispatch_due(self) -> int:
        return await self._by_hand(self.store.dispatch_due())

    async def _by_hand(self, work: Coroutine[Any, Any, T]) -> T:
        await self.open()
        result = await work
        self.wakeup.tell()
        return result

    def _new(self, spec: JobSpec, job_id: UUID | None = None) -> NewJob:
        handler = self.handlers.get(spec.type)
        return build_new_job(spec, handler.queue if handler else Queue.DEFAULT, job_id)

    def wake(self, jobs: Sequence[Job]) -> None:
        """Tells workers of what is due before they would look by themselves."""
        soon = timedelta(seconds=self.config.worker.poll)
        if any(job.run_at is not None and job.run_at <= job.created_at + soon for job in jobs):
            self.wakeup.tell()
