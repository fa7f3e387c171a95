"""Decide the next state of a job after its handler ended or its worker died. It stores nothing itself."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from postino.rules.retry import MAX_JITTER, RetryPolicy, cap_backoff, compute_delay
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.outcome import Defer, Done, GateClosed, Held, Outcome, RateLimited, Reject, Retry, Unknown

MAX_WORKER_DEATHS = 3
MAX_RATE_LIMITS = 20  # rate limits per job: they spend no attempt, so they need a limit of their own
MISSED_MESSAGE = (
    "missed: the time in `publish_until` passed before Postino published the post. Replay it to publish it anyway."
)
UNCERTAIN_MESSAGE = "The handler completed, but Postino does not know whether everything was published."
MIN_ATTEMPTS_BEFORE_ASKING = 10  # lookups are harmless: so many claims, lookups included, before a person is asked
MAX_LOOKUP_DELAY = 120.0  # seconds between two lookups: until then the post stays uncertain


class DeadLetterCause(StrEnum):
    """Why a job is a dead letter."""

    EXHAUSTED = "exhausted"  # every attempt was used
    PERMANENT = "permanent"  # it can never work unchanged
    POISON = "poison"  # its payload, or what is stored of it, cannot be read
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
    refund: bool = False  # gives the attempt back
    rate_limited: bool = False  # counts towards MAX_RATE_LIMITS
    rescued: bool = False  # counts towards MAX_WORKER_DEATHS
    cause: DeadLetterCause | None = None
    remote_id: str | None = None
    result: str | None = None

    @property
    def next_run_at(self) -> datetime | None:
        """Return when the job may run next, for events; None if nobody knows.

        It is not always `run_at`: a job that waits at a gate keeps its place in its lane, which is a time in the past.
        """
        if self.deferral_reason is None:
            return self.run_at
        lookup_at = self.run_at if self.state is State.UNCERTAIN else None
        return max((at for at in (self.until_at, lookup_at) if at is not None), default=None)


COMPLETED = Settlement(state=State.COMPLETED, event=EventType.COMPLETED)


def settle_job(job: Job, outcome: Outcome, policy: RetryPolicy, now: datetime, jitter: float) -> Settlement:
    """Decide the next state of a job from the outcome of its handler."""
    if job.lookup_at is None:  # no call is in doubt
        return _settle_outcome(job, outcome, policy, now, jitter)
    policy = replace(policy, backoff=cap_backoff(policy.backoff, MAX_LOOKUP_DELAY / (1 + MAX_JITTER)))
    return _keep_uncertain(
        _settle_outcome(job, _reinterpret_outcome(job, outcome, policy), policy, now, jitter), job.lookup_at
    )


def _reinterpret_outcome(job: Job, outcome: Outcome, policy: RetryPolicy) -> Outcome:
    """Return what an outcome means while a call is in doubt: Done is not certain, and lookups outlast the retries."""
    match outcome:
        case Done():
            return Unknown(UNCERTAIN_MESSAGE, job.lookup_at)
        case Retry(why) if job.attempts >= policy.max_attempts:
            return Unknown(why, job.lookup_at)
        case _:
            return outcome


def _keep_uncertain(settlement: Settlement, lookup_at: datetime) -> Settlement:
    """Keep the job uncertain: while a call is in doubt, the job is neither retried nor failed."""
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
            named = remote_id if remote_id is None else print_safely(remote_id, str)
            return Settlement(
                state=State.COMPLETED, event=EventType.COMPLETED, remote_id=named, result=_to_json(result)
            )
        case RateLimited(_, why) if job.rate_limit_count >= MAX_RATE_LIMITS:
            return make_failure(
                f"{why} The network rate-limited this job {job.rate_limit_count + 1} times.", DeadLetterCause.EXHAUSTED
            )
        case Defer(until, why):
            is_gated = isinstance(outcome, GateClosed)
            return Settlement(
                state=State.PENDING,
                event=EventType.DEFERRED,
                run_at=_get_gated_run_at(job, now) if is_gated else max(until, now),
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
            held = why if isinstance(outcome, Held) else None
            return Settlement(
                state=State.UNCERTAIN, event=EventType.UNCERTAIN, run_at=at, error=why, deferral_reason=held
            )


def _get_gated_run_at(job: Job, now: datetime) -> datetime:
    """Return the old place in the lane, or now without a lane: claims continue after the last due time they saw."""
    return now if job.lane is None or job.run_at is None else job.run_at


def compute_next_lookup(
    job: Job, lookup_at: datetime, policy: RetryPolicy, now: datetime, jitter: float
) -> datetime | None:
    """Return the time of the next lookup: first when the quarantine ends, then by the backoff; None: ask a person."""
    if lookup_at > now:
        return lookup_at
    if job.attempts >= max(policy.max_attempts, MIN_ATTEMPTS_BEFORE_ASKING):
        return None
    return now + compute_delay(job.attempts, policy.backoff, jitter)


def _to_json(result: object) -> str | None:
    """Return a result as JSON, or its repr: a result that is no JSON must not make the job fail and run again."""
    if result is None:
        return None
    try:
        return json.dumps(result, default=str, allow_nan=False)
    except Exception:  # noqa: BLE001 - __repr__ and __str__ may raise anything
        return json.dumps(print_safely(result, repr))


def print_safely(value: object, how: Callable[[object], str]) -> str:
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


def settle_unclaimable(job: Job, why: str) -> Settlement:
    """Decide what happens to a job that no worker can claim: a person decides if something may be live."""
    if job.may_be_live:
        return Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error=why)
    return make_failure(why, DeadLetterCause.POISON)


def make_failure(why: str, cause: DeadLetterCause) -> Settlement:
    return Settlement(state=State.FAILED, event=EventType.FAILED, error=why, cause=cause)


def rescue_job(job: Job, now: datetime, is_suspect: bool = True) -> Settlement:
    """Decide what happens to a job whose worker died or exceeded the deadline of the job.

    The first death counts against all jobs of the worker, because any of them may have caused it. After that
    workers run these jobs one at a time. A further death counts only against the *suspect*: the job that was running.
    """
    if job.rescues and not is_suspect:
        return _requeue(job, EventType.RESCUED, now)
    if job.lookup_at is not None:
        return _settle_interrupted("died", None if job.rescues + 1 >= MAX_WORKER_DEATHS else max(job.lookup_at, now))
    if job.rescues + 1 >= MAX_WORKER_DEATHS:
        why = (
            f"{MAX_WORKER_DEATHS} workers died or got stuck while running this job. Find out why before you replay it."
        )
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


def choose_retry_time(job: Job, now: datetime, *, is_begun: bool) -> datetime:
    """Return when a job runs that a person decided to send again.

    Not before an earlier request can no longer arrive, nor before its scheduled time, unless a part of it is live.
    """
    return max(now, job.lookup_at or now, now if is_begun else job.scheduled_at)


def settle_resolution(decision: Done | Retry | Reject, retry_at: datetime, last_error: str | None = None) -> Settlement:
    """Settle an uncertain job as a person decided: it was done, send it again, or give up. Its last error is kept."""
    match decision:
        case Done(_, remote_id):
            return Settlement(state=State.COMPLETED, event=EventType.COMPLETED, remote_id=remote_id)
        case Retry():
            return Settlement(state=State.PENDING, event=EventType.RETRYING, run_at=retry_at)  # its last error stays
        case Reject(why):
            return make_failure(
                f"{last_error.rstrip('.')}. Given up: {why}" if last_error else f"Given up: {why}",
                DeadLetterCause.GIVEN_UP,
            )
