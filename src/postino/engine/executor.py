"""Runs the handler of one job and decides, by `rules.settlement`, what becomes of the job. Writes nothing."""

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog

from postino import clock
from postino.engine.call import Call
from postino.engine.children import count_children
from postino.engine.handlers import Handler, UnreadablePayload
from postino.engine.job_ledger import StopRun
from postino.engine.threads import Threads
from postino.rules.blockers import describe_missing_handler
from postino.rules.retry import RetryOverride, RetryPolicy, parse_backoff, resolve_retry_policy
from postino.rules.settlement import settle_job, settle_unreadable
from postino.rules.token_patterns import hide_tokens
from postino.stores.records import AttemptError, SettledJob
from postino.values.job import Job
from postino.values.outcome import Defer, GateClosed, Outcome, Reject, Retry, Unknown

log = structlog.get_logger("postino.worker")
Caught = tuple[Outcome | None, BaseException | None]
WITH_REASON = (Retry, Defer, Reject, Unknown)  # what a handler returns, or raises, with a text of its own
GRACE = 1.0  # seconds that a cancelled handler has to clean up


class TimeLimitExceeded(Exception):
    """A step took longer than the job's time limit."""


class Executor:
    def __init__(
        self,
        handlers: Mapping[str, Handler],
        default: RetryPolicy,
        channels: Mapping[str, RetryOverride],
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
        self.abandoned: set[asyncio.Task[Caught]] = set()
        self.policies: dict[tuple[str, str], RetryPolicy] = {}  # by channel and type

    async def execute(self, job: Job, attach_call: Callable[[Call], None]) -> SettledJob:
        """Run the job's handler and return the job with its settlement. Raises only this worker's own cancellation."""
        call = self.make_call(job)
        attach_call(call)
        try:
            handler = self.handlers.get(job.type)
            policy = self.choose_policy(job, handler)
            if handler is None:
                return self.settle_gated(job, describe_missing_handler(job.type))
            payload = handler.parse_payload(job.payload)
            with count_children(self.now):
                outcome, failure = await self.run_handler(handler, call, payload, policy)
            outcome = hide_reason(outcome)
            return SettledJob(call.job, settle_job(call.job, outcome, policy, self.now(), self.jitter()), failure)
        except UnreadablePayload as error:
            return SettledJob(job, settle_unreadable(job, str(error)), to_failure(error))
        except BaseException as error:
            if is_own_cancellation(error):
                raise
            return self.settle_error(call.job, error)

    def settle_error(self, job: Job, error: BaseException) -> SettledJob:
        """Return a job whose run failed outside its handler, with its settlement."""
        return SettledJob(
            job, settle_job(job, Retry(describe_error(error)), self.default, self.now(), 0), to_failure(error)
        )

    def settle_gated(self, job: Job, reason: str) -> SettledJob:
        """Return a job whose gate closed after its claim, with its settlement: a deferral, which costs no attempt."""
        return SettledJob(job, settle_job(job, GateClosed(self.now(), reason), self.default, self.now(), 0))

    def settle_unwritable(self, settled_job: SettledJob, error: Exception) -> SettledJob:
        """Return the job as uncertain, because the store refuses its settlement: its handler must not run again."""
        reason = f"The handler ended, but its result could not be stored: {describe_error(error)}"
        return SettledJob(settled_job.job, settle_job(settled_job.job, Unknown(reason), self.default, self.now(), 0))

    async def run_handler(
        self, handler: Handler, call: Call, payload: object, policy: RetryPolicy
    ) -> tuple[Outcome, AttemptError | None]:
        try:
            work = handler.run(self.threads, call.job, payload, call)
            if policy.time_limit is not None:
                work = self.run_limited(policy.time_limit, work, call)
            return await work, None
        except StopRun as stop:
            return stop.outcome, None
        except TimeLimitExceeded as error:
            return Retry(str(error)), to_failure(error)
        except BaseException as error:
            if is_own_cancellation(error):
                raise
            return Retry(describe_error(error)), to_failure(error)  # any exception of a handler, sys.exit() included

    async def run_limited(self, seconds: float, work: Coroutine[Any, Any, Outcome], call: Call) -> Outcome:
        """Run a handler whose steps may take this many seconds each, and longer while data of a request moves.

        It runs in a task of its own, which can be abandoned if it ignores its cancellation.
        """
        task = asyncio.create_task(catch_exit(work))
        call.limit_steps(seconds)
        try:
            await asyncio.sleep(0)  # the handler begins, however short its limit
            while not task.done() and (left := call.progress_at + seconds - clock.uptime()) > 0:
                noted_at = call.progress_at
                await asyncio.wait([task], timeout=left)
                if not task.done() and call.progress_at > noted_at:
                    await call.extend_deadline()
        except asyncio.CancelledError:
            await self.cancel(task, call.job.type)
            if not task.done() or task.cancelled():
                raise
        if not task.done():
            await self.cancel(task, call.job.type)
            if not task.done() or task.cancelled():
                raise TimeLimitExceeded(f"The job took longer than its time limit of {seconds} s.")
        outcome, exit_error = task.result()
        if exit_error is not None:
            raise exit_error
        assert outcome is not None
        return outcome

    async def cancel(self, task: "asyncio.Task[Caught]", type_: str) -> None:
        """Cancel a handler and wait a moment for it to clean up."""
        task.cancel()
        self.abandoned.add(task)
        task.add_done_callback(self.abandoned.discard)
        await asyncio.wait([task], timeout=GRACE)
        if not task.done():
            advice = "the handler ignores its cancellation and keeps a slot of this worker until it returns"
            log.warning("handler.abandoned", type=type_, next=advice)

    def count_abandoned(self) -> int:
        """Return how many handlers still run although no job waits for them."""
        return len(self.abandoned) + self.threads.count_abandoned()

    def choose_policy(self, job: Job, handler: Handler | None) -> RetryPolicy:
        """Return the retry policy of a job: its own values, else its channel's, else its type's, else the default."""
        policy = self.policies.get((job.channel, job.type))
        if policy is None:
            channel, type_ = self.channels.get(job.channel), handler.override if handler else None
            policy = self.policies[job.channel, job.type] = resolve_retry_policy(self.default, channel, type_)
        if job.max_attempts is None and job.backoff is None and job.time_limit is None:
            return policy
        backoff = parse_backoff(job.backoff) if job.backoff else None
        return resolve_retry_policy(policy, RetryOverride(job.max_attempts, backoff, job.time_limit))


async def catch_exit(work: Coroutine[Any, Any, Outcome]) -> Caught:
    """Return SystemExit and KeyboardInterrupt as values: raised in a task, they would end the whole process."""
    try:
        return await work, None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


def is_own_cancellation(error: BaseException) -> bool:
    """Return whether this task was cancelled. Any other CancelledError that a handler raises is its failure."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def hide_reason(outcome: Outcome) -> Outcome:
    """Replace what looks like a token in the reason of an outcome, which is stored, logged and shown."""
    if isinstance(outcome, WITH_REASON) and isinstance(outcome.reason, str):
        return replace(outcome, reason=hide_tokens(outcome.reason))
    return outcome


def to_failure(error: BaseException) -> AttemptError:
    trace = hide_tokens("".join(traceback.format_exception(error)))
    return AttemptError(type(error).__qualname__, describe_error(error), trace)


def describe_error(error: BaseException) -> str:
    name = type(error).__qualname__
    try:
        return hide_tokens(f"{name}: {error}") if str(error) else name
    except Exception:  # noqa: BLE001 - an exception whose __str__ raises
        return name
