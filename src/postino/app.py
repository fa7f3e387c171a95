"""The façade that programs use: register handlers and listeners, enqueue jobs, run a worker, act on jobs."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self, TypeVar
from uuid import UUID

from postino.engine.actions import make_audit_context, parse_gate, parse_job_id, replay_each
from postino.engine.breaker import CircuitBreaker
from postino.engine.call_context import HttpClientFactory
from postino.engine.channel_limits import make_breaker_policy
from postino.engine.checks import check_cap, check_count, check_name, check_time
from postino.engine.duties import run_beside, start_background
from postino.engine.enqueue import enqueue_in_batch, enqueue_jobs, make_job_batcher
from postino.engine.gate_control import GateControl
from postino.engine.handlers import Function
from postino.engine.job_spec import JobSpec, build_new_job, encode_payload
from postino.engine.parts import Parts
from postino.engine.registry import ListenerFunction, Registry
from postino.engine.relay import start_relays
from postino.engine.store_retry import retry_store
from postino.engine.sync import Sync
from postino.engine.worker import Worker
from postino.errors import Conflict
from postino.rules.retry import Backoff
from postino.stores.records import DeadLetter, DeadLetterFilter, NewJob
from postino.values.gate import Gate, Scope
from postino.values.job import Job, Queue, new_ids
from postino.values.outcome import Done, Reject, Retry

F = TypeVar("F", bound=Function)
L = TypeVar("L", bound=ListenerFunction)
T = TypeVar("T")


class App:
    """Handlers, listeners, and the queue they work on."""

    def __init__(self, parts: Parts) -> None:
        self.config = parts.config
        self.store = parts.store
        self.wakeup = parts.wakeup
        self.channel_limits = parts.channel_limits
        self.registry = Registry()
        self.handlers, self.listeners = self.registry.handlers, self.registry.listeners
        self.sync = Sync(self.enqueue, self.enqueue_many, self.close, lambda: self._loop)
        self._parts = parts
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening, self._ready = asyncio.Lock(), False
        policy = partial(make_breaker_policy, parts.config)
        self.breaker = CircuitBreaker(parts.store, policy)
        self.gate_control = GateControl(parts.store, parts.wakeup.notify, policy, parts.channel_limits.circuits)
        self._job_batcher = make_job_batcher(parts.store)

    async def open(self) -> Self:
        """Connect to the database. Raises StoreUnreachable or SchemaMismatch. Other methods call it when needed."""
        async with self._opening:
            if not self._ready:
                await self._parts.make_ready()
                self._ready, self._loop = True, asyncio.get_running_loop()
        return self

    async def close(self) -> None:
        """Write what waits to be written and close all connections."""
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
        """Register a function `(job, payload, call)` for a type of job; it may take fewer arguments.

        A coroutine runs on the event loop, a plain function in a thread. The payload is parsed into the type that the
        function declares for it. `time_limit` is in seconds for each step. Raises WrongUse if a value is wrong or the
        type has a handler already.
        """
        return self.registry.add_handler(type, queue, max_attempts, backoff, time_limit)

    def on(self, *types: str, name: str | None = None, from_start: bool = False) -> Callable[[L], L]:
        """Register a listener for these types of events, or for all events.

        The name, by default that of the function, keeps the listener's place across restarts. A new name hears events
        from its first start on; with `from_start`, all retained ones. Raises WrongUse for a wrong event or name.
        """
        return self.registry.add_listener(types, name, from_start)

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
        """Insert a job and return it once it is committed. Return the existing job if `key` is known on its channel.

        `at` is the earliest time to run. With `connection`, the job is part of that connection's open transaction.
        Raises WrongUse with the field that is wrong, or StoreUnreachable after some seconds.
        """
        spec = JobSpec(
            type, payload, at, queue, channel, account, brand, user_id, key, parent, correlation_id,
            max_attempts, backoff, time_limit,
        )  # fmt: skip
        if connection is not None:
            return (await enqueue_jobs(self.store, [self.build_job(spec)], connection))[0]
        return await self.enqueue_spec(spec)

    async def enqueue_spec(self, spec: JobSpec) -> Job:
        """Do what `enqueue` does, with the job as one value."""
        new = self.build_job(spec)
        if not self._ready:
            await retry_store(lambda _: self.open())
        self.wake([job := await enqueue_in_batch(self.store, self._job_batcher, new)])
        return job

    async def enqueue_many(
        self, jobs: Sequence[JobSpec | Mapping[str, Any] | Sequence[Any]], *, connection: Any = None
    ) -> list[Job]:
        """Insert many jobs in one transaction and return them in order; existing jobs where keys are known.

        Each is a `JobSpec`, a mapping of its fields, or `(type, payload)`. Raises what `enqueue` raises.
        """
        specs = [JobSpec.parse(job) for job in check_count("jobs", jobs)]
        new = [self.build_job(spec, job_id) for spec, job_id in zip(specs, new_ids(len(specs)), strict=True)]
        if connection is not None:
            return await enqueue_jobs(self.store, new, connection)
        await retry_store(lambda _: self.open())
        self.wake(written := await enqueue_jobs(self.store, new))
        return written

    async def work(self, *, stop: asyncio.Event | None = None) -> None:
        """Run a worker with this app's handlers and listeners until `stop` is set or the task is cancelled."""
        await self.open()
        async with self._parts.make_http() as http:
            worker = self.make_worker(http)
            relays = await start_relays(self.store, self.listeners, worker.id, self.config.worker.poll)
            beside = [relay.run() for relay in relays] + start_background(worker, self.config)
            if stop is not None:
                beside.append(worker.stop_when(stop))
            await run_beside(worker.run(), beside)

    def make_worker(self, http: HttpClientFactory) -> Worker:
        """Return a worker that is not running yet."""
        return Worker(
            self.store, self.wakeup, self.handlers, self.config, self.enqueue_spec, self._parts.make_store, http,
            self.channel_limits, self._parts.state_dir,
        )  # fmt: skip

    async def cancel(self, job_id: UUID, *, reason: str = "", actor: str = "app") -> Job:
        """Cancel a job that has not started. Raises NotFound, or Conflict if it has."""
        return await self._act(self.store.cancel_job(parse_job_id(job_id), make_audit_context(actor, reason)))

    async def edit(self, job_id: UUID, payload: Any, *, reason: str = "", actor: str = "app") -> Job:
        """Replace the payload of a job that has not started. Raises NotFound, or Conflict if it has."""
        new = encode_payload(payload)
        return await self._act(self.store.edit_job(parse_job_id(job_id), new, make_audit_context(actor, reason)))

    async def reschedule(self, job_id: UUID, at: datetime | None, *, reason: str = "", actor: str = "app") -> Job:
        """Move a job to another time; None is now. Raises NotFound, or Conflict if it has started."""
        run_at = check_time("at", at)
        return await self._act(
            self.store.reschedule_job(parse_job_id(job_id), run_at, make_audit_context(actor, reason))
        )

    async def replay(
        self, job_id: UUID, *, payload: Any = None, force: bool = False, reason: str = "", actor: str = "app"
    ) -> Job:
        """Run a failed job again, with a new payload if given; its key and history stay.

        Raises NotFound, or Conflict if it has not failed or, without `force`, if it would only fail again.
        """
        new, context = None if payload is None else encode_payload(payload), make_audit_context(actor, reason)
        return await self._act(self.store.replay_dead_letter(parse_job_id(job_id), new, force, context))

    async def replay_many(
        self, filter: DeadLetterFilter, *, force: bool = False, reason: str = "", actor: str = "app"
    ) -> list[tuple[DeadLetter, Job | Conflict]]:
        """Replay the dead letters that match. A conflict of one is returned with it and does not stop the others."""
        await self.open()
        replay = partial(self.replay, force=force, reason=reason, actor=actor)
        return await replay_each(await self.store.dead_letters(filter), replay)

    async def discard(self, job_id: UUID, *, reason: str, actor: str = "app") -> DeadLetter:
        """Delete a dead letter and return it. Raises NotFound or Conflict."""
        return await self._act(self.store.discard_dead_letter(parse_job_id(job_id), make_audit_context(actor, reason)))

    async def resolve(self, job_id: UUID, verdict: Done | Retry | Reject, *, reason: str, actor: str = "app") -> Job:
        """Settle an uncertain job: it was done, do it again, or give up. Raises NotFound, or Conflict if it is not."""
        return await self._act(self.store.resolve_job(parse_job_id(job_id), verdict, make_audit_context(actor, reason)))

    async def pause(self, scope: str | Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        """Start no more jobs of a queue, channel, brand or account, or of all, until `resume`."""
        return await self._act(self.store.pause(*parse_gate(scope, name), make_audit_context(actor, reason)))

    async def resume(self, scope: str | Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        """End a pause. Raises NotFound if there is none."""
        return await self._act(self.store.resume(*parse_gate(scope, name), make_audit_context(actor, reason)))

    async def cap(self, channel: str, cap: int | None, *, reason: str = "", actor: str = "app") -> int | None:
        """Limit how many jobs of a channel run at once, over all workers; None restores the default of the settings."""
        context = make_audit_context(actor, reason)
        return await self._act(self.store.set_cap(check_name(channel), check_cap(cap), context))

    async def dispatch_due(self) -> int:
        """Mark all due jobs as dispatched, wake the workers, and return the number of these jobs."""
        return await self._act(self.store.dispatch_due())

    async def _act(self, action: Coroutine[Any, Any, T]) -> T:
        await self.open()
        result = await action
        self.wakeup.notify()
        return result

    def build_job(self, spec: JobSpec, job_id: UUID | None = None) -> NewJob:
        """Return the job to insert. Raises what `enqueue` raises for a wrong field."""
        queue = handler.queue if (handler := self.handlers.get(check_name(spec.type, "type"))) else Queue.DEFAULT
        return build_new_job(spec, queue, job_id, self.channel_limits.networks)

    def wake(self, jobs: Sequence[Job]) -> None:
        """Notify workers if one of these jobs is due before their next poll."""
        soon = timedelta(seconds=self.config.worker.poll)
        if any(job.run_at is not None and job.run_at <= job.created_at + soon for job in jobs):
            self.wakeup.notify()
