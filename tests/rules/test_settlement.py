"""How a job is settled after its handler ended or its worker died, as tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.lifecycle import can_move
from postino.rules.retry import RetryPolicy, Schedule
from postino.rules.settlement import (
    MIN_ATTEMPTS_BEFORE_ASKING,
    DeadLetterCause,
    Settlement,
    choose_retry_time,
    compute_next_lookup,
    make_failure,
    release_job,
    rescue_job,
    settle_job,
    settle_resolution,
    settle_unreadable,
)
from postino.values.event import EventType
from postino.values.job import Job, Queue, State
from postino.values.outcome import Defer, Done, Outcome, RateLimited, Reject, Retry, Unknown

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
POLICY = RetryPolicy(max_attempts=3, backoff=Schedule([60, 300, 900]))
JOB = Job(
    id=UUID(int=1), type="report", channel="reports", queue=Queue.DEFAULT, state=State.RUNNING, payload=b"",
    idempotency_key="k", scheduled_at=NOW, run_at=NOW, created_at=NOW, attempts=1,
)  # fmt: skip


def after(**units: float) -> datetime:
    return NOW + timedelta(**units)


def retry_settlement(run_at: datetime) -> Settlement:
    return Settlement(state=State.PENDING, event=EventType.RETRYING, run_at=run_at, error="busy")


def deferral_settlement(run_at: datetime) -> Settlement:
    return Settlement(
        state=State.PENDING,
        event=EventType.DEFERRED,
        run_at=run_at,
        until_at=run_at if run_at > NOW else None,
        deferral_reason="limit",
        refund=True,
    )


COMPLETED = Settlement(state=State.COMPLETED, event=EventType.COMPLETED)


@pytest.mark.parametrize(
    ("outcome", "attempts", "expected"),
    [
        (Done(), 1, COMPLETED),
        (Done({"pages": 3}, "r1"), 1, replace(COMPLETED, result='{"pages": 3}', remote_id="r1")),
        (Done(0), 1, replace(COMPLETED, result="0")),
        (Done(NOW), 1, replace(COMPLETED, result='"2026-03-29 01:30:00+00:00"')),
        (Done(), 99, COMPLETED),
        (Retry("busy"), 1, retry_settlement(after(seconds=60))),
        (Retry("busy"), 2, retry_settlement(after(seconds=300))),
        (Retry("busy"), 3, make_failure("busy", DeadLetterCause.EXHAUSTED)),
        (Retry("busy"), 4, make_failure("busy", DeadLetterCause.EXHAUSTED)),
        (Retry("busy", after(seconds=90)), 1, retry_settlement(after(seconds=90))),
        (Retry("busy", after(seconds=30)), 1, retry_settlement(after(seconds=60))),
        (Retry("busy", after(hours=9)), 3, make_failure("busy", DeadLetterCause.EXHAUSTED)),
        (Defer(after(hours=1), "limit"), 1, deferral_settlement(after(hours=1))),
        (Defer(after(hours=-1), "limit"), 1, deferral_settlement(NOW)),
        (Defer(after(hours=1), "limit"), 3, deferral_settlement(after(hours=1))),
        (Reject("no"), 1, make_failure("no", DeadLetterCause.PERMANENT)),
        (Reject("no"), 3, make_failure("no", DeadLetterCause.PERMANENT)),
        (Unknown("?"), 1, Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error="?")),
        (Unknown("?"), 3, Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error="?")),
    ],
)
def test_each_outcome_has_one_settlement(outcome: Outcome, attempts: int, expected: Settlement) -> None:
    settlement = settle_job(replace(JOB, attempts=attempts), outcome, POLICY, NOW, 0)
    assert settlement == expected
    assert can_move(State.RUNNING, settlement.state)


@pytest.mark.parametrize(("not_before", "expected"), [(None, 72), (after(seconds=70), 72), (after(seconds=80), 80)])
def test_jitter_never_moves_a_retry_before_its_not_before(not_before: datetime | None, expected: float) -> None:
    settlement = settle_job(JOB, Retry("busy", not_before), POLICY, NOW, 1.0)
    assert settlement.run_at == after(seconds=expected)


@pytest.mark.parametrize(
    ("until_at", "expected"), [(after(minutes=5), after(minutes=5)), (NOW, None), (after(seconds=-5), None)]
)
def test_events_of_a_rate_limited_job_have_no_time_in_the_past(until_at: datetime, expected: datetime | None) -> None:
    held = replace(JOB, account="acme", run_at=after(hours=-1))
    settlement = settle_job(held, RateLimited(until_at, "limit"), POLICY, NOW, 0)
    assert (settlement.run_at, settlement.next_run_at) == (held.run_at, expected)


def test_a_failure_has_an_event_and_a_cause() -> None:
    assert make_failure("why", DeadLetterCause.POISON) == Settlement(
        state=State.FAILED, event=EventType.FAILED, error="why", cause=DeadLetterCause.POISON
    )


def test_a_released_job_spends_no_attempt_unless_it_sent_something() -> None:
    job = replace(JOB, attempts=2, rescues=2)
    assert release_job(job, NOW) == Settlement(state=State.PENDING, event=EventType.RELEASED, run_at=NOW, refund=True)
    assert release_job(replace(job, may_be_live=True, lookup_at=NOW), NOW).state is State.UNCERTAIN
    assert release_job(replace(job, may_be_live=True), NOW).state is State.PENDING, (
        "every call that was sent has a receipt"
    )


@pytest.mark.parametrize(
    ("life", "state", "event", "refund"),
    [
        ({"rescues": 0}, State.PENDING, EventType.RESCUED, True),
        ({"rescues": 1}, State.PENDING, EventType.RESCUED, True),
        ({"rescues": 2}, State.FAILED, EventType.FAILED, False),
        ({"rescues": 3}, State.FAILED, EventType.FAILED, False),
        ({"rescues": 0, "may_be_live": True}, State.PENDING, EventType.RESCUED, True),
        ({"rescues": 0, "may_be_live": True, "lookup_at": LATER}, State.UNCERTAIN, EventType.UNCERTAIN, False),
        ({"rescues": 2, "may_be_live": True, "lookup_at": LATER}, State.UNCERTAIN, EventType.UNCERTAIN, False),
    ],
)
def test_a_job_of_a_dead_worker_is_rescued_failed_or_uncertain(
    life: dict[str, Any], state: State, event: EventType, refund: bool
) -> None:
    decision = rescue_job(replace(JOB, **life), NOW)
    assert (decision.state, decision.event, decision.refund) == (state, event, refund)
    looked_at = LATER if state is State.UNCERTAIN and life["rescues"] < 2 else None
    assert decision.run_at == (NOW if state is State.PENDING else looked_at)
    assert decision.rescued == (state is not State.FAILED)
    assert decision.cause == (DeadLetterCause.WORKER_KILLER if state is State.FAILED else None)
    assert (decision.error is None) == (state is State.PENDING)


# In doubt: a post may be live

DOUBTFUL = replace(JOB, may_be_live=True, lookup_at=after(seconds=40), claimed_at=NOW)
PAST = after(seconds=-5)


def doubt_settlement(run_at: datetime | None, error: str | None = "busy", **fields: Any) -> Settlement:
    return Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, run_at=run_at, error=error, **fields)


@pytest.mark.parametrize(
    ("outcome", "attempts", "lookup_at", "expected"),
    [
        # In quarantine: no lookup before its end, whatever the backoff is.
        (Retry("busy"), 1, after(seconds=90), doubt_settlement(after(seconds=90))),
        (Retry("busy"), 1, after(seconds=40), doubt_settlement(after(seconds=60))),
        (Retry("busy", after(hours=1)), 1, after(seconds=40), doubt_settlement(after(hours=1))),
        (Unknown("?", after(seconds=40)), 1, after(seconds=40), doubt_settlement(after(seconds=40), "?")),
        # The last attempt sent something: it is looked up nevertheless.
        (Retry("busy"), 3, after(seconds=40), doubt_settlement(after(seconds=40))),
        (Retry("busy"), 9, after(seconds=40), doubt_settlement(after(seconds=40))),
        (Unknown("?", after(seconds=40)), 3, after(seconds=40), doubt_settlement(after(seconds=40), "?")),
        # Lookups: as many as there would be retries, then a person. With jitter they wait at most two minutes.
        (Retry("busy"), 1, PAST, doubt_settlement(after(seconds=60))),
        (Retry("busy"), 2, PAST, doubt_settlement(after(seconds=100))),
        (Unknown("?", PAST), 2, PAST, doubt_settlement(after(seconds=100), "?")),
        (Retry("busy", after(hours=1)), 2, PAST, doubt_settlement(after(hours=1))),
        (Retry("busy"), MIN_ATTEMPTS_BEFORE_ASKING, PAST, doubt_settlement(None)),
        (Unknown("?", PAST), MIN_ATTEMPTS_BEFORE_ASKING, PAST, doubt_settlement(None, "?")),
        # A deferral spends no attempt.
        (
            Defer(after(hours=1), "limit"),
            3,
            PAST,
            doubt_settlement(after(hours=1), None, until_at=after(hours=1), deferral_reason="limit", refund=True),
        ),
        (
            Defer(NOW, "limit"),
            1,
            after(seconds=40),
            doubt_settlement(after(seconds=40), None, deferral_reason="limit", refund=True),
        ),
        # A rejected job does not fail as long as its post may be live.
        (Reject("no"), 1, after(seconds=40), doubt_settlement(None, "no")),
        (Reject("no", missed=True), 1, PAST, doubt_settlement(None, "no")),
        (Unknown("?"), 1, after(seconds=40), doubt_settlement(None, "?")),
    ],
)
def test_a_job_in_doubt_is_neither_retried_nor_failed(
    outcome: Outcome, attempts: int, lookup_at: datetime, expected: Settlement
) -> None:
    assert settle_job(replace(DOUBTFUL, attempts=attempts, lookup_at=lookup_at), outcome, POLICY, NOW, 0) == expected


def test_a_job_in_doubt_is_looked_up_within_two_minutes_whatever_the_jitter() -> None:
    job = replace(DOUBTFUL, attempts=2, lookup_at=PAST)
    assert settle_job(job, Retry("busy"), POLICY, NOW, 1).run_at == after(seconds=120)


@pytest.mark.parametrize("attempts", range(1, MIN_ATTEMPTS_BEFORE_ASKING))
def test_a_job_in_doubt_gets_a_minimum_of_lookups(attempts: int) -> None:
    once = RetryPolicy(max_attempts=1, backoff=Schedule([60]))
    job = replace(DOUBTFUL, attempts=attempts, lookup_at=PAST)
    for outcome in (Retry("busy"), Unknown("?", PAST)):
        assert settle_job(job, outcome, once, NOW, 0).run_at == after(seconds=60)
        assert settle_job(replace(job, attempts=MIN_ATTEMPTS_BEFORE_ASKING), outcome, once, NOW, 0).run_at is None


def test_done_does_not_complete_a_job_in_doubt() -> None:
    settlement = settle_job(DOUBTFUL, Done({"url": "u"}, "r1"), POLICY, NOW, 0)
    assert (settlement.state, settlement.run_at, settlement.remote_id) == (State.UNCERTAIN, DOUBTFUL.lookup_at, None)
    last = settle_job(replace(DOUBTFUL, attempts=MIN_ATTEMPTS_BEFORE_ASKING, lookup_at=PAST), Done(), POLICY, NOW, 0)
    assert (last.state, last.run_at) == (State.UNCERTAIN, None)


def test_an_unreadable_payload_does_not_fail_a_job_that_may_be_live() -> None:
    assert settle_unreadable(JOB, "why").cause is DeadLetterCause.POISON
    assert settle_unreadable(DOUBTFUL, "why") == doubt_settlement(None, "why")


outcomes = st.one_of(
    st.just(Done()),
    st.just(Retry("busy")),
    st.builds(lambda minutes: Retry("busy", after(minutes=minutes)), st.integers(-60, 60)),
    st.builds(lambda minutes: Defer(after(minutes=minutes), "limit"), st.integers(-60, 60)),
    st.just(Reject("no")),
    st.builds(lambda minutes: Unknown("?", after(minutes=minutes)), st.integers(-60, 60)),
    st.just(Unknown("?")),
)


@given(outcomes, st.integers(1, 9), st.integers(-60, 60), st.integers(1, 5), st.floats(0, 1))
def test_an_uncertain_job_stays_uncertain_until_its_quarantine_ends(
    outcome: Outcome, attempts: int, minutes: int, most: int, jitter: float
) -> None:
    lookup_at = after(minutes=minutes)
    job = replace(DOUBTFUL, attempts=attempts, lookup_at=lookup_at)
    aligned = replace(outcome, lookup_at=lookup_at) if isinstance(outcome, Unknown) and outcome.lookup_at else outcome
    settlement = settle_job(job, aligned, RetryPolicy(max_attempts=most, backoff=Schedule([60])), NOW, jitter)
    assert settlement.state is State.UNCERTAIN
    assert settlement.event is EventType.UNCERTAIN
    assert settlement.cause is None
    assert can_move(State.RUNNING, settlement.state)
    assert settlement.run_at is None or settlement.run_at >= max(lookup_at, NOW)


@given(st.integers(1, 9), st.integers(1, 9))
def test_the_number_of_lookups_is_limited(attempts: int, most: int) -> None:
    policy = RetryPolicy(max_attempts=most, backoff=Schedule([60]))
    again = compute_next_lookup(replace(DOUBTFUL, attempts=attempts), PAST, policy, NOW, 0)
    assert (again is None) == (attempts >= max(most, MIN_ATTEMPTS_BEFORE_ASKING))


@pytest.mark.parametrize("decide", [release_job, partial(rescue_job, is_suspect=False)])
def test_a_lookup_returned_before_it_started_spends_no_attempt(
    decide: Callable[[Job, datetime], Settlement],
) -> None:
    job = replace(DOUBTFUL, lookup_at=PAST, attempts=2, rescues=2)
    returned = decide(job, NOW)
    assert (returned.state, returned.run_at) == (State.UNCERTAIN, NOW)
    assert (returned.refund, returned.rescued) == (True, False)


def test_a_released_job_that_sent_something_has_spent_its_attempt() -> None:
    stopped = release_job(DOUBTFUL, NOW)
    assert (stopped.state, stopped.run_at, stopped.refund) == (State.UNCERTAIN, DOUBTFUL.lookup_at, False)


def test_a_job_in_doubt_that_kills_workers_waits_for_a_person() -> None:
    assert rescue_job(replace(DOUBTFUL, rescues=1), NOW).run_at == DOUBTFUL.lookup_at
    assert rescue_job(replace(DOUBTFUL, rescues=2), NOW).run_at is None


@pytest.mark.parametrize(
    ("resolution", "state"),
    [(Done(remote_id="r1"), State.COMPLETED), (Retry("again"), State.PENDING), (Reject("no"), State.FAILED)],
)
def test_a_resolution_by_a_person_settles_the_job(resolution: Done | Retry | Reject, state: State) -> None:
    settlement = settle_resolution(resolution, NOW)
    assert settlement.state is state
    assert can_move(State.UNCERTAIN, state)
    assert settlement.run_at == (NOW if state is State.PENDING else None)
    assert settlement.remote_id == ("r1" if state is State.COMPLETED else None)


@pytest.mark.parametrize(
    ("lookup_at", "scheduled_at", "is_begun", "expected"),
    [
        (None, after(hours=-1), False, NOW),
        (None, after(days=20), False, after(days=20)),
        (LATER, after(hours=-1), False, LATER),
        (LATER, after(days=20), False, after(days=20)),
        (None, after(days=20), True, NOW),
    ],
)
def test_job_to_be_sent_again_keeps_a_scheduled_time_to_come(
    lookup_at: datetime | None, scheduled_at: datetime, is_begun: bool, expected: datetime
) -> None:
    job = replace(JOB, lookup_at=lookup_at, scheduled_at=scheduled_at)
    assert choose_retry_time(job, NOW, is_begun=is_begun) == expected
