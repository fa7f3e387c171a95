"""Steps and intents: written only by the worker that holds the job."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postino.rules import settlement
from postino.values.gate import Scope
from postino.values.job import Job, State, new_id
from postino.values.ledger import Ledger
from postino.values.outcome import Done, Reject, Retry, Unknown
from tests.contract.harness import ME, StoreHarness, ids, make_intent

NEAR = timedelta(milliseconds=1)  # SQLite computes instants in milliseconds


def near(instant: datetime | None, expected: datetime) -> bool:
    return instant is not None and abs(instant - expected) < NEAR


# Steps


async def test_a_step_keeps_its_result_and_the_time_of_its_first_attempt(
    harness: StoreHarness, running_job: Job
) -> None:
    asked_at = harness.clock.now
    entry = await harness.remember(running_job, "ready", None, position=1)
    assert entry is not None
    assert (entry.asked_at, entry.done_at, entry.result) == (asked_at, None, None)
    done_at = harness.clock.turn(minutes=3)
    entry = await harness.remember(running_job, "ready", '{"a": "ü"}', position=1)
    assert entry is not None
    assert (entry.asked_at, entry.done_at, entry.result) == (asked_at, done_at, '{"a": "ü"}')
    await harness.remember(running_job, "container", "null")
    assert [step.name for step in (await harness.store.ledger(running_job.id)).steps] == ["container", "ready"]


async def test_a_step_may_end_with_nothing(harness: StoreHarness, running_job: Job) -> None:
    entry = await harness.store.save_step(running_job, "quiet", 0, "null", done=True)
    assert entry is not None
    assert entry.result == "null"


async def test_forgetting_a_step_forgets_all_while_nothing_was_sent(harness: StoreHarness, running_job: Job) -> None:
    for position, name in enumerate(("container", "ready")):
        await harness.remember(running_job, name, position=position)
    assert await harness.store.forget_step(running_job, "ready")
    assert await harness.store.ledger(running_job.id) == Ledger()


async def test_steps_before_a_sent_call_are_not_forgotten(harness: StoreHarness, running_job: Job) -> None:
    for position, name in enumerate(("container", "ready")):
        await harness.remember(running_job, name, position=position)
    await harness.intend(running_job)
    assert await harness.store.forget_step(running_job, "ready")
    assert [step.name for step in (await harness.store.ledger(running_job.id)).steps] == ["container"]


# The fence


async def test_a_worker_that_lost_its_job_writes_neither_steps_nor_intents(
    harness: StoreHarness, running_job: Job
) -> None:
    await harness.remember(running_job, "container")
    await harness.kill("w1")
    known = await harness.store.ledger(running_job.id)
    assert await harness.remember(running_job, "ready") is None
    assert not await harness.store.forget_step(running_job, "container")
    assert await harness.intend(running_job) is None
    assert await harness.store.ledger(running_job.id) == known
    assert not (await harness.store.job(running_job.id)).may_be_live


async def test_worker_writes_nothing_when_another_worker_holds_the_job(harness: StoreHarness, running_job: Job) -> None:
    await harness.kill("w1")
    await harness.hire("w2")
    (theirs,) = await harness.take(worker="w2")
    before = await harness.store.job(running_job.id)
    assert await harness.remember(running_job, "container") is None
    assert await harness.intend(running_job) is None
    assert not await harness.store.forget_step(running_job, "container")
    assert await harness.store.job(running_job.id) == before
    assert await harness.intend(theirs) is not None


@pytest.mark.parametrize("outcome", [Done(), Retry("busy"), Reject("no"), Unknown("?")])
async def test_worker_writes_nothing_when_the_job_has_ended(
    harness: StoreHarness, running_job: Job, outcome: Done | Retry | Reject | Unknown
) -> None:
    await harness.end(running_job, outcome)
    assert await harness.remember(running_job, "container") is None
    assert await harness.intend(running_job) is None
    assert await harness.store.ledger(running_job.id) == Ledger()


async def test_job_that_was_never_claimed_gets_no_intent(harness: StoreHarness, due_job: Job) -> None:
    assert await harness.intend(due_job) is None
    assert await harness.remember(due_job, "container") is None
    assert not (await harness.store.job(due_job.id)).may_be_live


# Intents


async def test_intent_has_a_send_deadline_and_a_lookup_time(harness: StoreHarness, running_job: Job) -> None:
    entry = await harness.intend(running_job)
    assert entry is not None
    assert (entry.step, entry.position, entry.number, entry.intended_at) == ("post", 0, 1, harness.clock.now)
    assert near(entry.send_before_at, harness.clock.later(seconds=5))
    assert near(entry.lookup_at, harness.clock.later(seconds=40))
    job = await harness.store.job(running_job.id)
    assert (job.may_be_live, job.lookup_at, job.state) == (True, entry.lookup_at, State.RUNNING)
    assert (await harness.store.ledger(job.id)).intents == (entry,)


async def test_intent_repeated_after_a_lost_response_is_returned(harness: StoreHarness, running_job: Job) -> None:
    first = await harness.intend(running_job)
    harness.clock.turn(seconds=3)
    assert await harness.intend(running_job) == first
    assert (await harness.store.ledger(running_job.id)).intents == (first,)


async def test_intents_of_many_jobs_are_written_together_each_by_its_own_fence(harness: StoreHarness) -> None:
    lost = await harness.put()
    (stale,) = await harness.take()
    await harness.kill("w1")
    await harness.hire("w2")
    await harness.put_many(3)
    held = [job for job in await harness.take(worker="w2") if job.id != lost.id]
    wanted = [held[2], stale, held[0], held[1]]
    entries = await harness.store.record_intents([make_intent(job, f"post {job.id}") for job in wanted])
    assert [entry and entry.step for entry in entries] == [
        f"post {held[2].id}", None, f"post {held[0].id}", f"post {held[1].id}",
    ]  # fmt: skip
    for job in held:
        assert [intent.step for intent in (await harness.store.ledger(job.id)).intents] == [f"post {job.id}"]


async def test_two_intents_of_one_job_at_once_are_both_written(harness: StoreHarness, running_job: Job) -> None:
    """Whoever does two visible things at once must not do one of them without a trace."""
    results = [make_intent(running_job, "first"), make_intent(running_job, "second", position=1, lookup_delay=50.0)]
    entries = await harness.store.record_intents(results)
    assert [entry and entry.step for entry in entries] == ["first", "second"]
    assert (await harness.store.ledger(running_job.id)).intents == tuple(entries)
    assert near((await harness.store.job(running_job.id)).lookup_at, harness.clock.later(seconds=55)), (
        "when all may be known"
    )


async def test_job_whose_calls_were_all_refused_cannot_be_live(harness: StoreHarness, running_job: Job) -> None:
    for number in (1, 2):
        await harness.intend(running_job, number=number)
    await harness.refuse(running_job, number=2)
    assert (await harness.store.job(running_job.id)).may_be_live, "the first call is in doubt"
    await harness.refuse(running_job, number=1)
    job = await harness.store.job(running_job.id)
    assert (job.may_be_live, job.lookup_at) == (False, None)
    assert await harness.end(job, Retry("busy"))
    harness.clock.turn(hours=1)
    again = await harness.take_one()
    assert not again.may_be_live
    await harness.intend(again, number=3)
    assert (await harness.store.job(job.id)).may_be_live


async def test_job_with_an_accepted_part_may_be_live_whatever_else_is_refused(
    harness: StoreHarness, running_job: Job
) -> None:
    await harness.intend(running_job, "part 1")
    await harness.accept(running_job, "r1", "part 1")
    await harness.intend(running_job, "part 2")
    await harness.refuse(running_job, "part 2")
    job = await harness.store.job(running_job.id)
    assert (job.may_be_live, job.lookup_at) == (True, None)


async def test_late_refusal_moves_an_uncertain_job_back_into_its_lane(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job(account="acme")
    await harness.store.pause(Scope.ACCOUNT, "acme", ME)
    await harness.refuse(job)
    known = await harness.store.job(job.id)
    assert (known.may_be_live, known.lookup_at, known.run_at) == (False, None, harness.clock())
    assert await harness.take(worker="w2") == [], "nothing of it is out"
    await harness.store.resume(Scope.ACCOUNT, "acme", ME)
    assert ids(await harness.take(worker="w2")) == {job.id}


async def test_steps_intents_and_progress_move_the_deadline_on(harness: StoreHarness, running_job: Job) -> None:
    await harness.store.save_step(running_job, "container", 0, "1", done=True, limit=30.0)
    harness.clock.turn(seconds=29)
    assert await harness.store.rescue({}, settlement.rescue_job) == []
    await harness.store.record_intents([make_intent(running_job, position=1, limit=30.0)])
    harness.clock.turn(seconds=29)
    assert await harness.store.rescue({}, settlement.rescue_job) == []
    await harness.store.extend_deadline(running_job, 30.0)
    await harness.store.extend_deadline(replace(running_job, token=new_id()), 300.0)
    harness.clock.turn(seconds=29)
    assert await harness.store.rescue({}, settlement.rescue_job) == []
    harness.clock.turn(seconds=2)
    (ending,) = await harness.store.rescue({}, settlement.rescue_job)
    assert (ending.job.id, ending.settlement.state) == (running_job.id, State.UNCERTAIN)
