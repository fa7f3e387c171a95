"""Writing what became of jobs: fenced by the token, and job, history, event and dead letter are one truth."""

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
from tests.contract.desk import ME, POISON, Desk, ids

EVERY_OUTCOME: list[Outcome] = [Done(), Reject("no"), Retry("busy"), Unknown("?")]


async def test_a_completed_job_is_finished_with_result_and_remote_id(desk: Desk, running_job: Job) -> None:
    desk.clock.turn(seconds=9)
    assert await desk.end(running_job, Done({"pages": 3}, "remote-1"))
    job = await desk.store.job(running_job.id)
    assert (job.state, job.finished_at) == (State.COMPLETED, desk.clock())
    assert (job.result, job.remote_id) == ('{"pages": 3}', "remote-1")
    assert (job.attempts, job.claimed_by, job.token) == (1, "w1", None)
    assert (job.payload, job.created_at, job.idempotency_key) == (
        running_job.payload, running_job.created_at, running_job.idempotency_key,
    )  # fmt: skip


async def test_a_completed_job_leaves_no_dead_letter_and_never_runs_again(desk: Desk) -> None:
    await desk.run(Done())
    desk.clock.turn(days=3)
    assert await desk.take() == []
    assert await desk.store.dead_letters(DeadLetterFilter()) == []


async def test_the_history_has_one_line_for_each_attempt(desk: Desk) -> None:
    job = await desk.put()
    started_at = desk.clock()
    claimed = await desk.take_one()
    ended_at = desk.clock.turn(seconds=7)
    assert await desk.end(claimed, Retry("busy"), AttemptError("TimeoutError", "too slow", "line 1\nline 2"))
    again_at = desk.clock.turn(minutes=5)
    assert await desk.end(await desk.take_one(), Done())
    assert await desk.store.attempts(job.id) == [
        Attempt(
            generation=1, number=1, started_at=started_at, ended_at=ended_at, worker="w1", outcome="retrying",
            error_class="TimeoutError", message="too slow", trace="line 1\nline 2",
        ),
        Attempt(generation=1, number=2, started_at=again_at, ended_at=again_at, worker="w1", outcome="completed"),
    ]  # fmt: skip


@pytest.mark.parametrize("outcome", EVERY_OUTCOME)
async def test_job_attempt_and_event_are_written_together(desk: Desk, outcome: Outcome) -> None:
    job = await desk.run(outcome)
    written = settlement.settle_job(job, outcome, RetryPolicy(), desk.clock(), 0)
    assert job.state is written.state
    assert [attempt.outcome for attempt in await desk.store.attempts(job.id)] == [
        str(written.event).removeprefix("job.")
    ]
    assert await desk.told(job.id) == [written.event]
    assert len(await desk.store.dead_letters(DeadLetterFilter())) == (1 if job.state is State.FAILED else 0)


@pytest.mark.parametrize("outcome", EVERY_OUTCOME)
@pytest.mark.parametrize("lane", [{}, {"account": "acme"}])
async def test_a_settle_with_an_old_token_is_refused_and_changes_nothing(
    desk: Desk, outcome: Outcome, lane: dict[str, str]
) -> None:
    job = await desk.put(**lane)
    (lost,) = await desk.take()
    await desk.kill("w1")
    await desk.hire("w2")
    (held,) = await desk.take(worker="w2")
    before = await desk.events()
    assert not await desk.end(lost, outcome)
    assert await desk.store.job(job.id) == held
    assert await desk.events() == before
    assert len(await desk.store.attempts(job.id)) == 1
    assert await desk.store.dead_letters(DeadLetterFilter()) == []
    assert await desk.end(held, Done())


@pytest.mark.parametrize("outcome", EVERY_OUTCOME)
async def test_a_second_settle_is_refused_and_changes_nothing(desk: Desk, running_job: Job, outcome: Outcome) -> None:
    assert await desk.end(running_job, outcome)
    settled = await desk.store.job(running_job.id)
    for again in EVERY_OUTCOME:
        assert not await desk.end(running_job, again)
    assert await desk.store.job(running_job.id) == settled
    assert len(await desk.store.attempts(running_job.id)) == 1
    assert len(await desk.told(running_job.id)) == 1


async def test_a_settle_after_a_cancelled_and_lost_claim_is_refused(desk: Desk, running_job: Job) -> None:
    await desk.kill("w1")
    await desk.store.cancel_job(running_job.id, ME)
    assert not await desk.end(running_job, Done())
    assert await desk.state(running_job) is State.CANCELLED


async def test_a_batch_is_settled_whole_and_tells_which_were_lost(desk: Desk) -> None:
    await desk.put_many(6)
    jobs = await desk.take()
    outcomes: list[Outcome] = [
        Done(), Reject("no"), Retry("busy"), Unknown("?"), Defer(desk.clock.later(hours=1), "limit"), Done()
    ]  # fmt: skip
    assert await desk.end(jobs[5], Done())
    endings = [
        SettledJob(job, settlement.settle_job(job, outcome, RetryPolicy(), desk.clock(), 0))
        for job, outcome in zip(jobs, outcomes, strict=True)
    ]
    assert await desk.store.settle(endings) == ids(jobs[:5])
    assert [await desk.state(job) for job in jobs] == [
        State.COMPLETED, State.FAILED, State.PENDING, State.UNCERTAIN, State.PENDING, State.COMPLETED
    ]  # fmt: skip


