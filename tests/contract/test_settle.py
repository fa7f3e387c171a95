"""Settle: fenced by the token; job, history, event and dead letter are written together."""

from __future__ import annotations

from datetime import timedelta

import pytest

from postino.rules import settlement
from postino.rules.retry import RetryPolicy, Schedule
from postino.rules.settlement import Settlement
from postino.stores.records import Attempt, AttemptError, DeadLetterFilter, SettledJob
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry, Unknown
from tests.contract.harness import ME, POISON, StoreHarness, ids

EVERY_OUTCOME: list[Outcome] = [Done(), Reject("no"), Retry("busy"), Unknown("?")]


async def test_a_completed_job_is_finished_with_result_and_remote_id(harness: StoreHarness, running_job: Job) -> None:
    harness.clock.turn(seconds=9)
    assert await harness.end(running_job, Done({"pages": 3}, "remote-1"))
    job = await harness.store.job(running_job.id)
    assert (job.state, job.finished_at) == (State.COMPLETED, harness.clock())
    assert (job.result, job.remote_id) == ('{"pages": 3}', "remote-1")
    assert (job.attempts, job.claimed_by, job.token) == (1, "w1", None)
    assert (job.payload, job.created_at, job.idempotency_key) == (
        running_job.payload, running_job.created_at, running_job.idempotency_key,
    )  # fmt: skip


async def test_a_completed_job_leaves_no_dead_letter_and_never_runs_again(harness: StoreHarness) -> None:
    await harness.run(Done())
    harness.clock.turn(days=3)
    assert await harness.take() == []
    assert await harness.store.dead_letters(DeadLetterFilter()) == []


async def test_history_has_one_row_for_each_attempt(harness: StoreHarness) -> None:
    job = await harness.put()
    started_at = harness.clock()
    claimed = await harness.take_one()
    ended_at = harness.clock.turn(seconds=7)
    assert await harness.end(claimed, Retry("busy"), AttemptError("TimeoutError", "too slow", "line 1\nline 2"))
    again_at = harness.clock.turn(minutes=5)
    assert await harness.end(await harness.take_one(), Done())
    assert await harness.store.attempts(job.id) == [
        Attempt(
            generation=1, number=1, started_at=started_at, ended_at=ended_at, worker="w1", outcome="retrying",
            error_class="TimeoutError", message="too slow", trace="line 1\nline 2",
        ),
        Attempt(generation=1, number=2, started_at=again_at, ended_at=again_at, worker="w1", outcome="completed"),
    ]  # fmt: skip


@pytest.mark.parametrize("outcome", EVERY_OUTCOME)
async def test_job_attempt_and_event_are_written_together(harness: StoreHarness, outcome: Outcome) -> None:
    job = await harness.run(outcome)
    written = settlement.settle_job(job, outcome, RetryPolicy(), harness.clock(), 0)
    assert job.state is written.state
    assert [attempt.outcome for attempt in await harness.store.attempts(job.id)] == [
        str(written.event).removeprefix("job.")
    ]
    assert await harness.list_event_types(job.id) == [written.event]
    assert len(await harness.store.dead_letters(DeadLetterFilter())) == (1 if job.state is State.FAILED else 0)


@pytest.mark.parametrize("outcome", EVERY_OUTCOME)
@pytest.mark.parametrize("lane", [{}, {"account": "acme"}])
async def test_a_settle_with_an_old_token_is_refused_and_changes_nothing(
    harness: StoreHarness, outcome: Outcome, lane: dict[str, str]
) -> None:
    job = await harness.put(**lane)
    (lost,) = await harness.take()
    await harness.kill("w1")
    await harness.hire("w2")
    (held,) = await harness.take(worker="w2")
    before = await harness.events()
    assert not await harness.end(lost, outcome)
    assert await harness.store.job(job.id) == held
    assert await harness.events() == before
    assert len(await harness.store.attempts(job.id)) == 1
    assert await harness.store.dead_letters(DeadLetterFilter()) == []
    assert await harness.end(held, Done())


@pytest.mark.parametrize("outcome", EVERY_OUTCOME)
async def test_a_second_settle_is_refused_and_changes_nothing(
    harness: StoreHarness, running_job: Job, outcome: Outcome
) -> None:
    assert await harness.end(running_job, outcome)
    settled = await harness.store.job(running_job.id)
    for again in EVERY_OUTCOME:
        assert not await harness.end(running_job, again)
    assert await harness.store.job(running_job.id) == settled
    assert len(await harness.store.attempts(running_job.id)) == 1
    assert len(await harness.list_event_types(running_job.id)) == 1


async def test_a_settle_after_a_cancelled_and_lost_claim_is_refused(harness: StoreHarness, running_job: Job) -> None:
    await harness.kill("w1")
    await harness.store.cancel_job(running_job.id, ME)
    assert not await harness.end(running_job, Done())
    assert await harness.state(running_job) is State.CANCELLED


