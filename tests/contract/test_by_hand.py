"""What a person does: only while nothing has been sent, and with a sentence when it is too late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol

import pytest

from postino.errors import Conflict, NotFound, WrongUse
from postino.rules.settlement import DeadLetterCause, Settlement
from postino.stores.records import AuditContext, DeadLetterFilter, SettledJob
from postino.stores.store import Store
from postino.values.event import EventType
from postino.values.job import Job, State, new_id
from postino.values.outcome import Done, Outcome, Reject, Retry, Unknown
from tests.contract.desk import ME, POISON, Desk, ids


class Deed(Protocol):
    __name__: str

    def __call__(self, store: Store, job: Job) -> Awaitable[Job]: ...


async def cancel(store: Store, job: Job) -> Job:
    return await store.cancel_job(job.id, ME)


async def edit(store: Store, job: Job) -> Job:
    return await store.edit_job(job.id, b"edited", ME)


async def reschedule(store: Store, job: Job) -> Job:
    return await store.reschedule_job(job.id, None, ME)


async def resolve(store: Store, job: Job) -> Job:
    return await store.resolve_job(job.id, Done(), ME)


BEFORE_SENDING = [cancel, edit, reschedule]
PAST = {"cancel": "cancelled", "edit": "edited", "reschedule": "rescheduled"}


async def test_a_cancelled_job_never_runs(desk: Desk, due_job: Job) -> None:
    cancelled_at = desk.clock.turn(seconds=5)
    job = await desk.store.cancel_job(due_job.id, ME)
    assert (job.state, job.finished_at, job.payload) == (State.CANCELLED, cancelled_at, due_job.payload)
    assert await desk.store.job(job.id) == job
    assert await desk.take() == []
    assert await desk.told(job.id) == [EventType.CANCELLED]


async def test_an_edited_job_runs_with_its_new_payload(desk: Desk, due_job: Job) -> None:
    job = await desk.store.edit_job(due_job.id, POISON, ME)
    assert job.payload == POISON
    assert (await desk.take_one()).payload == POISON
    assert await desk.told(job.id) == [EventType.EDITED]


async def test_a_rescheduled_job_runs_at_its_new_time_and_not_before(desk: Desk, due_job: Job) -> None:
    run_at = desk.clock.later(hours=3)
    job = await desk.store.reschedule_job(due_job.id, run_at, ME)
    assert (job.scheduled_at, job.run_at) == (run_at, run_at)
    assert await desk.take() == []
    desk.clock.turn(hours=3)
    assert ids(await desk.take()) == {job.id}
    assert await desk.told(job.id) == [EventType.RESCHEDULED]


@pytest.mark.parametrize("hours", [None, -2])
async def test_a_job_rescheduled_to_now_or_before_runs_now(desk: Desk, hours: float | None) -> None:
    job = await desk.put(run_at=desk.clock.later(days=1))
    asked_at = None if hours is None else desk.clock.later(hours=hours)
    moved = await desk.store.reschedule_job(job.id, asked_at, ME)
    assert (moved.scheduled_at, moved.run_at) == (asked_at or desk.clock(), desk.clock())
    assert ids(await desk.take()) == {job.id}


async def test_a_rescheduled_job_may_be_dispatched_again(desk: Desk, due_job: Job) -> None:
    assert await desk.store.dispatch_due() == 1
    assert (await desk.store.reschedule_job(due_job.id, None, ME)).dispatched_at is None
    assert await desk.store.dispatch_due() == 1


@pytest.mark.parametrize("deed", BEFORE_SENDING)
@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (None, "it is running now"),
        (Done(), "it is completed, and that is final"),
        (Reject("no"), "it failed; only an open dead letter can be replayed or discarded"),
        (Unknown("?"), "something may already have been sent; resolve it first"),
    ],
)
async def test_what_is_no_longer_waiting_is_left_alone_with_a_sentence(
    desk: Desk, running_job: Job, deed: Deed, outcome: Outcome | None, sentence: str
) -> None:
    if outcome is not None:
        assert await desk.end(running_job, outcome)
    before, events = await desk.store.job(running_job.id), await desk.events()
    with pytest.raises(Conflict) as refusal:
        await deed(desk.store, running_job)
    done = PAST[deed.__name__]
    assert str(refusal.value) == f"Job {running_job.id} cannot be {done}: {sentence}. Nothing was changed."
    assert await desk.store.job(running_job.id) == before
    assert await desk.events() == events
    assert await desk.store.audit() == []


@pytest.mark.parametrize("deed", BEFORE_SENDING)
async def test_what_has_sent_something_is_left_alone(desk: Desk, due_job: Job, deed: Deed) -> None:
    desk.database.sql("UPDATE {jobs} SET may_be_live = (1 = 1)")
    desk.database.sql(
        "INSERT INTO {receipts} (job_id, step, number, verdict, remote_id, source, at)"
        " SELECT id, 'part 1', 1, 'accepted', 'r1', 'call', created_at FROM {jobs}"
    )
    with pytest.raises(Conflict, match="it has already sent something"):
        await deed(desk.store, due_job)
    assert ids(await desk.take()) == {due_job.id}


async def test_who_cancelled_it_and_why_is_told_with_it(desk: Desk, due_job: Job) -> None:
    await desk.store.cancel_job(due_job.id, AuditContext("maria", "a recall."))
    around = await desk.store.explain_input(await desk.store.job(due_job.id))
    assert (around.facts.cancelled_by, around.facts.cause) == ("by maria (a recall)", None)


async def test_why_it_failed_is_told_with_it(desk: Desk, running_job: Job) -> None:
    assert await desk.end(running_job, Reject("no"))
    around = await desk.store.explain_input(await desk.store.job(running_job.id))
    assert (around.facts.cause, around.facts.cancelled_by) == (DeadLetterCause.PERMANENT, None)


@pytest.mark.parametrize("deed", BEFORE_SENDING)
async def test_what_was_cancelled_is_final(desk: Desk, due_job: Job, deed: Deed) -> None:
    await desk.store.cancel_job(due_job.id, ME)
    with pytest.raises(Conflict, match="it was cancelled, and that is final"):
        await deed(desk.store, due_job)


@pytest.mark.parametrize("deed", [*BEFORE_SENDING, resolve])
async def test_a_job_that_does_not_exist_is_not_found(desk: Desk, due_job: Job, deed: Deed) -> None:
    stranger = await desk.put()
    desk.database.sql(f"DELETE FROM {{jobs}} WHERE id = '{stranger.id}'")
    with pytest.raises(NotFound, match=f"There is no job {stranger.id}"):
        await deed(desk.store, stranger)
    with pytest.raises(NotFound):
        await desk.store.job(new_id())


async def test_cancel_and_claim_at_once_have_one_winner(desk: Desk) -> None:
    other = await desk.another_store()
    for _ in range(10):
        job = await desk.put()
        order = await desk.order(store=other)
        cancelled, claimed = await asyncio.gather(
            desk.store.cancel_job(job.id, ME), other.claim(order), return_exceptions=True
        )
        assert isinstance(claimed, list)
        assert isinstance(cancelled, Conflict) == (len(claimed) == 1)


@pytest.mark.parametrize("deed", BEFORE_SENDING)
async def test_every_deed_is_audited_with_who_and_why(desk: Desk, due_job: Job, deed: Deed) -> None:
    await deed(desk.store, due_job)
    (line,) = await desk.store.audit()
    assert (line.seq, line.at, line.actor, line.reason) == (1, desk.clock(), "maria", "because")
    assert (line.action, line.subject) == (f"job.{PAST[deed.__name__]}", str(due_job.id))


async def test_an_uncertain_job_is_resolved_as_done(desk: Desk) -> None:
    job = await desk.run(Unknown("no answer"), account="acme")
    seen_at = desk.clock.turn(hours=1)
    resolved = await desk.store.resolve_job(job.id, Done(remote_id="remote-1"), AuditContext("maria", "I saw it"))
    assert (resolved.state, resolved.remote_id, resolved.finished_at) == (State.COMPLETED, "remote-1", seen_at)
    assert (await desk.told(job.id))[1:] == [EventType.COMPLETED, EventType.RESOLVED]
    last = (await desk.store.attempts(job.id))[-1]
    assert (last.worker, last.outcome, last.started_at) == ("person:maria", "completed", seen_at)
    (line,) = await desk.store.audit()
    assert (line.action, line.actor, line.reason) == ("job.resolved", "maria", "I saw it")


async def test_an_uncertain_job_is_resolved_to_be_sent_again(desk: Desk) -> None:
    job = await desk.run(Unknown("no answer"), account="acme")
    assert (await desk.store.resolve_job(job.id, Retry("again"), ME)).state is State.PENDING
    (again,) = await desk.take()
    assert (again.id, again.attempts) == (job.id, 2)


async def test_an_uncertain_job_is_given_up_and_becomes_a_dead_letter(desk: Desk) -> None:
    job = await desk.run(Unknown("no answer"))
    resolved = await desk.store.resolve_job(job.id, Reject("nobody saw it"), ME)
    assert (resolved.state, resolved.last_error) == (State.FAILED, "no answer. Given up: nobody saw it")
    (letter,) = await desk.store.dead_letters(DeadLetterFilter())
    assert letter.cause is DeadLetterCause.GIVEN_UP
    assert [line.worker for line in letter.history] == ["w1", "person:maria"]


@pytest.mark.parametrize("outcome", [None, Done(), Reject("no"), Retry("busy")])
async def test_only_an_uncertain_job_can_be_resolved(desk: Desk, running_job: Job, outcome: Outcome | None) -> None:
    if outcome is not None:
        assert await desk.end(running_job, outcome)
    before = await desk.store.job(running_job.id)
    with pytest.raises(Conflict, match="cannot be resolved"):
        await resolve(desk.store, running_job)
    assert await desk.store.job(running_job.id) == before


async def test_a_worker_without_a_token_cannot_settle_what_waits_for_its_turn(desk: Desk, due_job: Job) -> None:
    ending = SettledJob(due_job, Settlement(state=State.COMPLETED, event=EventType.COMPLETED))
    with pytest.raises(WrongUse, match="is pending and cannot become completed"):
        await desk.store.settle([ending])
    assert await desk.state(due_job) is State.PENDING
