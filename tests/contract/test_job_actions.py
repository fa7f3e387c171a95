"""Actions of people on jobs: only while nothing was sent, and refused with a reason afterwards."""

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
from postino.values.gate import Scope
from postino.values.job import Job, State, new_id
from postino.values.outcome import Done, Outcome, Reject, Retry, Unknown
from postino.values.post import POST, NewPost
from tests.contract.harness import ME, POISON, StoreHarness, ids, make_intent
from tests.contract.sample_posts import content, create, make_spec


class Deed(Protocol):
    __name__: str

    def __call__(self, store: Store, job: Job) -> Awaitable[Job]: ...


async def cancel(store: Store, job: Job) -> Job:
    return await store.cancel_job(job.id, ME)


async def edit(store: Store, job: Job) -> Job:
    if job.type == POST:
        post = NewPost(id=job.id, account="acme", network="mastodon", fingerprint="edited")
        return await store.edit_post(job.id, content("edited"), post, b"edited", "edited", ME)
    return await store.edit_job(job.id, b"edited", ME)


async def reschedule(store: Store, job: Job) -> Job:
    return await store.reschedule_job(job.id, None, ME)


async def resolve(store: Store, job: Job) -> Job:
    return await store.resolve_job(job.id, Done(), ME)


BEFORE_SENDING = [cancel, edit, reschedule]
PAST = {"cancel": "cancelled", "edit": "edited", "reschedule": "rescheduled"}


async def test_a_cancelled_job_never_runs(harness: StoreHarness, due_job: Job) -> None:
    cancelled_at = harness.clock.turn(seconds=5)
    job = await harness.store.cancel_job(due_job.id, ME)
    assert (job.state, job.finished_at, job.payload) == (State.CANCELLED, cancelled_at, due_job.payload)
    assert await harness.store.job(job.id) == job
    assert await harness.take() == []
    assert await harness.list_event_types(job.id) == [EventType.CANCELLED]


async def test_an_edited_job_runs_with_its_new_payload(harness: StoreHarness, due_job: Job) -> None:
    job = await harness.store.edit_job(due_job.id, POISON, ME)
    assert job.payload == POISON
    assert (await harness.take_one()).payload == POISON
    assert await harness.list_event_types(job.id) == [EventType.EDITED]


async def test_a_rescheduled_job_runs_at_its_new_time_and_not_before(harness: StoreHarness, due_job: Job) -> None:
    run_at = harness.clock.later(hours=3)
    job = await harness.store.reschedule_job(due_job.id, run_at, ME)
    assert (job.scheduled_at, job.run_at) == (run_at, run_at)
    assert await harness.take() == []
    harness.clock.turn(hours=3)
    assert ids(await harness.take()) == {job.id}
    assert await harness.list_event_types(job.id) == [EventType.RESCHEDULED]


@pytest.mark.parametrize("hours", [None, -2])
async def test_a_job_rescheduled_to_now_or_before_runs_now(harness: StoreHarness, hours: float | None) -> None:
    job = await harness.put(run_at=harness.clock.later(days=1))
    asked_at = None if hours is None else harness.clock.later(hours=hours)
    moved = await harness.store.reschedule_job(job.id, asked_at, ME)
    assert (moved.scheduled_at, moved.run_at) == (asked_at or harness.clock(), harness.clock())
    assert ids(await harness.take()) == {job.id}


async def test_a_rescheduled_job_may_be_dispatched_again(harness: StoreHarness, due_job: Job) -> None:
    assert await harness.store.dispatch_due() == 1
    assert (await harness.store.reschedule_job(due_job.id, None, ME)).dispatched_at is None
    assert await harness.store.dispatch_due() == 1


@pytest.mark.parametrize("deed", BEFORE_SENDING)
@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (None, "it is running now, and its handler may have done something already; try again when it waits"),
        (Done(), "it is completed, and that is final"),
        (Reject("no"), "it failed; only an open dead letter can be replayed or discarded"),
        (Unknown("?"), "something may already have been sent; resolve it first"),
    ],
)
async def test_action_on_a_job_that_no_longer_waits_is_refused_with_a_reason(
    harness: StoreHarness, running_job: Job, deed: Deed, outcome: Outcome | None, sentence: str
) -> None:
    if outcome is not None:
        assert await harness.end(running_job, outcome)
    before, events = await harness.store.job(running_job.id), await harness.events()
    with pytest.raises(Conflict) as refusal:
        await deed(harness.store, running_job)
    done = PAST[deed.__name__]
    assert str(refusal.value) == f"Job {running_job.id} cannot be {done}: {sentence}. Nothing was changed."
    assert await harness.store.job(running_job.id) == before
    assert await harness.events() == events
    assert await harness.store.audit() == []


