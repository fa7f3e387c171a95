"""Decide the next state of a job after its handler ended or its worker died. It stores nothing itself."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from postino.rules.retry import RetryPolicy, compute_delay
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.outcome import Defer, Done, GateClosed, Outcome, RateLimited, Reject, Retry, Unknown

MAX_RESCUES = 3
MAX_RATE_LIMITS = 20  # rate limits per job: they spend no attempt, so they need a limit of their own
MISSED_MESSAGE = "missed: its deadline passed before it could be published. Replay it to publish it anyway."
UNCERTAIN_MESSAGE = "The handler completed, but Postino does not know whether everything was published."
MIN_LOOKUPS = 6  # lookups are harmless, so a job with few attempts gets at least as many


class DeadLetterCause(StrEnum):
    """Why a job is a dead letter."""

    EXHAUSTED = "exhausted"  # every attempt was used
    PERMANENT = "permanent"  # it can never work unchanged
    POISON = "poison"  # its payload cannot be read
    WORKER_KILLER = "worker_killer"  # its workers kept dying while they ran it
    MISSED = "missed"  # its deadline passed
    GIVEN_UP = "given_up"  # uncertain, and a person gave up


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What the store writes: the next state and its details."""

    state: State
    event: EventType | None
    run_at: datetime | None = None
    until_at: datetime | None = None  # when a deferral ends, if that is known
    error: str | None = None
    deferral_reason: str | None = None
    refund: bool = False
    rate_limited: bool = False
    rescued: bool = False
    cause: DeadLetterCause | None = None
    remote_id: str | None = None
    result: str | None = None

    @property
    def next_run_at(self) -> datetime | None:
        """Return when the job may run next, for events; None if nobody knows.

        It is not always `run_at`: a held job keeps its place in its lane, which is a time in the past.
        """
        if self.deferral_reason is None:
            return self.run_at
        lookup_at = self.run_at if self.state is State.UNCERTAIN else None
        return max((at for at in (self.until_at, lookup_at) if at is not None), default=None)


COMPLETED = Settlement(state=State.COMPLETED, event=EventType.COMPLETED)


def settle_job(job: Job, outcome: Outcome, policy: RetryPolicy, now: datetime, jitter: float) -> Settlement:
    """Decide the next state of a job from the outcome of its handler."""
    if job.lookup_at is None:
        return _settle_outcome(job, outcome, policy, now, jitter)
    return _keep_uncertain(
        _settle_outcome(job, _reinterpret_outcome(job, outcome, policy), policy, now, jitter), job.lookup_at
    )


def _reinterpret_outcome(job: Job, outcome: Outcome, policy: RetryPolicy) -> Outcome:
    """Return what an outcome means while a post may be live: Done is not certain, and a lookup is not an attempt."""
    match outcome:
        case Done():
            return Unknown(UNCERTAIN_MESSAGE, job.lookup_at)
        case Retry(why) if job.attempts >= policy.max_attempts:
            return Unknown(why, job.lookup_at)
        case _:
            return outcome


def _keep_uncertain(settlement: Settlement, lookup_at: datetime) -> Settlement:
    """Keep the job uncertain: while a post may be live, the job is neither retried nor failed."""
    match settlement.state:
        case State.PENDING:
            assert settlement.run_at is not None
            again = max(settlement.run_at, lookup_at)
            return replace(settlement, state=State.UNCERTAIN, event=EventType.UNCERTAIN, run_at=again)
        case State.FAILED:
            return replace(settlement, state=State.UNCERTAIN, event=EventType.UNCERTAIN, cause=None)
        case _:
            return settlement


def _settle_outcome(job: Job, outcome: Outcome, policy: RetryPolicy, now: datetime, jitter: float) -> Settlement:
    match outcome:
        case Done(None, None):
            return COMPLETED
        case Done(result, remote_id):
            named = remote_id if remote_id is None else _print_safely(remote_id, str)
            return Settlement(
                state=State.COMPLETED, event=EventType.COMPLETED, remote_id=named, result=_to_json(result)
            )
        case RateLimited(_, why) if job.rate_limit_count >= MAX_RATE_LIMITS:
            return make_failure(
                f"{why} The network rate-limited this job {job.rate_limit_count + 1} times.", DeadLetterCause.EXHAUSTED
            )
        case Defer(until, why):
            held = isinstance(outcome, GateClosed)
            return Settlement(
                state=State.PENDING,
                event=EventType.DEFERRED,
                run_at=_get_held_run_at(job, now) if held else max(until, now),
                until_at=until if until > now else None,
                deferral_reason=why,
                refund=True,
                rate_limited=isinstance(outcome, RateLimited),
            )
        case Retry(why) if job.attempts >= policy.max_attempts:
            return make_failure(why, DeadLetterCause.EXHAUSTED)
        case Retry(why, not_before):
            again = max(now + compute_delay(job.attempts, policy.backoff, jitter), not_before or now)
            return Settlement(state=State.PENDING, event=EventType.RETRYING, run_at=again, error=why)
        case Reject(why, missed):
            return make_failure(why, DeadLetterCause.MISSED if missed else DeadLetterCause.PERMANENT)
        case Unknown(why, lookup_at):
            at = None if lookup_at is None else compute_next_lookup(job, lookup_at, policy, now, jitter)
            return Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, run_at=at, error=why)