async def test_batch_is_settled_together_and_returns_what_was_held(harness: StoreHarness) -> None:
    await harness.put_many(6)
    jobs = await harness.take()
    outcomes: list[Outcome] = [
        Done(), Reject("no"), Retry("busy"), Unknown("?"), Defer(harness.clock.later(hours=1), "limit"), Done()
    ]  # fmt: skip
    assert await harness.end(jobs[5], Done())
    endings = [
        SettledJob(job, settlement.settle_job(job, outcome, RetryPolicy(), harness.clock(), 0))
        for job, outcome in zip(jobs, outcomes, strict=True)
    ]
    assert await harness.store.settle(endings) == ids(jobs[:5])
    assert [await harness.state(job) for job in jobs] == [
        State.COMPLETED, State.FAILED, State.PENDING, State.UNCERTAIN, State.PENDING, State.COMPLETED
    ]  # fmt: skip


async def test_settling_an_empty_batch_does_nothing(harness: StoreHarness) -> None:
    assert await harness.store.settle([]) == set()


@pytest.mark.parametrize("lane", [{}, {"account": "acme"}])
async def test_a_deferral_spends_no_attempt_and_leaves_no_history(harness: StoreHarness, lane: dict[str, str]) -> None:
    until = harness.clock.later(hours=2)
    job = await harness.run(Defer(until, "limit reached"), **lane)
    assert (job.state, job.run_at, job.attempts) == (State.PENDING, until, 0)
    assert (job.deferrals, job.deferral_reason) == (1, "limit reached")
    assert (job.claimed_by, job.claimed_at, job.token, job.last_error) == (None, None, None, None)
    assert await harness.store.attempts(job.id) == []
    assert await harness.list_event_types(job.id) == [EventType.DEFERRED]
    assert await harness.take() == []
    harness.clock.turn(hours=2)
    (again,) = await harness.take()
    assert (again.attempts, again.deferrals, again.deferral_reason) == (1, 1, None)


async def test_released_job_is_unchanged_and_its_history_says_why(harness: StoreHarness, due_job: Job) -> None:
    claimed = await harness.take_one()
    assert await harness.settle(claimed, settlement.release_job(claimed, harness.clock()))
    assert await harness.store.job(due_job.id) == due_job
    assert [attempt.outcome for attempt in await harness.store.attempts(due_job.id)] == ["released"]
    assert await harness.list_event_types(due_job.id) == [EventType.RELEASED]
    assert ids(await harness.take()) == {due_job.id}


async def test_a_retry_waits_for_its_backoff_and_then_runs_again(harness: StoreHarness) -> None:
    policy = RetryPolicy(max_attempts=3, backoff=Schedule([60, 300]))
    job = await harness.put()
    for attempt, seconds in ((1, 60), (2, 300)):
        claimed = await harness.take_one()
        assert claimed.attempts == attempt
        assert await harness.end(claimed, Retry(f"busy {attempt}"), policy=policy)
        waiting = await harness.store.job(job.id)
        assert waiting.run_at == harness.clock() + timedelta(seconds=seconds)
        assert (waiting.state, waiting.last_error) == (State.PENDING, f"busy {attempt}")
        assert waiting.scheduled_at == job.scheduled_at
        harness.clock.turn(seconds=seconds - 1)
        assert await harness.take() == []
        harness.clock.turn(seconds=1)
    assert await harness.end(await harness.take_one(), Retry("busy 3"), policy=policy)
    assert await harness.state(job) is State.FAILED
    assert await harness.list_event_types(job.id) == [EventType.RETRYING, EventType.RETRYING, EventType.FAILED]


async def test_an_uncertain_job_waits_for_a_person(harness: StoreHarness) -> None:
    job = await harness.run(Unknown("no answer"))
    assert (job.state, job.run_at, job.last_error) == (State.UNCERTAIN, None, "no answer")
    harness.clock.turn(days=7)
    assert await harness.take() == []


@pytest.mark.parametrize("outcome", [Reject("bad\x00 \udcff"), Retry("bad\x00 \udcff"), Unknown("bad\x00 \udcff")])
async def test_error_of_any_text_is_settled(harness: StoreHarness, running_job: Job, outcome: Outcome) -> None:
    assert await harness.end(running_job, outcome, AttemptError("E\x00", "\ud800m\x00", "t\x00 \udcff è"))
    job = await harness.store.job(running_job.id)
    assert job.last_error == "bad\\x00 \\udcff"
    (attempt,) = await harness.store.attempts(job.id)
    assert (attempt.error_class, attempt.message, attempt.trace) == ("E\\x00", "\\ud800m\\x00", "t\\x00 \\udcff è")


async def test_deferral_with_any_text_is_settled(harness: StoreHarness, running_job: Job) -> None:
    assert await harness.end(running_job, Defer(harness.clock.later(hours=1), "full\x00"))
    assert (await harness.store.job(running_job.id)).deferral_reason == "full\\x00"


async def test_event_names_its_job_and_settlement(harness: StoreHarness) -> None:
    job = await harness.run(Reject("no such page"), channel="exports", type="export", payload=POISON)
    event = (await harness.events())[-1]
    assert (event.type, event.job_id, event.at) == (EventType.FAILED, job.id, harness.clock())
    assert event.data == {
        "type": "export", "channel": "exports", "attempts": 1, "error": "no such page", "cause": "permanent",
    }  # fmt: skip


async def test_settlement_without_an_event_writes_none(harness: StoreHarness, running_job: Job) -> None:
    assert await harness.settle(running_job, Settlement(state=State.COMPLETED, event=None))
    assert await harness.list_event_types(running_job.id) == []