@pytest.mark.parametrize("deed", BEFORE_SENDING)
async def test_job_that_sent_something_cannot_be_changed(harness: StoreHarness, due_job: Job, deed: Deed) -> None:
    harness.database.sql("UPDATE {jobs} SET may_be_live = (1 = 1)")
    harness.database.sql(
        "INSERT INTO {receipts} (job_id, step, number, verdict, remote_id, source, at)"
        " SELECT id, 'part 1', 1, 'accepted', 'r1', 'call', created_at FROM {jobs}"
    )
    with pytest.raises(Conflict, match="at least a part of it is already done, and Postino continues with the rest"):
        await deed(harness.store, due_job)
    assert ids(await harness.take()) == {due_job.id}


async def test_explain_input_says_who_cancelled_the_job_and_why(harness: StoreHarness, due_job: Job) -> None:
    await harness.store.cancel_job(due_job.id, AuditContext("maria", "a recall."))
    around = await harness.store.explain_input(await harness.store.job(due_job.id))
    assert (around.facts.cancelled_by, around.facts.cause) == ("by maria (a recall)", None)


async def test_explain_input_counts_earlier_jobs_of_all_open_brands(harness: StoreHarness) -> None:
    for brand in ("acme", "acme", "other", None):
        await harness.put(account="ada", brand=brand)
        harness.clock.turn(seconds=1)
    last = await harness.put(account="ada", brand="late")
    harness.clock.turn(seconds=1)

    async def count_jobs_ahead() -> int:
        return (await harness.store.explain_input(last)).facts.jobs_ahead

    assert await count_jobs_ahead() == 4
    await harness.store.pause(Scope.BRAND, "acme", ME)
    assert await count_jobs_ahead() == 2
    await harness.store.pause(Scope.BRAND, "late", ME)
    assert await count_jobs_ahead() == 2


async def test_explain_input_says_why_the_job_failed(harness: StoreHarness, running_job: Job) -> None:
    assert await harness.end(running_job, Reject("no"))
    around = await harness.store.explain_input(await harness.store.job(running_job.id))
    assert (around.facts.cause, around.facts.cancelled_by) == (DeadLetterCause.PERMANENT, None)


@pytest.mark.parametrize("deed", BEFORE_SENDING)
async def test_cancelled_job_is_final(harness: StoreHarness, due_job: Job, deed: Deed) -> None:
    await harness.store.cancel_job(due_job.id, ME)
    with pytest.raises(Conflict, match="it was cancelled, and that is final"):
        await deed(harness.store, due_job)


@pytest.mark.parametrize("deed", [*BEFORE_SENDING, resolve])
async def test_a_job_that_does_not_exist_is_not_found(harness: StoreHarness, due_job: Job, deed: Deed) -> None:
    stranger = await harness.put()
    harness.database.sql(f"DELETE FROM {{jobs}} WHERE id = '{stranger.id}'")
    with pytest.raises(NotFound, match=f"There is no job {stranger.id}"):
        await deed(harness.store, stranger)
    with pytest.raises(NotFound):
        await harness.store.job(new_id())


async def take_post(harness: StoreHarness) -> Job:
    """Return a post that a worker has just claimed."""
    await create(harness.store, make_spec("acme"))
    return await harness.take_one()


async def test_cancelled_running_post_is_never_sent(harness: StoreHarness) -> None:
    post = await take_post(harness)
    (waiting,) = await create(harness.store, make_spec("acme", fingerprint="another"))
    cancelled = await harness.store.cancel_job(post.id, ME)
    assert (cancelled.state, cancelled.attempts, cancelled.token) == (State.CANCELLED, 0, None)
    assert await harness.intend(post) is None, "its worker may not send it"
    assert await harness.remember(post, "container") is None
    assert not await harness.end(post, Done(None, "r1"))
    assert await harness.store.job(post.id) == cancelled
    assert ids(await harness.take()) == {waiting.job.id}, "its account is free"
    assert EventType.POST_CANCELLED in await harness.list_event_types(post.id)


@pytest.mark.parametrize("deed", BEFORE_SENDING)
async def test_running_post_whose_request_may_have_left_is_not_changed(harness: StoreHarness, deed: Deed) -> None:
    post = await take_post(harness)
    await harness.intend(post)
    with pytest.raises(Conflict, match="its request may have left already; if the network refuses it, it waits"):
        await deed(harness.store, post)
    await harness.refuse(post)
    assert (await harness.store.cancel_job(post.id, ME)).state is State.CANCELLED, "the network refused it"


@pytest.mark.parametrize("deed", BEFORE_SENDING)
async def test_refusal_for_a_partly_published_thread_says_that_the_rest_follows(
    harness: StoreHarness, deed: Deed
) -> None:
    post = await take_post(harness)
    await harness.intend(post, "part 1")
    await harness.accept(post, "r1", "part 1")
    sentence = "at least a part of it is already published, and Postino continues with the rest"
    with pytest.raises(Conflict, match=sentence):
        await deed(harness.store, post)
    await harness.intend(post, "part 2")
    with pytest.raises(Conflict, match=sentence):
        await deed(harness.store, post)
    await harness.refuse(post, "part 2")
    assert await harness.end(await harness.store.job(post.id), Retry("later"))
    with pytest.raises(Conflict, match=sentence):
        await deed(harness.store, post)
    harness.clock.turn(hours=1)
    again = await harness.take_one()
    await harness.intend(again, "part 2", number=2)
    assert await harness.end(await harness.store.job(again.id), Unknown("?"))
    with pytest.raises(Conflict, match="a part of it is already published, and another part may be; resolve the post"):
        await deed(harness.store, again)


