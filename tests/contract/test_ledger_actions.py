"""Actions of people on jobs that have steps, or of which something may be live."""

from __future__ import annotations

import pytest

from postino.errors import Conflict, WrongUse
from postino.rules.ledger import Accepted, ReadyToSend, UncertainStep, get_step_status
from postino.rules.settlement import DeadLetterCause, make_failure
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.ledger import Ledger, ReceiptEntry, ReceiptSource, Verdict
from postino.values.outcome import Defer, Done, Reject, Retry, Unknown
from tests.contract.harness import ME, StoreHarness, ids


async def park(harness: StoreHarness, **fields: str) -> Job:
    """Return a job that has created a container and waits until it is ready."""
    await harness.put(**fields)
    job = await harness.take_one()
    await harness.remember(job, "container", '"c1"')
    await harness.remember(job, "ready", None, position=1)
    assert await harness.end(job, Defer(harness.clock.later(minutes=1), "waiting until ready"))
    return await harness.store.job(job.id)


async def half_a_thread(harness: StoreHarness) -> Job:
    """Return a job whose first part is live after a resend, and whose second part is in doubt."""
    await harness.put()
    job = await harness.take_one()
    await harness.remember(job, "picture")
    await harness.intend(job, "part 1")
    await harness.intend(job, "part 1", number=2)
    await harness.accept(job, "r1", "part 1", number=2)
    await harness.intend(job, "part 2")
    job = await harness.store.job(job.id)
    assert await harness.end(job, Unknown("no answer"))
    return await harness.store.job(job.id)


async def fail_job(harness: StoreHarness, job: Job, cause: DeadLetterCause = DeadLetterCause.EXHAUSTED) -> None:
    assert await harness.settle(await harness.store.job(job.id), make_failure("why", cause))


# Edit, reschedule, cancel


@pytest.mark.parametrize("deed", ["cancel", "edit", "reschedule"])
async def test_job_refused_every_time_counts_as_not_sent(harness: StoreHarness, deed: str) -> None:
    await harness.put()
    job = await harness.take_one()
    await harness.intend(job)
    await harness.refuse(job)
    assert await harness.end(await harness.store.job(job.id), Defer(harness.clock.later(hours=1), "later"))
    assert not (await harness.store.job(job.id)).may_be_live
    match deed:
        case "cancel":
            assert (await harness.store.cancel_job(job.id, ME)).state is State.CANCELLED
        case "edit":
            assert (await harness.store.edit_job(job.id, b"new", ME)).payload == b"new"
        case "reschedule":
            assert (await harness.store.reschedule_job(job.id, None, ME)).run_at == harness.clock()


async def test_edit_forgets_all_steps(harness: StoreHarness) -> None:
    job = await park(harness)
    await harness.store.edit_job(job.id, b"new", ME)
    assert await harness.store.ledger(job.id) == Ledger()


async def test_reschedule_and_cancel_keep_the_steps(harness: StoreHarness) -> None:
    job = await park(harness)
    known = await harness.store.ledger(job.id)
    await harness.store.reschedule_job(job.id, None, ME)
    assert await harness.store.ledger(job.id) == known
    assert (await harness.store.cancel_job(job.id, ME)).state is State.CANCELLED


@pytest.mark.parametrize("answered", [True, False])
async def test_sent_job_is_not_edited_and_keeps_its_steps(harness: StoreHarness, answered: bool) -> None:
    job = await half_a_thread(harness)
    if answered:
        await harness.refuse(job, "part 2")
        again = await harness.take_one()
        assert await harness.end(again, Retry("later"))
    known, before = await harness.store.ledger(job.id), await harness.store.job(job.id)
    for deed in (
        harness.store.edit_job(job.id, b"new", ME), harness.store.cancel_job(job.id, ME),
        harness.store.reschedule_job(job.id, None, ME),
    ):  # fmt: skip
        with pytest.raises(Conflict):
            await deed
    assert (await harness.store.ledger(job.id), await harness.store.job(job.id)) == (known, before)


# A person's word


