"""What becomes of a job after its handler ended, or after its worker died."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from postino.event import EventType
from postino.job import Job, State
from postino.outcome import Defer, Done, Outcome, Reject, Retry, Unknown
from postino.rules.retry import RetryPolicy, delay

MOST_RESCUES = 3


class Cause(StrEnum):
    """Why a job is among the dead letters."""

    EXHAUSTED = "exhausted"  # every attempt was used
    PERMANENT = "permanent"  # it can never work as it stands
    POISON = "poison"  # its payload cannot be read
    QUARANTINED = "quarantined"  # its worker died under it too often


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What the store writes: the next state and what goes with it."""

    state: State
    event: EventType | None
    run_at: datetime | None = None
    error: str | None = None
    deferred: str | None = None
    refund: bool = False
    rescued: bool = False
    cause: Cause | None = None
    remote_id: str | None = None
    result: str | None = None


WORKED = Settlement(state=State.COMPLETED, event=EventType.COMPLETED)


def settle(job: Job, outcome: Outcome, policy: RetryPolicy, now: datetime, jitter: float) -> Settlement:
    match outcome:
        case Done(None, None):
            return WORKED
        case Done(result, remote_id):
            named = remote_id if remote_id is None else printed(remote_id, str)
            return Settlement(state=State.COMPLETED, event=EventType.COMPLETED, remote_id=named, result=kept(result))
        case Defer(until, why):
            return Settlement(
                state=State.PENDING, event=EventType.DEFERRED, run_at=max(until, now), deferred=why, refund=True
            )
        case Retry(why) if job.attempts >= policy.max_attempts:
            return failed(why, Cause.EXHAUSTED)
        case Retry(why, not_before):
            again = max(now + delay(job.attempts, policy.backoff, jitter), not_before or now)
            return Settlement(state=State.PENDING, event=EventType.RETRYING, run_at=again, error=why)
        case Reject(why):
            return failed(why, Cause.PERMANENT)
        case Unknown(why):
            return Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error=why)


def kept(result: object) -> str | None:
    """A result as JSON. What is no JSON is kept as it prints itself: the work is done, and must not be done again."""
    if result is None:
        return None
    try:
        return json.dumps(result, default=str, allow_nan=False)
    except Exception:  # noqa: BLE001 - an object may do anything when it is asked to print itself
        return json.dumps(printed(result, repr))


def printed(value: object, how: Callable[[object], str]) -> str:
    try:
        return how(value)
    except Exception:  # noqa: BLE001 - likewise
        return f"<{type(value).__qualname__}>"


def failed(why: str, cause: Cause) -> Settlement:
    return Settlement(state=State.FAILED, event=EventType.FAILED, error=why, cause=cause)


def rescue(job: Job, now: datetime, suspected: bool = True) -> Settlement:
    """What becomes of a job whose worker died under it.

    A first death counts against all it ran, since nobody knows whose doing it was. After that they run one at a time,
    and a further one counts only against the one that was running.
    """
    if job.sent:
        return in_doubt("died")
    if job.rescues and not suspected:
        return Settlement(state=State.PENDING, event=EventType.RESCUED, run_at=now, refund=True)
    if job.rescues + 1 >= MOST_RESCUES:
        why = f"The worker died under this job {MOST_RESCUES} times. Look at what it does before replaying it."
        return failed(why, Cause.QUARANTINED)
    return Settlement(state=State.PENDING, event=EventType.RESCUED, run_at=now, refund=True, rescued=True)


def release(job: Job, now: datetime) -> Settlement:
    """What becomes of a job whose worker was told to stop and could not wait for it any longer."""
    if job.sent:
        return in_doubt("stopped")
    return Settlement(state=State.PENDING, event=EventType.RELEASED, run_at=now, refund=True)


def in_doubt(what: str) -> Settlement:
    why = f"The worker {what} after something may have been sent; nothing is sent again before that is known."
    return Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error=why, rescued=True)


def verdict(said: Done | Retry | Reject, now: datetime) -> Settlement:
    """A person's word about an uncertain job: it happened, do it again, or give up."""
    match said:
        case Done(_, remote_id):
            return Settlement(state=State.COMPLETED, event=EventType.COMPLETED, remote_id=remote_id)
        case Retry():
            return Settlement(state=State.PENDING, event=EventType.RETRYING, run_at=now)  # its last error stays
        case Reject(why):
            return failed(why, Cause.PERMANENT)