@pytest.mark.parametrize("deed", [edit, reschedule])
async def test_running_post_can_be_cancelled_but_not_changed(harness: StoreHarness, deed: Deed) -> None:
    post = await take_post(harness)
    with pytest.raises(Conflict, match="it is being published now; cancel it, or try again when it waits"):
        await deed(harness.store, post)


async def test_cancel_and_intent_race_has_one_winner(harness: StoreHarness) -> None:
    other = await harness.open_another_store()
    for number in range(10):
        await create(harness.store, make_spec(f"acme{number}"))
        post = await harness.take_one()
        cancelled, entries = await asyncio.gather(
            harness.store.cancel_job(post.id, ME), other.record_intents([make_intent(post)]), return_exceptions=True
        )
        assert isinstance(entries, list)
        assert isinstance(cancelled, Conflict) == (entries[0] is not None)


async def test_cancel_and_claim_race_has_one_winner(harness: StoreHarness) -> None:
    other = await harness.open_another_store()
    for _ in range(10):
        job = await harness.put()
        order = await harness.order(store=other)
        cancelled, claimed = await asyncio.gather(
            harness.store.cancel_job(job.id, ME), other.claim(order), return_exceptions=True
        )
        assert isinstance(claimed, list)
        assert isinstance(cancelled, Conflict) == (len(claimed) == 1)


@pytest.mark.parametrize("deed", BEFORE_SENDING)
async def test_every_action_is_audited_with_actor_and_reason(harness: StoreHarness, due_job: Job, deed: Deed) -> None:
    await deed(harness.store, due_job)
    (line,) = await harness.store.audit()
    assert (line.seq, line.at, line.actor, line.reason) == (1, harness.clock(), "maria", "because")
    assert (line.action, line.subject) == (f"job.{PAST[deed.__name__]}", str(due_job.id))


async def test_an_uncertain_job_is_resolved_as_done(harness: StoreHarness) -> None:
    job = await harness.run(Unknown("no answer"), account="acme")
    seen_at = harness.clock.turn(hours=1)
    resolved = await harness.store.resolve_job(job.id, Done(remote_id="remote-1"), AuditContext("maria", "I saw it"))
    assert (resolved.state, resolved.remote_id, resolved.finished_at) == (State.COMPLETED, "remote-1", seen_at)
    assert (await harness.list_event_types(job.id))[1:] == [EventType.COMPLETED, EventType.RESOLVED]
    last = (await harness.store.attempts(job.id))[-1]
    assert (last.worker, last.outcome, last.started_at) == ("person:maria", "completed", seen_at)
    (line,) = await harness.store.audit()
    assert (line.action, line.actor, line.reason) == ("job.resolved", "maria", "I saw it")


async def test_an_uncertain_job_is_resolved_to_be_sent_again(harness: StoreHarness) -> None:
    job = await harness.run(Unknown("no answer"), account="acme")
    assert (await harness.store.resolve_job(job.id, Retry("again"), ME)).state is State.PENDING
    (again,) = await harness.take()
    assert (again.id, again.attempts) == (job.id, 2)


async def test_an_uncertain_job_is_given_up_and_becomes_a_dead_letter(harness: StoreHarness) -> None:
    job = await harness.run(Unknown("no answer"))
    resolved = await harness.store.resolve_job(job.id, Reject("nobody saw it"), ME)
    assert (resolved.state, resolved.last_error) == (State.FAILED, "no answer. Given up: nobody saw it")
    (letter,) = await harness.store.dead_letters(DeadLetterFilter())
    assert letter.cause is DeadLetterCause.GIVEN_UP
    assert [line.worker for line in letter.history] == ["w1", "person:maria"]


@pytest.mark.parametrize("outcome", [None, Done(), Reject("no"), Retry("busy")])
async def test_only_an_uncertain_job_can_be_resolved(
    harness: StoreHarness, running_job: Job, outcome: Outcome | None
) -> None:
    if outcome is not None:
        assert await harness.end(running_job, outcome)
    before = await harness.store.job(running_job.id)
    with pytest.raises(Conflict, match="cannot be resolved"):
        await resolve(harness.store, running_job)
    assert await harness.store.job(running_job.id) == before


async def test_a_worker_without_a_token_cannot_settle_what_waits_for_its_turn(
    harness: StoreHarness, due_job: Job
) -> None:
    ending = SettledJob(due_job, Settlement(state=State.COMPLETED, event=EventType.COMPLETED))
    with pytest.raises(WrongUse, match="is pending and cannot become completed"):
        await harness.store.settle([ending])
    assert await harness.state(due_job) is State.PENDING
