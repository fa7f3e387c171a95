"""What becomes of a job, as tables: after its handler ended, and after its worker died."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from postino.event import EventType
from postino.job import Job, Queue, State
from postino.outcome import Defer, Done, Outcome, Reject, Retry, Unknown
from postino.rules.lifecycle import may_move
from postino.rules.retry import RetryPolicy, Schedule
from postino.rules.settlement import Cause, Settlement, failed, release, rescue, settle

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
POLICY = RetryPolicy(max_attempts=3, backoff=Schedule([60, 300, 900]))
JOB = Job(
    id=UUID(int=1), type="report", channel="reports", queue=Queue.DEFAULT, state=State.RUNNING, payload=b"",
    idempotency_key="k", scheduled_at=NOW, run_at=NOW, created_at=NOW, attempts=1,
)  # fmt: skip


def after(**units: float) -> datetime:
    return NOW + timedelta(**units)


def retrying(run_at: datetime) -> Settlement:
    return Settlement(state=State.PENDING, event=EventType.RETRYING, run_at=run_at, error="busy")


def deferred(run_at: datetime) -> Settlement:
    return Settlement(state=State.PENDING, event=EventType.DEFERRED, run_at=run_at, deferred="limit", refund=True)


COMPLETED = Settlement(state=State.COMPLETED, event=EventType.COMPLETED)


@pytest.mark.parametrize(
    ("outcome", "attempts", "expected"),
    [
        (Done(), 1, COMPLETED),
        (Done({"pages": 3}, "r1"), 1, replace(COMPLETED, result='{"pages": 3}', remote_id="r1")),
        (Done(0), 1, replace(COMPLETED, result="0")),
        (Done(NOW), 1, replace(COMPLETED, result='"2026-03-29 01:30:00+00:00"')),
        (Done(), 99, COMPLETED),
        (Retry("busy"), 1, retrying(after(seconds=60))),
        (Retry("busy"), 2, retrying(after(seconds=300))),
        (Retry("busy"), 3, failed("busy", Cause.EXHAUSTED)),
        (Retry("busy"), 4, failed("busy", Cause.EXHAUSTED)),
        (Retry("busy", after(seconds=90)), 1, retrying(after(seconds=90))),
        (Retry("busy", after(seconds=30)), 1, retrying(after(seconds=60))),
        (Retry("busy", after(hours=9)), 3, failed("busy", Cause.EXHAUSTED)),
        (Defer(after(hours=1), "limit"), 1, deferred(after(hours=1))),
        (Defer(after(hours=-1), "limit"), 1, deferred(NOW)),
        (Defer(after(hours=1), "limit"), 3, deferred(after(hours=1))),
        (Reject("no"), 1, failed("no", Cause.PERMANENT)),
        (Reject("no"), 3, failed("no", Cause.PERMANENT)),
        (Unknown("?"), 1, Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error="?")),
        (Unknown("?"), 3, Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error="?")),
    ],
)
def test_each_outcome_has_its_settlement(outcome: Outcome, attempts: int, expected: Settlement) -> None:
    settled = settle(replace(JOB, attempts=attempts), outcome, POLICY, NOW, 0)
    assert settled == expected
    assert may_move(State.RUNNING, settled.state)


@pytest.mark.parametrize(
    ("not_before", "expected"), [(None, 72), (after(seconds=70), 72), (after(seconds=80), 80)]
)
def test_jitter_never_brings_a_retry_below_its_not_before(not_before: datetime | None, expected: float) -> None:
    settled = settle(JOB, Retry("busy", not_before), POLICY, NOW, 1.0)
    assert settled.run_at == after(seconds=expected)


def test_a_failure_is_an_event_with_its_cause() -> None:
    assert failed("why", Cause.POISON) == Settlement(
        state=State.FAILED, event=EventType.FAILED, error="why", cause=Cause.POISON
    )


def test_a_job_given_back_costs_neither_an_attempt_nor_a_rescue_unless_it_sent_something() -> None:
    job = replace(JOB, attempts=2, rescues=2)
    assert release(job, NOW) == Settlement(state=State.PENDING, event=EventType.RELEASED, run_at=NOW, refund=True)
    assert release(replace(job, sent=True, look_at=NOW), NOW).state is State.UNCERTAIN
    assert release(replace(job, sent=True), NOW).state is State.PENDING, "all that was sent was answered"


@pytest.mark.parametrize(
    ("life", "state", "event", "refund"),
    [
        ({"rescues": 0}, State.PENDING, EventType.RESCUED, True),
        ({"rescues": 1}, State.PENDING, EventType.RESCUED, True),
        ({"rescues": 2}, State.FAILED, EventType.FAILED, False),
        ({"rescues": 3}, State.FAILED, EventType.FAILED, False),
        ({"rescues": 0, "sent": True}, State.PENDING, EventType.RESCUED, True),
        ({"rescues": 0, "sent": True, "look_at": LATER}, State.UNCERTAIN, EventType.UNCERTAIN, False),
        ({"rescues": 2, "sent": True, "look_at": LATER}, State.UNCERTAIN, EventType.UNCERTAIN, False),
    ],
)
def test_what_a_dead_worker_held_is_rescued_quarantined_or_uncertain(
    life: dict[str, Any], state: State, event: EventType, refund: bool
) -> None:
    decided = rescue(replace(JOB, **life), NOW)
    assert (decided.state, decided.event, decided.refund) == (state, event, refund)
    looked_at = LATER if state is State.UNCERTAIN and life["rescues"] < 2 else None
    assert decided.run_at == (NOW if state is State.PENDING else looked_at)
    assert decided.rescued == (state is not State.FAILED)
    assert decided.cause == (Cause.QUARANTINED if state is State.FAILED else None)
    assert (decided.error is None) == (state is State.PENDING)