async def test_resolving_as_live_records_the_receipt_of_the_person(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job(account="acme")
    resolved_at = harness.clock.turn(minutes=1)
    resolved = await harness.store.resolve_job(job.id, Done(remote_id="r1"), ME)
    assert (resolved.state, resolved.run_at, resolved.lookup_at, resolved.may_be_live) == (
        State.PENDING,
        resolved_at,
        None,
        True,
    )
    (entry,) = (await harness.store.ledger(job.id)).receipts
    assert (entry.step, entry.number, entry.verdict, entry.source) == (
        "post",
        1,
        Verdict.ACCEPTED,
        ReceiptSource.PERSON,
    )
    assert (entry.why, entry.at) == ("because", resolved_at)
    assert entry.receipt is not None
    assert entry.receipt.remote_id == "r1"
    assert ids(await harness.take(worker="w2")) == {job.id}, "it goes on by itself"
    assert (await harness.list_event_types(job.id))[-1] == EventType.RESOLVED
    (line,) = await harness.store.audit()
    assert (line.action, line.actor) == ("job.resolved", "maria")


@pytest.mark.parametrize("remote_id", [None, ""])
async def test_resolving_as_live_needs_a_remote_id(harness: StoreHarness, remote_id: str | None) -> None:
    job = await harness.add_uncertain_job()
    with pytest.raises(WrongUse, match="say which post") as refused:
        await harness.store.resolve_job(job.id, Done(remote_id=remote_id), ME)
    assert refused.value.field == "remote_id"
    assert await harness.store.job(job.id) == job
    assert (await harness.store.ledger(job.id)).receipts == ()


async def test_resolving_as_live_cannot_name_the_post_of_another_job(harness: StoreHarness) -> None:
    other = await harness.put()
    await harness.take()
    await harness.accept(other, "r1")
    job = await harness.add_uncertain_job()
    known = await harness.store.ledger(job.id)
    with pytest.raises(Conflict, match=f"belongs to job {other.id}"):
        await harness.store.resolve_job(job.id, Done(remote_id="r1"), ME)
    assert (await harness.store.job(job.id), await harness.store.ledger(job.id)) == (job, known)
    assert await harness.store.audit() == []
    assert EventType.RESOLVED not in await harness.list_event_types(job.id)


async def test_resolving_as_live_in_a_thread_sends_the_rest(harness: StoreHarness) -> None:
    job = await half_a_thread(harness)
    assert (await harness.store.resolve_job(job.id, Done(remote_id="r2"), ME)).state is State.PENDING
    known = await harness.store.ledger(job.id)
    assert [step.name for step in known.steps] == ["picture"]
    assert isinstance(get_step_status(known, "part 1"), Accepted)
    assert isinstance(get_step_status(known, "part 2"), Accepted)
    assert get_step_status(known, "part 3") == ReadyToSend(1)


async def test_send_again_refuses_every_open_intent_of_the_step_in_doubt(
    harness: StoreHarness,
) -> None:
    job = await half_a_thread(harness)
    resolved = await harness.store.resolve_job(job.id, Retry("again"), ME)
    assert (resolved.state, resolved.lookup_at) == (State.PENDING, None)
    known = await harness.store.ledger(job.id)
    results = [entry for entry in known.receipts if entry.source is ReceiptSource.PERSON]
    assert [(entry.step, entry.number, entry.verdict) for entry in results] == [("part 2", 1, Verdict.REFUSED)]
    assert get_step_status(known, "part 2") == ReadyToSend(2)
    assert isinstance(get_step_status(known, "part 1"), Accepted)


async def test_send_again_waits_until_no_earlier_request_can_arrive(harness: StoreHarness) -> None:
    await harness.put()
    job = await harness.take_one()
    await harness.intend(job, send_within=10, lookup_delay=50)
    await harness.kill("w1")
    await harness.store.resolve_job(job.id, Retry("again"), ME)
    await harness.hire("w2")
    harness.clock.turn(seconds=59)
    assert await harness.take(worker="w2") == []
    harness.clock.turn(seconds=2)
    assert ids(await harness.take(worker="w2")) == {job.id}


async def test_send_again_covers_several_lost_calls_of_one_step(harness: StoreHarness) -> None:
    await harness.put()
    job = await harness.take_one()
    for number in (1, 2, 3):
        await harness.intend(job, number=number)
    await harness.refuse(job, number=2)
    await harness.kill("w1")
    resolved = await harness.store.resolve_job(job.id, Retry("again"), ME)
    assert (resolved.state, resolved.lookup_at, resolved.may_be_live) == (State.PENDING, None, False)
    known = await harness.store.ledger(job.id)
    assert [(entry.number, entry.source) for entry in sorted(known.receipts, key=get_number)] == [
        (1, ReceiptSource.PERSON), (2, ReceiptSource.CALL), (3, ReceiptSource.PERSON),
    ]  # fmt: skip
    assert get_step_status(known, "post") == ReadyToSend(4)


async def test_resolving_as_live_with_several_lost_calls_is_about_the_last(harness: StoreHarness) -> None:
    await harness.put()
    job = await harness.take_one()
    for number in (1, 2):
        await harness.intend(job, number=number)
    await harness.kill("w1")
    assert (await harness.store.resolve_job(job.id, Done(remote_id="r1"), ME)).lookup_at is None
    (entry,) = (await harness.store.ledger(job.id)).receipts
    assert entry.number == 2


async def test_giving_up_records_no_fact_about_the_network(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job()
    resolved = await harness.store.resolve_job(job.id, Reject("nobody knows"), ME)
    assert (resolved.state, resolved.may_be_live) == (State.FAILED, True)
    known = await harness.store.ledger(job.id)
    assert known.receipts == ()
    assert isinstance(get_step_status(known, "post"), UncertainStep)
    assert (await harness.store.dead_letter(job.id)).cause is DeadLetterCause.GIVEN_UP


@pytest.mark.parametrize("verdict", [Done(remote_id="r9"), Retry("again"), Reject("no")])
async def test_verdict_without_a_doubt_settles_the_whole_job(
    harness: StoreHarness, running_job: Job, verdict: Done | Retry | Reject
) -> None:
    """The handler returned Unknown although every visible call has a receipt."""
    await harness.intend(running_job)
    await harness.accept(running_job, "r1")
    assert await harness.end(await harness.store.job(running_job.id), Unknown("who knows"))
    known = await harness.store.ledger(running_job.id)
    resolved = await harness.store.resolve_job(running_job.id, verdict, ME)
    expected = {Done: State.COMPLETED, Retry: State.PENDING, Reject: State.FAILED}[type(verdict)]
    assert resolved.state is expected
    assert await harness.store.ledger(running_job.id) == known


async def test_running_lookup_refuses_a_verdict(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job()
    harness.clock.turn(minutes=1)
    await harness.take(worker="w2")
    with pytest.raises(Conflict, match="it is running now"):
        await harness.store.resolve_job(job.id, Done(remote_id="r1"), ME)


# Replay


async def test_replay_starts_from_the_first_step_if_nothing_was_sent(harness: StoreHarness, running_job: Job) -> None:
    await harness.remember(running_job, "container")
    await harness.intend(running_job)
    await harness.refuse(running_job)
    await fail_job(harness, running_job)
    job = await harness.store.replay_dead_letter(running_job.id, b"better", False, ME)
    known = await harness.store.ledger(job.id)
    assert known.steps == ()
    assert get_step_status(known, "post") == ReadyToSend(2), "what was refused stays refused"
    assert (job.payload, job.may_be_live, job.lookup_at) == (b"better", False, None)


async def test_replay_of_half_a_thread_continues_and_cannot_be_edited(harness: StoreHarness) -> None:
    job = await half_a_thread(harness)
    await harness.refuse(job, "part 2")
    claimed = await harness.take_one()
    await fail_job(harness, claimed)
    known = await harness.store.ledger(job.id)
    with pytest.raises(Conflict, match="its payload cannot change"):
        await harness.store.replay_dead_letter(job.id, b"better", True, ME)
    assert await harness.state(job) is State.FAILED
    replayed = await harness.store.replay_dead_letter(job.id, None, False, ME)
    assert (replayed.state, replayed.lookup_at) == (State.PENDING, None)
    assert await harness.store.ledger(job.id) == known


async def test_replay_of_a_given_up_job_is_uncertain_again(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job()
    await harness.store.resolve_job(job.id, Reject("nobody knows"), ME)
    with pytest.raises(Conflict, match="force"):
        await harness.store.replay_dead_letter(job.id, None, False, ME)
    replayed = await harness.store.replay_dead_letter(job.id, None, True, ME)
    assert (replayed.state, replayed.may_be_live, replayed.lookup_at) == (State.PENDING, True, job.lookup_at)
    (again,) = await harness.take(worker="w2")
    assert await harness.end(again, Reject("the account is gone"))
    assert await harness.state(job) is State.UNCERTAIN, "never simply failed as long as it may be out there"


async def test_a_replay_after_a_late_receipt_finds_it(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job()
    await harness.store.resolve_job(job.id, Reject("nobody knows"), ME)
    await harness.accept(job, "r1")
    assert await harness.state(job) is State.FAILED
    replayed = await harness.store.replay_dead_letter(job.id, None, True, ME)
    assert replayed.lookup_at is None
    assert isinstance(get_step_status(await harness.store.ledger(job.id), "post"), Accepted)


def get_number(entry: ReceiptEntry) -> int:
    return entry.number
