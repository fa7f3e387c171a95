"""What becomes of a job, as tables: after its handler ended, and after its worker died."""

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
    MIN_LOOKUPS,
    DeadLetterCause,
    Settlement,
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


def retrying(run_at: datetime) -> Settlement:
    return Settlement(state=State.PENDING, event=EventType.RETRYING, run_at=run_at, error="busy")


def deferred(run_at: datetime) -> Settlement:
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
        (Retry("busy"), 1, retrying(after(seconds=60))),
        (Retry("busy"), 2, retrying(after(seconds=300))),
        (Retry("busy"), 3, make_failure("busy", DeadLetterCause.EXHAUSTED)),
        (Retry("busy"), 4, make_failure("busy", DeadLetterCause.EXHAUSTED)),
        (Retry("busy", after(seconds=90)), 1, retrying(after(seconds=90))),
        (Retry("busy", after(seconds=30)), 1, retrying(after(seconds=60))),
        (Retry("busy", after(hours=9)), 3, make_failure("busy", DeadLetterCause.EXHAUSTED)),
        (Defer(after(hours=1), "limit"), 1, deferred(after(hours=1))),
        (Defer(after(hours=-1), "limit"), 1, deferred(NOW)),
        (Defer(after(hours=1), "limit"), 3, deferred(after(hours=1))),
        (Reject("no"), 1, make_failure("no", DeadLetterCause.PERMANENT)),
        (Reject("no"), 3, make_failure("no", DeadLetterCause.PERMANENT)),
        (Unknown("?"), 1, Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error="?")),
        (Unknown("?"), 3, Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, error="?")),
    ],
)
def test_each_outcome_has_its_settlement(outcome: Outcome, attempts: int, expected: Settlement) -> None:
    settled = settle_job(replace(JOB, attempts=attempts), outcome, POLICY, NOW, 0)
    assert settled == expected
    assert can_move(State.RUNNING, settled.state)


@pytest.mark.parametrize(("not_before", "expected"), [(None, 72), (after(seconds=70), 72), (after(seconds=80), 80)])
def test_jitter_never_brings_a_retry_below_its_not_before(not_before: datetime | None, expected: float) -> None:
    settled = settle_job(JOB, Retry("busy", not_before), POLICY, NOW, 1.0)
    assert settled.run_at == after(seconds=expected)


@pytest.mark.parametrize(
    ("until_at", "expected"), [(after(minutes=5), after(minutes=5)), (NOW, None), (after(seconds=-5), None)]
)
def test_events_of_a_held_job_never_say_a_time_in_the_past(until_at: datetime, expected: datetime | None) -> None:
    held = replace(JOB, account="acme", run_at=after(hours=-1))
    settled = settle_job(held, RateLimited(until_at, "limit"), POLICY, NOW, 0)
    assert (settled.run_at, settled.next_run_at) == (held.run_at, expected)


def test_a_failure_is_an_event_with_its_cause() -> None:
    assert make_failure("why", DeadLetterCause.POISON) == Settlement(
        state=State.FAILED, event=EventType.FAILED, error="why", cause=DeadLetterCause.POISON
    )


def test_a_released_job_spends_no_attempt_unless_it_sent_something() -> None:
    job = replace(JOB, attempts=2, rescues=2)
    assert release_job(job, NOW) == Settlement(state=State.PENDING, event=EventType.RELEASED, run_at=NOW, refund=True)
    assert release_job(replace(job, may_be_live=True, lookup_at=NOW), NOW).state is State.UNCERTAIN
    assert release_job(replace(job, may_be_live=True), NOW).state is State.PENDING, "all that was sent was answered"


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
def test_what_a_dead_worker_held_is_rescued_quarantined_or_uncertain(
    life: dict[str, Any], state: State, event: EventType, refund: bool
) -> None:
    decided = rescue_job(replace(JOB, **life), NOW)
    assert (decided.state, decided.event, decided.refund) == (state, event, refund)
    looked_at = LATER if state is State.UNCERTAIN and life["rescues"] < 2 else None
    assert decided.run_at == (NOW if state is State.PENDING else looked_at)
    assert decided.rescued == (state is not State.FAILED)
    assert decided.cause == (DeadLetterCause.WORKER_KILLER if state is State.FAILED else None)
    assert (decided.error is None) == (state is State.PENDING)


# In doubt: something may be out there

DOUBTFUL = replace(JOB, may_be_live=True, lookup_at=after(seconds=40), claimed_at=NOW)
PAST = after(seconds=-5)


def uncertain(run_at: datetime | None, error: str | None = "busy", **said: Any) -> Settlement:
    return Settlement(state=State.UNCERTAIN, event=EventType.UNCERTAIN, run_at=run_at, error=error, **said)


