"""Facts about visible calls: accepted from anyone, at any time, and their effect on a job in doubt."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from postino.values.event import EventType
from postino.values.job import Job, State, new_id
from postino.values.ledger import ReceiptEntry, ReceiptSource, Verdict
from postino.values.outcome import Done, Reject, Retry, Unknown
from postino.values.provider import Receipt
from tests.contract.harness import ME, StoreHarness, ids, make_intent

LANES = pytest.mark.parametrize("lane", [{}, {"account": "acme"}, {"brand": "shoes"}])


async def test_fact_ends_the_doubt_and_is_stored_as_given(harness: StoreHarness, running_job: Job) -> None:
    await harness.intend(running_job)
    received_at = harness.clock.turn(seconds=1)
    noted = await harness.accept(running_job, "r1")
    assert (noted.lookup_at, noted.held_by, noted.is_duplicate) == (None, None, False)
    assert (await harness.store.job(running_job.id)).lookup_at is None
    (entry,) = (await harness.store.ledger(running_job.id)).receipts
    receipt = Receipt(remote_id="r1", url="https://there/r1", data={"seen": [1, "ü"]})
    assert entry == ReceiptEntry(
        step="post", number=1, verdict=Verdict.ACCEPTED, source=ReceiptSource.CALL, receipt=receipt, at=received_at
    )


async def test_a_receipt_for_one_of_two_intents_leaves_the_other_in_doubt(
    harness: StoreHarness, running_job: Job
) -> None:
    first = await harness.intend(running_job)
    harness.clock.turn(minutes=1)
    second = await harness.intend(running_job, number=2)
    assert first is not None
    assert second is not None
    assert (await harness.refuse(running_job, number=2)).lookup_at == first.lookup_at
    assert (await harness.store.job(running_job.id)).lookup_at == first.lookup_at
    assert (await harness.refuse(running_job, number=1)).lookup_at is None


async def test_one_accepted_intent_of_two_clears_the_step(harness: StoreHarness, running_job: Job) -> None:
    await harness.intend(running_job)
    await harness.intend(running_job, number=2)
    assert (await harness.accept(running_job, "r1", number=2)).lookup_at is None


async def test_fact_recorded_twice_is_stored_once(harness: StoreHarness, running_job: Job) -> None:
    await harness.intend(running_job)
    await harness.accept(running_job, "r1")
    harness.clock.turn(minutes=1)
    assert not (await harness.accept(running_job, "r1", source=ReceiptSource.LOOKUP)).is_duplicate
    (entry,) = (await harness.store.ledger(running_job.id)).receipts
    assert entry.source is ReceiptSource.CALL
    assert await harness.list_event_types(running_job.id) == []


@pytest.mark.parametrize("why", ["no\x00luck", "half \ud83d", "é" * 10_000])
async def test_refusal_with_any_text_is_stored(harness: StoreHarness, running_job: Job, why: str) -> None:
    await harness.intend(running_job)
    assert (await harness.refuse(running_job, why=why)).lookup_at is None
    (entry,) = (await harness.store.ledger(running_job.id)).receipts
    assert entry.why is not None
    assert entry.why[:2] == why[:2]


async def test_receipt_with_any_text_is_stored(harness: StoreHarness, running_job: Job) -> None:
    await harness.intend(running_job)
    receipt = Receipt(remote_id="r\x001\ud83d", url="https://there/\x00", data={"nul": "\x00", "half": "\ud83d"})
    entry = ReceiptEntry(step="post", number=1, verdict=Verdict.ACCEPTED, source=ReceiptSource.CALL, receipt=receipt)
    assert (await harness.store.record_receipt(running_job.id, entry)).lookup_at is None
    (known,) = (await harness.store.ledger(running_job.id)).receipts
    assert known.receipt is not None
    assert known.receipt.data == {"nul": "\x00", "half": "\ud83d"}
    assert not (await harness.store.record_receipt(running_job.id, entry)).is_duplicate


async def test_receipt_is_accepted_from_a_worker_that_lost_its_job(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job()
    harness.clock.turn(seconds=1)
    assert (await harness.accept(job, "r1")).lookup_at is None
    (again,) = await harness.take(worker="w2")
    assert (again.id, again.run_at, again.lookup_at) == (job.id, harness.clock.now, None), "there is news"


@pytest.mark.parametrize("outcome", [Done(), Reject("no")])
async def test_a_fact_is_accepted_after_the_job_has_ended(
    harness: StoreHarness, running_job: Job, outcome: Done | Reject
) -> None:
    await harness.intend(running_job)
    await harness.refuse(running_job)
    assert await harness.end(await harness.store.job(running_job.id), outcome)
    await harness.accept(running_job, "r1")
    assert len((await harness.store.ledger(running_job.id)).receipts) == 2
    assert (await harness.store.job(running_job.id)).state.is_final
    other = await harness.put()
    assert await harness.store.remote_ids_of_others(other, ["r1", "r2"]) == {"r1"}


async def test_fact_about_a_pruned_job_is_stored(harness: StoreHarness) -> None:
    gone = new_id()
    entry = ReceiptEntry(step="post", number=1, verdict=Verdict.REFUSED, source=ReceiptSource.CALL)
    assert (await harness.store.record_receipt(gone, entry)).lookup_at is None
    assert len((await harness.store.ledger(gone)).receipts) == 1


# The same thing twice, and one thing for two


async def test_each_additional_remote_id_of_a_step_writes_one_event(harness: StoreHarness, running_job: Job) -> None:
    for number in (1, 2, 3):
        await harness.intend(running_job, number=number)
    await harness.accept(running_job, "r1", number=1)
    assert (await harness.accept(running_job, "r2", number=2)).is_duplicate
    assert not (await harness.accept(running_job, "r2", number=2)).is_duplicate, "reported already"
    assert not (await harness.accept(running_job, "r1", number=3)).is_duplicate, "known already, by another number"
    (event,) = [event for event in await harness.events() if event.type == EventType.DUPLICATED]
    assert (event.job_id, event.data) == (running_job.id, {"step": "post", "remote_ids": ["r1", "r2"]})


async def test_duplicate_of_one_step_is_not_reported_with_the_next_step(
    harness: StoreHarness, running_job: Job
) -> None:
    await harness.intend(running_job, "part 1")
    await harness.accept(running_job, "r1", "part 1")
    await harness.accept(running_job, "r1 again", "part 1")
    await harness.intend(running_job, "part 2")
    assert not (await harness.accept(running_job, "r2", "part 2")).is_duplicate
    assert (await harness.list_event_types(running_job.id)).count(EventType.DUPLICATED) == 1


async def test_late_receipt_after_a_refusal_by_a_person_is_a_duplicate(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job()
    await harness.store.resolve_job(job.id, Retry("send again"), ME)
    harness.clock.turn(minutes=1)
    (again,) = await harness.take(worker="w2")
    await harness.intend(again, number=2)
    await harness.accept(again, "r2", number=2)
    assert (await harness.accept(job, "r1", number=1)).is_duplicate


async def test_a_remote_post_belongs_to_the_job_that_has_it_first(harness: StoreHarness) -> None:
    first, second = await harness.put_many(2, brand="shoes")
    await harness.take()
    first, second = [await harness.store.job(job.id) for job in (first, second)]
    await harness.intend(first)
    intent = await harness.intend(second)
    await harness.accept(first, "r1")
    assert intent is not None
    noted = await harness.accept(second, "r1")
    assert (noted.held_by, noted.lookup_at) == (first.id, intent.lookup_at)
    assert (await harness.store.ledger(second.id)).receipts == ()
    assert (await harness.store.job(second.id)).lookup_at == intent.lookup_at, (
        "what became of it is as unknown as before"
    )
    assert await harness.store.remote_ids_of_others(second, ["r1", "r2"]) == {"r1"}
    assert await harness.store.remote_ids_of_others(first, ["r1", "r2"]) == set()
    assert await harness.store.remote_ids_of_others(first, []) == set()


@pytest.mark.parametrize("elsewhere", [{"channel": "other"}, {"account": "other"}])
async def test_the_same_id_elsewhere_is_another_post(harness: StoreHarness, elsewhere: dict[str, str]) -> None:
    here, there = await harness.put(account="acme"), await harness.put(**{"account": "acme", **elsewhere})
    claimed = {job.id: job for job in await harness.take()}
    for job in (here, there):
        await harness.intend(claimed[job.id])
        assert (await harness.accept(job, "r1")).held_by is None


async def test_the_same_id_in_another_scope_is_another_post(harness: StoreHarness) -> None:
    """Each chat numbers its messages from 1. A receipt belongs to the chat of its intent, however late it comes."""
    first, second, third = await harness.put_many(3, brand="shoes")
    claimed = {job.id: job for job in await harness.take()}
    for job, scope in ((first, "old chat"), (second, "new chat"), (third, "old chat")):
        assert await harness.store.record_intents([make_intent(claimed[job.id], id_scope=scope)]) != [None]
    assert (await harness.accept(second, "1")).held_by is None
    assert (await harness.accept(first, "1", source=ReceiptSource.PERSON)).held_by is None
    assert (await harness.accept(third, "1")).held_by == first.id
    assert await harness.store.remote_ids_of_others(third, ["1", "2"], "old chat") == {"1"}
    assert await harness.store.remote_ids_of_others(second, ["1", "2"], "new chat") == set()
    assert await harness.store.remote_ids_of_others(second, ["1", "2"]) == set()


async def test_response_says_where_the_id_of_a_named_chat_is_unique(harness: StoreHarness) -> None:
    """A channel that is deleted and made again under the same name numbers its messages from 1 again."""
    jobs = await harness.put_many(5, brand="shoes")
    claimed = {job.id: job for job in await harness.take()}
    for job in jobs:
        assert await harness.store.record_intents([make_intent(claimed[job.id], id_scope="@news")]) != [None]

    async def accept(job: Job, remote_id: str, chat: int | None) -> UUID | None:
        """Store the receipt of a response from this chat, or of a person, who knows the name only."""
        receipt = Receipt(remote_id=remote_id, id_scope=None if chat is None else f"@news {chat}")
        source = ReceiptSource.PERSON if chat is None else ReceiptSource.CALL
        entry = ReceiptEntry(step="post", number=1, verdict=Verdict.ACCEPTED, source=source, receipt=receipt)
        return (await harness.store.record_receipt(job.id, entry)).held_by

    assert await accept(jobs[0], "7", -1001) is None
    harness.clock.turn(seconds=1)
    assert await accept(jobs[1], "7", -1002) is None, "the new channel"
    assert await accept(jobs[2], "7", -1002) == jobs[1].id
    # A person means the channel that was published to last.
    assert await accept(jobs[2], "7", None) == jobs[1].id
    assert await accept(jobs[2], "8", None) is None
    assert await accept(jobs[3], "8", None) == jobs[2].id
    assert await harness.store.remote_ids_of_others(jobs[3], ["7", "8"], "@news -1002") == {"7", "8"}


async def test_concurrent_claims_of_a_remote_id_have_one_winner(harness: StoreHarness) -> None:
    jobs = await harness.put_many(2)
    await harness.take()
    others = [await harness.open_another_store(), await harness.open_another_store()]

    async def claim(store_number: int) -> UUID | None:
        receipt = Receipt(remote_id="r1")
        entry = ReceiptEntry(
            step="post", number=1, verdict=Verdict.ACCEPTED, source=ReceiptSource.CALL, receipt=receipt
        )
        return (await others[store_number].record_receipt(jobs[store_number].id, entry)).held_by

    held_by = await asyncio.gather(claim(0), claim(1))
    assert sorted(held_by, key=str) in ([jobs[0].id, None], [jobs[1].id, None])
    winner = jobs[held_by.index(None)]
    assert set(held_by) == {None, winner.id}


# Uncertain jobs


@LANES
async def test_uncertain_job_is_claimed_at_its_lookup_time(harness: StoreHarness, lane: dict[str, str]) -> None:
    job = await harness.add_uncertain_job(**lane)
    harness.clock.turn(seconds=39)
    assert await harness.take(worker="w2") == []
    harness.clock.turn(seconds=2)
    (again,) = await harness.take(worker="w2")
    assert (again.id, again.state, again.lookup_at) == (job.id, State.RUNNING, job.lookup_at)


@LANES
async def test_uncertain_job_without_a_time_is_not_claimed_until_a_receipt_comes(
    harness: StoreHarness, lane: dict[str, str]
) -> None:
    await harness.put(**lane)
    (job,) = await harness.take()
    await harness.intend(job)
    assert await harness.end(await harness.store.job(job.id), Unknown("ask somebody"))
    harness.clock.turn(days=3)
    assert await harness.take() == []
    waiting = await harness.store.job(job.id)
    assert (waiting.state, waiting.run_at) == (State.UNCERTAIN, None)
    await harness.accept(job, "r1")
    assert ids(await harness.take()) == {job.id}


async def test_receipt_that_leaves_a_doubt_does_not_move_the_lookup_forward(harness: StoreHarness) -> None:
    await harness.put()
    (job,) = await harness.take()
    await harness.intend(job)
    await harness.intend(job, number=2)
    await harness.kill("w1")
    await harness.hire("w2")
    assert (await harness.refuse(job, number=1)).lookup_at is not None
    assert await harness.take(worker="w2") == []
    harness.clock.turn(seconds=41)
    assert ids(await harness.take(worker="w2")) == {job.id}


async def test_a_lane_goes_on_while_one_of_its_jobs_waits_for_a_person(harness: StoreHarness) -> None:
    job = await harness.add_uncertain_job(account="acme")
    other = await harness.put(account="acme")
    assert job.lookup_at is not None
    # Until then its call may still be under way, and an account makes one at a time.
    harness.clock.now = job.lookup_at - timedelta(microseconds=1)
    assert await harness.take(worker="w2") == []
    harness.clock.now = job.lookup_at
    (looking,) = await harness.take(worker="w2")
    assert looking.id == job.id
    assert await harness.end(looking, Unknown("nobody can tell"))
    assert (await harness.store.job(job.id)).run_at is None
    assert ids(await harness.take(worker="w2")) == {other.id}
    assert await harness.state(job) is State.UNCERTAIN