def _get_held_run_at(job: Job, now: datetime) -> datetime:
    """Return the old place in the lane. Without a lane it runs now: claims never search the past."""
    return now if job.lane is None or job.run_at is None else job.run_at


def compute_next_lookup(
    job: Job, lookup_at: datetime, policy: RetryPolicy, now: datetime, jitter: float
) -> datetime | None:
    """Return the time of the next lookup: first when the quarantine ends, then by the backoff; None: ask a person."""
    if lookup_at > now:
        return lookup_at
    if job.attempts >= max(policy.max_attempts, MIN_LOOKUPS):
        return None
    return now + compute_delay(job.attempts, policy.backoff, jitter)


def _to_json(result: object) -> str | None:
    """Return a result as JSON, or its repr: a result that is no JSON must not make the job fail and run again."""
    if result is None:
        return None
    try:
        return json.dumps(result, default=str, allow_nan=False)
    except Exception:  # noqa: BLE001 - __repr__ and __str__ may raise anything
        return json.dumps(_print_safely(result, repr))


def _print_safely(value: object, how: Callable[[object], str]) -> str:
    try:
        return how(value)
    except Exception:  # noqa: BLE001 - likewise
        return f"<{type(value).__qualname__}>"


def settle_missed() -> Settlement:
    return make_failure(MISSED_MESSAGE, DeadLetterCause.MISSED)


def settle_outage_timeout(hours: str) -> Settlement:
    message = f"missed: the circuit of its network was open for {hours}."
    return make_failure(f"{message} Replay it to publish it anyway.", DeadLetterCause.MISSED)


def settle_unreadable(job: Job, why: str) -> Settlement:
    settlement = make_failure(why, DeadLetterCause.POISON)
    return settlement if job.lookup_at is None else _keep_uncertain(settlement, job.lookup_at)


def make_failure(why: str, cause: DeadLetterCause) -> Settlement:
    return Settlement(state=State.FAILED, event=EventType.FAILED, error=why, cause=cause)


def rescue_job(job: Job, now: datetime, suspected: bool = True) -> Settlement:
    """Decide what happens to a job whose worker died.

    The first death counts against all jobs of the worker, because any of them may have caused it. After that they run
    one at a time, and a further death counts only against the job that was running.
    """
    if job.rescues and not suspected:
        return _requeue(job, EventType.RESCUED, now)
    if job.lookup_at is not None:
        return _settle_interrupted("died", None if job.rescues + 1 >= MAX_RESCUES else max(job.lookup_at, now))
    if job.rescues + 1 >= MAX_RESCUES:
        why = f"{MAX_RESCUES} workers died while running this job. Find out why before you replay it."
        return make_failure(why, DeadLetterCause.WORKER_KILLER)
    return Settlement(state=State.PENDING, event=EventType.RESCUED, run_at=now, refund=True, rescued=True)


def release_job(job: Job, now: datetime) -> Settlement:
    """Decide what happens to a job whose worker stops before the job ends."""
    if job.lookup_at is not None and (job.claimed_at is None or job.lookup_at > job.claimed_at):
        return _settle_interrupted("stopped", max(job.lookup_at, now))
    return _requeue(job, EventType.RELEASED, now)


def _requeue(job: Job, event: EventType, now: datetime) -> Settlement:
    """Put the job back as it was before the claim, which sent nothing. An uncertain job stays uncertain."""
    if job.lookup_at is None:
        return Settlement(state=State.PENDING, event=event, run_at=now, refund=True)
    return Settlement(state=State.UNCERTAIN, event=event, run_at=max(job.lookup_at, now), refund=True)


def _settle_interrupted(what: str, lookup_at: datetime | None) -> Settlement:
    why = f"The worker {what} while a request may have been sent. Postino sends nothing again until it knows."
    return Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, run_at=lookup_at, error=why, rescued=True)


def settle_resolution(said: Done | Retry | Reject, now: datetime, trouble: str | None = None) -> Settlement:
    """Decide by a person's word about an uncertain job: it was done, do it again, or give up. Its error is kept."""
    match said:
        case Done(_, remote_id):
            return Settlement(state=State.COMPLETED, event=EventType.COMPLETED, remote_id=remote_id)
        case Retry():
            return Settlement(state=State.PENDING, event=EventType.RETRYING, run_at=now)  # its last error stays
        case Reject(why):
            return make_failure(
                f"{trouble.rstrip('.')}. Given up: {why}" if trouble else f"Given up: {why}", DeadLetterCause.GIVEN_UP
            )