@pytest.mark.parametrize(
    ("outcome", "attempts", "lookup_at", "expected"),
    [
        # In the quarantine: nobody looks before its end, whatever the backoff says.
        (Retry("busy"), 1, after(seconds=90), uncertain(after(seconds=90))),
        (Retry("busy"), 1, after(seconds=40), uncertain(after(seconds=60))),
        (Retry("busy", after(hours=1)), 1, after(seconds=40), uncertain(after(hours=1))),
        (Unknown("?", after(seconds=40)), 1, after(seconds=40), uncertain(after(seconds=40), "?")),
        # The last attempt sent something: it is asked after all the same.
        (Retry("busy"), 3, after(seconds=40), uncertain(after(seconds=40))),
        (Retry("busy"), 9, after(seconds=40), uncertain(after(seconds=40))),
        (Unknown("?", after(seconds=40)), 3, after(seconds=40), uncertain(after(seconds=40), "?")),
        # Looking: as often as one would try again, then a person.
        (Retry("busy"), 2, PAST, uncertain(after(seconds=300))),
        (Unknown("?", PAST), 2, PAST, uncertain(after(seconds=300), "?")),
        (Retry("busy"), MIN_LOOKUPS, PAST, uncertain(None)),
        (Unknown("?", PAST), MIN_LOOKUPS, PAST, uncertain(None, "?")),
        # A wait is a wait, and costs nothing.
        (
            Defer(after(hours=1), "limit"),
            3,
            PAST,
            uncertain(after(hours=1), None, until_at=after(hours=1), deferral_reason="limit", refund=True),
        ),
        (
            Defer(NOW, "limit"),
            1,
            after(seconds=40),
            uncertain(after(seconds=40), None, deferral_reason="limit", refund=True),
        ),
        # What can never work is not simply failed as long as it may have worked.
        (Reject("no"), 1, after(seconds=40), uncertain(None, "no")),
        (Reject("no", missed=True), 1, PAST, uncertain(None, "no")),
        (Unknown("?"), 1, after(seconds=40), uncertain(None, "?")),
    ],
)
def test_in_doubt_a_job_is_neither_simply_tried_again_nor_given_up(
    outcome: Outcome, attempts: int, lookup_at: datetime, expected: Settlement
) -> None:
    assert settle_job(replace(DOUBTFUL, attempts=attempts, lookup_at=lookup_at), outcome, POLICY, NOW, 0) == expected


@pytest.mark.parametrize("attempts", range(1, MIN_LOOKUPS))
def test_however_few_tries_a_job_has_it_is_asked_after_a_few_times(attempts: int) -> None:
    once = RetryPolicy(max_attempts=1, backoff=Schedule([60]))
    job = replace(DOUBTFUL, attempts=attempts, lookup_at=PAST)
    for outcome in (Retry("busy"), Unknown("?", PAST)):
        assert settle_job(job, outcome, once, NOW, 0).run_at == after(seconds=60)
        assert settle_job(replace(job, attempts=MIN_LOOKUPS), outcome, once, NOW, 0).run_at is None


def test_done_is_not_believed_as_long_as_something_is_in_doubt() -> None:
    settled = settle_job(DOUBTFUL, Done({"url": "u"}, "r1"), POLICY, NOW, 0)
    assert (settled.state, settled.run_at, settled.remote_id) == (State.UNCERTAIN, DOUBTFUL.lookup_at, None)
    asked = settle_job(replace(DOUBTFUL, attempts=MIN_LOOKUPS, lookup_at=PAST), Done(), POLICY, NOW, 0)
    assert (asked.state, asked.run_at) == (State.UNCERTAIN, None)


def test_a_payload_that_cannot_be_read_any_more_does_not_fail_what_may_be_out_there() -> None:
    assert settle_unreadable(JOB, "why").cause is DeadLetterCause.POISON
    assert settle_unreadable(DOUBTFUL, "why") == uncertain(None, "why")


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
    told = replace(outcome, lookup_at=lookup_at) if isinstance(outcome, Unknown) and outcome.lookup_at else outcome
    settled = settle_job(job, told, RetryPolicy(max_attempts=most, backoff=Schedule([60])), NOW, jitter)
    assert settled.state is State.UNCERTAIN
    assert settled.event is EventType.UNCERTAIN
    assert settled.cause is None
    assert can_move(State.RUNNING, settled.state)
    assert settled.run_at is None or settled.run_at >= max(lookup_at, NOW)


@given(st.integers(1, 9), st.integers(1, 9))
def test_looks_come_to_an_end(attempts: int, most: int) -> None:
    policy = RetryPolicy(max_attempts=most, backoff=Schedule([60]))
    again = compute_next_lookup(replace(DOUBTFUL, attempts=attempts), PAST, policy, NOW, 0)
    assert (again is None) == (attempts >= max(most, MIN_LOOKUPS))


@pytest.mark.parametrize("decide", [release_job, partial(rescue_job, suspected=False)])
def test_one_taken_only_to_look_and_given_back_before_it_began_has_spent_nothing(
    decide: Callable[[Job, datetime], Settlement],
) -> None:
    job = replace(DOUBTFUL, lookup_at=PAST, attempts=2, rescues=2)
    given_back = decide(job, NOW)
    assert (given_back.state, given_back.run_at) == (State.UNCERTAIN, NOW)
    assert (given_back.refund, given_back.rescued) == (True, False)


def test_one_that_sent_something_before_its_worker_stopped_has_spent_its_attempt() -> None:
    stopped = release_job(DOUBTFUL, NOW)
    assert (stopped.state, stopped.run_at, stopped.refund) == (State.UNCERTAIN, DOUBTFUL.lookup_at, False)


def test_a_job_in_doubt_that_kills_its_workers_is_left_to_a_person() -> None:
    assert rescue_job(replace(DOUBTFUL, rescues=1), NOW).run_at == DOUBTFUL.lookup_at
    assert rescue_job(replace(DOUBTFUL, rescues=2), NOW).run_at is None


@pytest.mark.parametrize(
    ("said", "state"),
    [(Done(remote_id="r1"), State.COMPLETED), (Retry("again"), State.PENDING), (Reject("no"), State.FAILED)],
)
def test_a_persons_word_is_settled_as_it_is(said: Done | Retry | Reject, state: State) -> None:
    settled = settle_resolution(said, NOW)
    assert settled.state is state
    assert can_move(State.UNCERTAIN, state)
    assert settled.run_at == (NOW if state is State.PENDING else None)
    assert settled.remote_id == ("r1" if state is State.COMPLETED else None)
