"""Runs one job's handler and turns whatever happens into what becomes of the job."""

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Any

import structlog

from postino.engine.call import Call
from postino.engine.handlers import Handler, UnreadablePayload
from postino.engine.heartbeat import uptime
from postino.engine.ledger import StopRun
from postino.engine.threads import Threads
from postino.rules.retry import Override, RetryPolicy, backoff_from, resolve
from postino.rules.settlement import settle, unreadable
from postino.stores.records import AttemptError, SettledJob
from postino.values.job import Job
from postino.values.outcome import Held, Outcome, Retry, Unknown

log = structlog.get_logger("postino.worker")
Caught = tuple[Outcome | None, BaseException | None]
GRACE = 1.0  # seconds a handler has to clean up after it was told to stop


class Executor:
    def __init__(
        self,
        handlers: Mapping[str, Handler],
        default: RetryPolicy,
        channels: Mapping[str, Override],
        threads: Threads,
        make_call: Callable[[Job], Call],
        now: Callable[[], datetime],
        jitter: Callable[[], float],
    ) -> None:
        self.handlers = handlers
        self.default = default
        self.channels = channels
        self.threads = threads
        self.make_call = make_call
        self.now = now
        self.jitter = jitter
        self.stubborn: set[asyncio.Task[Caught]] = set()
        self.usual: dict[tuple[str, str], RetryPolicy] = {}  # by channel and type

    async def perform(self, job: Job, follow: Callable[[Call], None]) -> SettledJob:
        """Runs the job to its end. Nothing a handler does gets past here, except this worker's own word to stop."""
        call = self.make_call(job)
        follow(call)
        try:
            handler = self.handlers.get(job.type)
            policy = self.policy(job, handler)
            if handler is None:
                return SettledJob(job, settle(job, Retry(self.unknown_type(job)), policy, self.now(), self.jitter()))
            payload = handler.read(job.payload)
            outcome, failure = await self.outcome(handler, call, payload, policy)
            return SettledJob(call.job, settle(call.job, outcome, policy, self.now(), self.jitter()), failure)
        except UnreadablePayload as error:
            return SettledJob(job, unreadable(job, str(error)), failure_of(error))
        except BaseException as error:
            if stopped_by_us(error):
                raise
            return self.broken(call.job, error)

    def broken(self, job: Job, error: BaseException) -> SettledJob:
        """Something went wrong around the handler."""
        return SettledJob(job, settle(job, Retry(told(error)), self.default, self.now(), 0), failure_of(error))

    def put_off(self, job: Job, why: str) -> SettledJob:
        """A gate closed after it was claimed: it is claimed again when that opens."""
        return SettledJob(job, settle(job, Held(self.now(), why), self.default, self.now(), 0))

    async def outcome(
        self, handler: Handler, call: Call, payload: object, policy: RetryPolicy
    ) -> tuple[Outcome, AttemptError | None]:
        try:
            work = handler.run(self.threads, call.job, payload, call)
            return await (work if policy.time_limit is None else self.within(policy.time_limit, work, call)), None
        except StopRun as stop:
            return stop.outcome, None
        except TookTooLong as error:
            return Retry(str(error)), failure_of(error)
        except BaseException as error:
            if stopped_by_us(error):
                raise
            return Retry(told(error)), failure_of(error)  # whatever a handler raises, sys.exit() included

    async def within(self, seconds: float, work: Coroutine[Any, Any, Outcome], call: Call) -> Outcome:
        """In a task of its own, so that one that does not let itself be stopped can be left alone.

        The limit is that of a step: each step of a call has so long.
        """
        task = asyncio.create_task(caught(work))
        call.limit_steps(seconds)
        try:
            while not task.done() and (left := call.progress_at + seconds - uptime()) > 0:
                await asyncio.wait([task], timeout=left)
        except asyncio.CancelledError:
            await self.stop(task, call.job.type)
            if not task.done() or task.cancelled():
                raise
        if not task.done():
            await self.stop(task, call.job.type)
            if not task.done() or task.cancelled():
                raise TookTooLong(f"It took longer than its time limit of {seconds} s.")
        outcome, ended_all = task.result()
        if ended_all is not None:
            raise ended_all
        assert outcome is not None
        return outcome

    async def stop(self, task: "asyncio.Task[Caught]", type_: str) -> None:
        task.cancel()
        self.stubborn.add(task)
        task.add_done_callback(self.stubborn.discard)
        await asyncio.wait([task], timeout=GRACE)
        if not task.done():
            told = "it does not let itself be stopped; it keeps its slot of this worker until it returns"
            log.warning("handler.abandoned", type=type_, next=told)

    def still_running(self) -> int:
        """How many handlers go on although nobody waits for them any more."""
        return len(self.stubborn) + self.threads.still_running()

    def unwritable(self, ending: SettledJob, error: Exception) -> SettledJob:
        """It ended, but the store refuses to keep how. Whatever it did must not be done again by itself."""
        why = f"The handler ended, but how could not be written down: {told(error)}"
        return SettledJob(ending.job, settle(ending.job, Unknown(why), self.default, self.now(), 0))

    def policy(self, job: Job, handler: Handler | None) -> RetryPolicy:
        usual = self.usual.get((job.channel, job.type))
        if usual is None:
            channel, type_ = self.channels.get(job.channel), handler.override if handler else None
            usual = self.usual[job.channel, job.type] = resolve(self.default, channel, type_)
        if job.max_attempts is None and job.backoff is None and job.time_limit is None:
            return usual
        backoff = backoff_from(job.backoff) if job.backoff else None
        return resolve(usual, Override(job.max_attempts, backoff, job.time_limit))

    def unknown_type(self, job: Job) -> str:
        known = ", ".join(sorted(self.handlers)) or "none"
        return f"This worker has no handler for jobs of type {job.type} (it has: {known}). Start one that does."


async def caught(work: Coroutine[Any, Any, Outcome]) -> Caught:
    """What asyncio would let end the whole process, as a value."""
    try:
        return await work, None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


class TookTooLong(Exception):
    """The time limit ended an attempt."""


def stopped_by_us(error: BaseException) -> bool:
    """A cancellation of this very task; a handler may also end with one that it met elsewhere, which is its failure."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def failure_of(error: BaseException) -> AttemptError:
    return AttemptError(type(error).__qualname__, told(error), "".join(traceback.format_exception(error)))


def told(error: BaseException) -> str:
    name = type(error).__qualname__
    try:
        return f"{name}: {error}" if str(error) else name
    except Exception:  # noqa: BLE001 - an exception that cannot even say what it is
        return name