async def test_settling_nothing_is_nothing(desk: Desk) -> None:
    assert await desk.store.settle([]) == set()


@pytest.mark.parametrize("lane", [{}, {"account": "acme"}])
async def test_a_deferral_spends_no_attempt_and_leaves_no_history(desk: Desk, lane: dict[str, str]) -> None:
    until = desk.clock.later(hours=2)
    job = await desk.run(Defer(until, "limit reached"), **lane)
    assert (job.state, job.run_at, job.attempts) == (State.PENDING, until, 0)
    assert (job.deferrals, job.deferral_reason) == (1, "limit reached")
    assert (job.claimed_by, job.claimed_at, job.token, job.last_error) == (None, None, None, None)
    assert await desk.store.attempts(job.id) == []
    assert await desk.told(job.id) == [EventType.DEFERRED]
    assert await desk.take() == []
    desk.clock.turn(hours=2)
    (again,) = await desk.take()
    assert (again.attempts, again.deferrals, again.deferral_reason) == (1, 1, None)


async def test_a_job_given_back_is_as_before_and_its_history_says_what_happened(desk: Desk, due_job: Job) -> None:
    claimed = await desk.take_one()
    assert await desk.settle(claimed, settlement.release_job(claimed, desk.clock()))
    assert await desk.store.job(due_job.id) == due_job
    assert [attempt.outcome for attempt in await desk.store.attempts(due_job.id)] == ["released"]
    assert await desk.told(due_job.id) == [EventType.RELEASED]
    assert ids(await desk.take()) == {due_job.id}


async def test_a_retry_waits_for_its_backoff_and_then_runs_again(desk: Desk) -> None:
    policy = RetryPolicy(max_attempts=3, backoff=Schedule([60, 300]))
    job = await desk.put()
    for attempt, seconds in ((1, 60), (2, 300)):
        claimed = await desk.take_one()
        assert claimed.attempts == attempt
        assert await desk.end(claimed, Retry(f"busy {attempt}"), policy=policy)
        waiting = await desk.store.job(job.id)
        assert waiting.run_at == desk.clock() + timedelta(seconds=seconds)
        assert (waiting.state, waiting.last_error) == (State.PENDING, f"busy {attempt}")
        assert waiting.scheduled_at == job.scheduled_at
        desk.clock.turn(seconds=seconds - 1)
        assert await desk.take() == []
        desk.clock.turn(seconds=1)
    assert await desk.end(await desk.take_one(), Retry("busy 3"), policy=policy)
    assert await desk.state(job) is State.FAILED
    assert await desk.told(job.id) == [EventType.RETRYING, EventType.RETRYING, EventType.FAILED]


async def test_an_uncertain_job_waits_for_a_person(desk: Desk) -> None:
    job = await desk.run(Unknown("no answer"))
    assert (job.state, job.run_at, job.last_error) == (State.UNCERTAIN, None, "no answer")
    desk.clock.turn(days=7)
    assert await desk.take() == []


@pytest.mark.parametrize("outcome", [Reject("bad\x00 \udcff"), Retry("bad\x00 \udcff"), Unknown("bad\x00 \udcff")])
async def test_error_texts_no_database_likes_are_settled_all_the_same(
    desk: Desk, running_job: Job, outcome: Outcome
) -> None:
    assert await desk.end(running_job, outcome, AttemptError("E\x00", "\ud800m\x00", "t\x00 \udcff è"))
    job = await desk.store.job(running_job.id)
    assert job.last_error == "bad\\x00 \\udcff"
    (attempt,) = await desk.store.attempts(job.id)
    assert (attempt.error_class, attempt.message, attempt.trace) == ("E\\x00", "\\ud800m\\x00", "t\\x00 \\udcff è")


async def test_a_deferral_for_a_reason_no_database_likes_is_settled(desk: Desk, running_job: Job) -> None:
    assert await desk.end(running_job, Defer(desk.clock.later(hours=1), "full\x00"))
    assert (await desk.store.job(running_job.id)).deferral_reason == "full\\x00"


async def test_an_event_tells_what_happened_to_which_job(desk: Desk) -> None:
    job = await desk.run(Reject("no such page"), channel="exports", type="export", payload=POISON)
    event = (await desk.events())[-1]
    assert (event.type, event.job_id, event.at) == (EventType.FAILED, job.id, desk.clock())
    assert event.data == {
        "type": "export", "channel": "exports", "attempts": 1, "error": "no such page", "cause": "permanent",
    }  # fmt: skip


async def test_an_ending_without_an_event_tells_nothing(desk: Desk, running_job: Job) -> None:
    assert await desk.settle(running_job, Settlement(state=State.COMPLETED, event=None))
    assert await desk.told(running_job.id) == []
