"""Restored, copied and failed-over databases: what a sending process finds, and what it does."""

from __future__ import annotations

import asyncio
import shutil
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from postino.engine.witness import DatabaseClosed, Witness
from postino.engine.witness_file import WitnessFile, WitnessUnavailable
from postino.errors import Conflict, WrongUse
from postino.rules.ledger import ReadyToSend, get_step_status
from postino.values.database import Cause, DatabaseAnswer, Standing
from postino.values.event import EventType
from postino.values.gate import GateKind
from postino.values.job import Job, State
from postino.values.ledger import IntentEntry, NewIntent, ReceiptEntry, ReceiptSource, Suspicion, Verdict
from postino.values.outcome import Retry
from postino.values.post import POST
from postino.values.provider import Receipt
from tests.contract.harness import ME, StoreHarness, make_intent
from tests.contract.restore_site import Site


async def put_post(harness: StoreHarness, **fields: Any) -> Job:
    return await harness.put(type=POST, channel="telegram", account="acme", **fields)


async def take_post(harness: StoreHarness) -> Job:
    await put_post(harness)
    return await harness.take_one()


async def test_new_database_is_adopted(site: Site) -> None:
    witness = await site.start()
    state = await site.harness.store.database_state()
    assert (state.standing, state.place, state.counts) == (Standing.OPEN, state.here, {witness.id: 0})


async def test_night_off_asks_nobody(site: Site) -> None:
    first = await site.start()
    await site.send(first, await take_post(site.harness))
    await site.pulse(first, times=3)
    await first.close()
    site.harness.clock.turn(hours=12)
    second = await site.start()
    assert (second.id, second.n) == (first.id, 1)
    assert (await site.look(second)).standing is Standing.OPEN
    assert second.memory is not None


async def test_first_look_comes_before_the_first_pulse(site: Site) -> None:
    """The pulse is what a restored backup is recognised by, so nobody may change it first."""
    first = await site.start()
    await site.pulse(first)
    site.back_up()
    await site.pulse(first, times=6)
    await first.close()
    site.put_back()
    site.harness.clock.turn(hours=1)
    before = await site.harness.store.database_state()
    await site.start()
    after = await site.harness.store.database_state()
    assert (after.standing, after.cause, after.alive_at) == (Standing.ASKED, Cause.LOSS, before.alive_at)


@pytest.mark.parametrize("is_alive", [True, False])
async def test_backup_put_back_enters_what_was_sent_and_asks(site: Site, is_alive: bool) -> None:
    witness = await site.start()
    await site.pulse(witness)
    job = await put_post(site.harness)
    site.back_up()
    claimed = await site.harness.take_one()
    await site.harness.remember(claimed, "container", '"abc"')
    intent = make_intent(claimed, position=1, account="acme", channel="telegram", id_scope="chat")
    steps = (await site.harness.store.ledger(job.id)).steps
    [sent] = await witness.record_intents([NewIntent(**{**as_fields(intent), "steps": steps})])
    assert isinstance(sent, IntentEntry)
    await site.pulse(witness, times=6)
    site.put_back()
    if not is_alive:
        await witness.close()
        witness = await site.start()
    state = await site.look(witness)
    assert (state.standing, state.cause) == (Standing.ASKED, Cause.LOSS)
    doubted = await site.harness.store.job(job.id)
    assert (doubted.state, doubted.may_be_live, doubted.lookup_at) == (State.UNCERTAIN, True, sent.lookup_at)
    ledger = await site.harness.store.ledger(job.id)
    assert ([it.number for it in ledger.intents], [it.result for it in ledger.steps]) == ([1], ['"abc"'])
    await site.harness.store.record_receipt(job.id, make_receipt("7"))
    assert await site.harness.store.remote_ids_of_others(claimed_by_another(job), ["7"], "chat") == {"7"}
    await site.look(witness)
    with pytest.raises(Conflict, match="lacks posts that were sent"):
        await accept(site, DatabaseAnswer.MOVED)


async def test_step_that_ended_after_the_backup_is_done_with_the_call_that_used_it(site: Site) -> None:
    """The network may not know the upload any more, so nobody could wait for it again."""
    witness = await site.start()
    job = await take_post(site.harness)
    store = site.harness.store
    await store.save_step(job, "ready", 0, None, done=False)
    site.back_up()
    await store.save_step(job, "ready", 0, "true", done=True)
    intent = make_intent(job, position=1, account="acme", channel="telegram")
    steps = (await store.ledger(job.id)).steps
    await witness.record_intents([NewIntent(**{**as_fields(intent), "steps": steps})])
    await site.pulse(witness, times=6)
    site.put_back()
    await site.look(witness)
    [step] = (await store.ledger(job.id)).steps
    assert (step.result, step.done_at) == ("true", steps[0].done_at)


def make_receipt(remote_id: str) -> ReceiptEntry:
    receipt = Receipt(remote_id=remote_id)
    return ReceiptEntry(step="post", number=1, verdict=Verdict.ACCEPTED, source=ReceiptSource.LOOKUP, receipt=receipt)


def claimed_by_another(job: Job) -> Job:
    return replace(job, id=uuid4())


def as_fields(intent: NewIntent) -> dict[str, Any]:
    return {name: getattr(intent, name) for name in NewIntent.__slots__}


async def test_nothing_is_sent_into_a_database_that_was_put_back(site: Site) -> None:
    """Before the process has looked at it: the numbers of its next batch do not fit."""
    witness = await site.start()
    site.back_up()
    await site.send(witness, await take_post(site.harness))
    site.put_back()
    assert isinstance(await site.send(witness, await take_post(site.harness)), DatabaseClosed)


async def test_process_that_sent_nothing_sends_nothing_into_an_older_database(site: Site) -> None:
    witness = await site.start()
    site.back_up()
    await site.pulse(witness)
    site.put_back()
    assert isinstance(await site.send(witness, await take_post(site.harness)), DatabaseClosed)


async def test_process_that_misses_nothing_waits_for_the_others_after_a_replacement(site: Site) -> None:
    """Nobody but the first process knows what it has sent since the backup, a moment ago."""
    first, second = await site.start(), await site.start()
    job = await take_post(site.harness)
    await site.harness.put(type=POST, channel="telegram", account="other")
    others_job = await site.harness.take_one()
    site.back_up()
    await site.send(first, job)
    await site.put_back_other_file()
    assert isinstance(await site.send(second, others_job), DatabaseClosed)
    assert (await site.look(second)).standing is Standing.ROLL_CALL
    await site.look(first)
    assert (await site.harness.store.job(job.id)).state is State.UNCERTAIN
    assert [it.step for it in (await site.harness.store.ledger(job.id)).intents] == ["post"]


async def test_power_cut_between_commit_and_file_asks_nobody(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    witness = await site.start()
    await site.send(witness, await take_post(site.harness))

    async def cut(*_: object) -> None:
        raise RuntimeError("power")

    monkeypatch.setattr(witness.storage, "save_records", cut)
    with pytest.raises(RuntimeError):
        await site.send(witness, await site.harness.store.job((await site.harness.put()).id), "two")
    await witness.close()
    after = await site.start()
    assert after.id == witness.id
    assert after.memory is not None


async def test_batch_repeated_after_a_lost_response_counts_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    witness, store = await site.start(), site.harness.store
    job, write = await take_post(site.harness), store.record_intents

    async def lose(*arguments: Any) -> Any:
        await write(*arguments)
        raise ConnectionError

    monkeypatch.setattr(store, "record_intents", lose)
    with pytest.raises(ConnectionError):
        await site.send(witness, job)
    monkeypatch.undo()
    assert isinstance(await site.send(witness, job), IntentEntry)
    assert (await site.look(witness)).counts == {witness.id: 1}


async def test_new_machine_joins_while_others_work(site: Site) -> None:
    first = await site.start("one")
    await site.pulse(first, times=5)
    assert (await site.start("two")).memory is not None


async def test_new_machine_alone_asks(site: Site) -> None:
    await lose_machine(site)
    stranger = await site.start("two")
    state = await site.look(stranger)
    assert (state.standing, state.cause, stranger.memory) == (Standing.ASKED, Cause.STRANGER, None)
    assert [gate.kind for gate in await site.harness.store.gates()] == [GateKind.DATABASE]
    assert isinstance(await site.send(stranger, await put_post(site.harness)), DatabaseClosed)


async def lose_machine(site: Site) -> None:
    """Let a machine work with the database and vanish."""
    first = await site.start("one")
    await site.pulse(first, times=3)
    await first.close()
    site.harness.clock.turn(hours=3)


async def test_who_knows_the_database_answers_for_a_stranger(site: Site) -> None:
    await lose_machine(site)
    stranger = await site.start("two")
    known = await site.start("one")
    assert (await site.look(known)).standing is Standing.OPEN
    await site.look(stranger)
    assert stranger.memory is not None
    assert await site.harness.store.gates() == []


async def test_new_machine_alone_trusts_the_database_by_a_setting(site: Site) -> None:
    await lose_machine(site)
    assert (await site.start("two", is_trusted=True)).memory is not None


async def test_machine_that_was_off_for_weeks_is_a_stranger(site: Site) -> None:
    old = await site.start("one")
    await old.close()
    other = await site.start("two")
    await site.pulse(other, times=6)
    await other.close()
    site.harness.clock.turn(hours=1)
    assert (await site.look(await site.start("one"))).cause is Cause.STRANGER


async def test_without_a_state_directory_it_works_and_is_asked_after_a_while(site: Site) -> None:
    first = await site.start("")
    assert isinstance(await site.send(first, await take_post(site.harness)), IntentEntry)
    await site.pulse(first)
    assert (await site.start("")).memory is not None, "within two minutes"
    site.harness.clock.turn(minutes=3)
    assert (await site.look(await site.start(""))).cause is Cause.STRANGER


async def test_state_directory_that_cannot_be_written_is_in_the_state(site: Site) -> None:
    site.folder.mkdir()
    (site.folder / "one").write_text("a file")
    forgetful = await site.start("one")
    await site.start("two")
    [trouble] = (await site.harness.store.database_state()).troubles
    assert str(site.folder / "one") in trouble
    await forgetful.close()
    site.harness.clock.turn(minutes=3)
    assert (await site.harness.store.database_state()).troubles == (), "the process lives no more"


async def test_trouble_with_the_file_ends_with_the_next_write(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    witness = await site.start()
    with monkeypatch.context() as patch:
        patch.setattr(WitnessFile, "append", fail_to_write)
        await site.send(witness, await take_post(site.harness))
        await site.pulse(witness)
        assert (await site.harness.store.database_state()).troubles == ("No space left on /state.",)
    await site.harness.put(type=POST, channel="telegram", account="another")
    await site.send(witness, await site.harness.take_one())
    await site.pulse(witness)
    assert (await site.harness.store.database_state()).troubles == ()


async def test_unreadable_file_is_in_the_state_and_the_others_still_tell_of_a_loss(site: Site) -> None:
    witness = await site.start()
    site.back_up()
    await site.send(witness, await take_post(site.harness))
    await site.pulse(witness, times=6)
    assert witness.storage.file is not None
    folder = witness.storage.file.path.parent
    (folder / "1").mkdir()
    (folder / "2").write_text("foreign")
    await witness.close()
    again = await site.start()
    [trouble] = (await site.harness.store.database_state()).troubles
    assert str(folder / "1") in trouble
    assert "1 more" in trouble
    await again.close()
    site.put_back()
    assert (await site.look(await site.start())).cause is Cause.LOSS


def list_troubles(witness: Witness) -> list[str]:
    return [*witness.storage.troubles.values()]


async def test_deleted_file_is_replaced_by_a_new_one(site: Site) -> None:
    witness = await site.start()
    assert witness.storage.file is not None
    path = witness.storage.file.path
    shutil.rmtree(site.folder)
    assert isinstance(await site.send(witness, await take_post(site.harness)), IntentEntry)
    assert list_troubles(witness) == [f"The witness file {path} was deleted."]
    await site.pulse(witness)
    await site.harness.put(type=POST, channel="telegram", account="another")
    assert isinstance(await site.send(witness, await site.harness.take_one()), IntentEntry)
    assert list_troubles(witness) == []
    [contents] = await witness.storage.read_files()
    assert contents.header is not None
    assert (contents.header.witness, [it.n for it in contents.records]) == (witness.id, [2])


async def test_file_system_that_hangs_delays_a_post_for_seconds(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    witness, released = await site.start(), threading.Event()
    append = WitnessFile.append

    def hang(file: WitnessFile, *arguments: Any) -> None:
        released.wait(60)
        append(file, *arguments)

    monkeypatch.setattr(WitnessFile, "append", hang)
    monkeypatch.setattr(witness.storage.thread, "seconds", 0.05)
    assert isinstance(await site.send(witness, await take_post(site.harness)), IntentEntry)
    [trouble] = list_troubles(witness)
    assert "has not responded for 0.05 s" in trouble
    await site.pulse(witness)
    assert len((await site.harness.store.database_state()).troubles) == 1
    released.set()
    monkeypatch.setattr(witness.storage.thread, "seconds", 20.0)
    assert witness.storage.thread.late is not None
    await asyncio.wait([witness.storage.thread.late])
    await site.harness.put(type=POST, channel="telegram", account="another")
    assert isinstance(await site.send(witness, await site.harness.take_one()), IntentEntry)
    await site.pulse(witness)
    assert list_troubles(witness) == []
    [contents] = await witness.storage.read_files()
    assert [it.n for it in contents.records] == [1, 2]


def fail_to_write(*_: object) -> None:
    raise WitnessUnavailable("No space left on /state.")


async def test_other_place_asks(site: Site) -> None:
    witness = await site.start()
    other = '["postgres", "1", "1", "1"]' if site.harness.database.dialect == "sqlite" else '["sqlite", "m", "/", 1, 1]'
    site.harness.database.sql(f"UPDATE {{database_state}} SET place = '{other}'")
    state = await site.look(witness)
    assert (state.standing, state.cause) == (Standing.ASKED, Cause.PLACE)
    await accept(site, DatabaseAnswer.MOVED)
    state = await site.look(witness)
    assert (state.standing, state.place) == (Standing.OPEN, state.here)
    assert isinstance(await site.send(witness, await take_post(site.harness)), IntentEntry)


async def test_id_that_is_used_twice_is_given_up(site: Site) -> None:
    witness = await site.start()
    site.harness.database.sql(f"UPDATE {{witnesses}} SET n = 1, mark = 'another' WHERE id = '{witness.id}'")
    before = witness.id
    assert (await site.look(witness)).standing is Standing.OPEN
    assert witness.id != before
    assert isinstance(await site.send(witness, await take_post(site.harness)), IntentEntry)


async def accept(site: Site, answer: DatabaseAnswer, at: Any = None) -> list[Job]:
    accepted = await site.harness.store.accept_database(answer, at, "other", f"era after {answer}", ME)
    return list(accepted.suspects.due)


async def test_restored_doubts_every_post_that_is_due_and_opens(site: Site) -> None:
    await lose_machine(site)
    due = await put_post(site.harness)
    other = await site.harness.put()
    stranger = await site.start("two")
    assert await site.harness.take() == []
    held = await accept(site, DatabaseAnswer.RESTORED)
    assert {job.id for job in held} == {due.id}
    assert "may have been published" in (held[0].deferral_reason or "")
    assert (await site.look(stranger)).standing is Standing.OPEN
    assert {job.id for job in await site.harness.take()} == {due.id, other.id}
    [suspicion] = (await site.harness.store.ledger(due.id)).intents
    assert suspicion.step == Suspicion.RESTORED
    assert (await site.harness.store.job(due.id)).may_be_live, "so that nobody cancels it as unsent"


async def test_restored_leaves_later_posts_to_their_time(site: Site) -> None:
    await lose_machine(site)
    at = site.harness.clock.later(days=20)
    later = await put_post(site.harness, run_at=at)
    await site.start("two")
    accepted = await site.harness.store.accept_database(DatabaseAnswer.RESTORED, None, "other", "new", ME)
    assert ([*accepted.suspects.due], [job.id for job in accepted.suspects.early]) == ([], [later.id])
    kept = await site.harness.store.job(later.id)
    assert (kept.state, kept.run_at, kept.may_be_live) == (State.PENDING, at, False)
    assert [it.step for it in (await site.harness.store.ledger(later.id)).intents] == [Suspicion.EARLY]


async def test_person_ends_the_suspicion_of_a_post(site: Site) -> None:
    await lose_machine(site)
    due = await put_post(site.harness)
    await site.start("two")
    await accept(site, DatabaseAnswer.RESTORED)
    resolved = await site.harness.store.resolve_job(due.id, Retry("it did not"), ME)
    assert (resolved.state, resolved.may_be_live, resolved.lookup_at) == (State.PENDING, False, None)
    assert isinstance(get_step_status(await site.harness.store.ledger(due.id), "post 1"), ReadyToSend)
    assert [job.id for job in await site.harness.take()] == [due.id]


async def test_restored_ends_the_claims_of_calls_in_doubt(site: Site) -> None:
    """The worker's receipt went into the other history, so the network must be asked for it."""
    witness = await site.start("one")
    job = await take_post(site.harness)
    await site.send(witness, job)
    site.back_up()
    await site.pulse(witness, times=9)
    site.put_back()
    await site.look(witness)
    assert (await site.harness.store.job(job.id)).token == job.token
    assert await accept(site, DatabaseAnswer.RESTORED) == [], "it is in doubt already"
    doubted = await site.harness.store.job(job.id)
    assert (doubted.state, doubted.token, doubted.claimed_by) == (State.UNCERTAIN, None, None)
    assert [it.id for it in await site.harness.take()] == [job.id]


async def test_post_accepted_after_the_loss_was_noticed_is_not_suspected(site: Site) -> None:
    witness = await site.start("one")
    await site.pulse(witness)
    due = await put_post(site.harness)
    site.back_up()
    await site.pulse(witness, times=9)
    site.put_back()
    assert (await site.look(witness)).cause is Cause.LOSS
    site.harness.clock.turn(seconds=1)
    new = await site.harness.put(type=POST, channel="telegram", account="other")
    assert [job.id for job in await accept(site, DatabaseAnswer.RESTORED)] == [due.id]
    assert (await site.harness.store.job(new.id)).state is State.PENDING


async def test_restored_refuses_a_time_at_which_the_database_was_in_use(site: Site) -> None:
    await lose_machine(site)
    state = await site.harness.store.database_state()
    assert state.alive_at is not None
    with pytest.raises(WrongUse, match="last in use"):
        await accept(site, DatabaseAnswer.RESTORED, state.alive_at + timedelta(seconds=1))


async def test_copy_closes_the_database_for_good(site: Site) -> None:
    witness = await site.start()
    await accept(site, DatabaseAnswer.COPY)
    state = await site.look(witness)
    assert (state.standing, state.installation) == (Standing.COPY, "other")
    assert isinstance(await site.send(witness, await put_post(site.harness)), DatabaseClosed)
    with pytest.raises(Conflict, match="this database is a copy"):
        await accept(site, DatabaseAnswer.MOVED)
    await accept(site, DatabaseAnswer.RESTORED)
    assert (await site.look(witness)).standing is Standing.OPEN


async def test_open_database_needs_no_answer(site: Site) -> None:
    with pytest.raises(Conflict, match="No worker has used"):
        await accept(site, DatabaseAnswer.MOVED)
    await site.start()
    with pytest.raises(Conflict, match="is open"):
        await accept(site, DatabaseAnswer.MOVED)


async def test_answer_holds_for_a_machine_that_starts_much_later(site: Site) -> None:
    await lose_machine(site)
    await site.start("two")
    await accept(site, DatabaseAnswer.MOVED)
    site.harness.clock.turn(hours=1)
    assert (await site.start("three")).memory is not None


async def test_machine_of_a_former_era_enters_its_posts_and_asks_nobody(site: Site) -> None:
    """It was off when the database was restored and a person answered."""
    witness = await site.start("one")
    job = await put_post(site.harness)
    site.back_up()
    claimed = await site.harness.take_one()
    await site.send(witness, claimed)
    await site.pulse(witness, times=6)
    await witness.close()
    site.put_back()
    await accept(site, DatabaseAnswer.RESTORED)
    again = await site.start("one")
    assert (await site.look(again)).standing is Standing.OPEN
    assert [it.step for it in (await site.harness.store.ledger(job.id)).intents] == [Suspicion.RESTORED, "post"]
    assert (await site.harness.store.job(job.id)).run_at is not None, "the network is asked"


async def test_machine_of_a_former_era_is_a_stranger_when_the_answer_is_old(site: Site) -> None:
    """Others have worked since the answer. If this database is a copy of theirs, the machine cannot tell."""
    await (await site.start("one")).close()
    await lose_machine(site)
    other = await site.start("two")
    await accept(site, DatabaseAnswer.MOVED)
    await site.look(other)
    await site.pulse(other, times=6)
    await other.close()
    site.harness.clock.turn(hours=1)
    assert (await site.look(await site.start("one"))).cause is Cause.STRANGER


async def test_database_rolled_back_past_an_answer_asks_again(site: Site) -> None:
    await lose_machine(site)
    site.back_up()
    witness = await site.start("two")
    await accept(site, DatabaseAnswer.MOVED)
    await site.look(witness)
    site.put_back()
    state = await site.look(witness)
    assert (state.standing, state.cause) == (Standing.ASKED, Cause.LOSS)


async def test_post_accepted_before_the_database_was_put_back_once_more_is_suspected(site: Site) -> None:
    """The backup holds the first question, which a person has answered since. The post was accepted in between."""
    witness = await site.start()
    await site.pulse(witness)
    sent = await take_post(site.harness)
    site.back_up()
    await site.send(witness, sent)
    await site.pulse(witness, times=6)
    site.put_back()
    assert (await site.look(witness)).cause is Cause.LOSS
    site.harness.clock.turn(minutes=1)
    accepted = await site.harness.put(type=POST, channel="telegram", account="other")
    site.back_up()
    await accept(site, DatabaseAnswer.RESTORED)
    await site.look(witness)
    site.put_back()
    assert (await site.look(witness)).cause is Cause.LOSS
    assert accepted.id in {job.id for job in await accept(site, DatabaseAnswer.RESTORED)}


async def test_closed_database_holds_started_posts_and_lookups(site: Site) -> None:
    await lose_machine(site)
    await put_post(site.harness)
    running = await site.harness.take_one()
    await site.harness.intend(running)
    await site.harness.kill()
    await site.harness.hire("w2")
    await site.start("two")
    site.harness.clock.turn(hours=1)
    assert await site.harness.take(worker="w2") == []
    await accept(site, DatabaseAnswer.MOVED)
    assert [job.id for job in await site.harness.take(worker="w2")] == [running.id]


async def test_missed_posts_do_not_fail_while_the_database_is_closed(site: Site) -> None:
    await lose_machine(site)
    await site.start("two")
    assert await site.harness.store.fail_missed_posts(0.0) == []


async def test_every_change_of_standing_is_in_the_audit_trail(site: Site) -> None:
    await lose_machine(site)
    await site.start("two")
    await accept(site, DatabaseAnswer.MOVED)
    entries = await site.harness.store.audit()
    assert [(it.actor, it.action) for it in entries] == [(ME.actor, "database.moved"), ("postino", "database.asked")]


async def test_every_change_of_standing_is_an_event(site: Site) -> None:
    await lose_machine(site)
    await site.start("two")
    await accept(site, DatabaseAnswer.COPY)
    await accept(site, DatabaseAnswer.RESTORED)
    state = await site.harness.store.database_state()
    await site.harness.store.call_roll(state, "It failed over.")
    events = [it.data for it in await site.harness.events() if it.type == EventType.DATABASE_STANDING_CHANGED]
    assert [it["standing"] for it in events] == ["asked", "copy", "open", "roll_call"]
    assert (events[0]["cause"], events[2]["next"]) == ("stranger", None)
    assert "postino database accept moved" in events[0]["next"]


async def test_poll_returns_the_state(site: Site) -> None:
    await site.start()
    poll = await site.harness.store.poll("w1")
    assert poll.database == await site.harness.store.database_state()


async def test_batches_of_one_process_are_serial(site: Site) -> None:
    witness = await site.start()
    jobs = [await put_post(site.harness)]
    jobs += [await site.harness.put(type=POST, channel="telegram", account=f"a{n}") for n in range(5)]
    claimed = await site.harness.take()
    assert len(claimed) == len(jobs)
    entries = await asyncio.gather(*(site.send(witness, job) for job in claimed))
    assert all(isinstance(entry, IntentEntry) for entry in entries)
    assert (await site.look(witness)).counts == {witness.id: 6}


async def lose_seconds(site: Site) -> Job:
    """Put back a backup that is some seconds old and lacks one post that was sent."""
    witness = await site.start("one", roll_call_seconds=0.0)
    await site.pulse(witness)
    job = await put_post(site.harness)
    site.back_up()
    await site.send(witness, await site.harness.take_one())
    site.put_back()
    assert (await site.look(witness)).standing is Standing.ROLL_CALL
    assert isinstance(await site.send(witness, await site.harness.put()), DatabaseClosed)
    return job


async def test_small_loss_enters_what_was_sent_and_goes_on(site: Site) -> None:
    job = await lose_seconds(site)
    [lost] = (await site.harness.store.ledger(job.id)).intents
    doubted = await site.harness.store.job(job.id)
    assert (doubted.state, doubted.run_at) == (State.UNCERTAIN, lost.lookup_at)
    again = await site.start("one", roll_call_seconds=0.0)
    assert (await site.look(again)).standing is Standing.OPEN
    assert await site.harness.store.gates() == []


async def test_small_loss_found_long_after_the_workers_stopped_asks(site: Site) -> None:
    """A server accepted changes for hours after the last pulse, and the workers remember none of them."""
    witness = await site.start("one")
    await site.pulse(witness)
    site.back_up()
    await site.pulse(witness)
    await stop(site, witness)
    site.harness.clock.turn(hours=17)
    site.put_back()
    again = await site.start("one")
    state = await site.look(again)
    assert (state.standing, state.cause) == (Standing.ASKED, Cause.LOSS)


async def test_process_that_misses_the_roll_call_leaves_due_posts_under_suspicion(site: Site) -> None:
    lost = await site.start("lost")
    await site.harness.put(type=POST, channel="telegram", account="a1")
    await site.send(lost, await site.harness.take_one())
    await lost.close()
    await lose_seconds(site)
    due = await site.harness.put(type=POST, channel="telegram", account="a2")
    later = await site.harness.put(type=POST, account="a3", run_at=site.harness.clock.later(hours=5))
    await site.look(await site.start("one", roll_call_seconds=0.0))
    held, free = await site.harness.store.job(due.id), await site.harness.store.job(later.id)
    assert held.state is State.UNCERTAIN
    assert free.state is State.PENDING
    assert await list_suspicions_of(site, due) == [Suspicion.ABSENT]
    await site.look(await site.start("lost"))
    released = await site.harness.store.job(due.id)
    assert (released.state, released.may_be_live) == (State.PENDING, False), "it returned, and had sent nothing else"
    assert await list_suspicions_of(site, due) == []


async def test_posts_stay_under_suspicion_until_every_missing_process_has_returned(site: Site) -> None:
    lost, other = await site.start("lost"), await site.start("other")
    await site.harness.put(type=POST, channel="telegram", account="a1")
    await site.send(lost, await site.harness.take_one())
    await lost.close()
    await other.close()
    await lose_seconds(site)
    due = await site.harness.put(type=POST, channel="telegram", account="a2")
    one = await site.start("one", roll_call_seconds=0.0)
    await site.look(one)
    assert (await site.harness.store.job(due.id)).state is State.UNCERTAIN
    await site.look(await site.start("other"))
    await site.pulse(one, times=30)
    assert (await site.harness.store.job(due.id)).state is State.UNCERTAIN, "the first is still missing"
    await site.look(await site.start("lost"))
    assert (await site.harness.store.job(due.id)).state is State.PENDING


async def list_suspicions_of(site: Site, job: Job) -> list[str]:
    return [intent.step for intent in (await site.harness.store.ledger(job.id)).intents]


async def test_process_that_misses_the_roll_call_may_have_sent_a_post_of_long_ago(site: Site) -> None:
    lost, one = await site.start("lost"), await site.start("one", roll_call_seconds=0.0)
    overdue = await site.harness.put(type=POST, channel="telegram", account="a1")
    other = await site.harness.put(type=POST, channel="telegram", account="a2")
    await site.pulse(lost, one, times=6)
    site.back_up()
    first, second = sorted(await site.harness.take(), key=lambda job: job.account or "")
    assert isinstance(await site.send(lost, first), IntentEntry)
    assert isinstance(await site.send(one, second), IntentEntry)
    await lost.close()
    site.put_back()
    for _ in range(5):
        await site.look(one)
    assert (await site.look(one)).standing is Standing.OPEN
    assert (await site.harness.store.job(other.id)).may_be_live
    assert (await site.harness.store.job(overdue.id)).state is State.UNCERTAIN
    assert await list_suspicions_of(site, overdue) == [Suspicion.ABSENT]


async def forget_roll_call(site: Site) -> tuple[Witness, Job]:
    """Let a process vanish, lose some seconds, and stop the roll call. Return who called it, and a post that is due."""
    lost = await site.start("lost")
    await site.harness.put(type=POST, channel="telegram", account="a1")
    await site.send(lost, await site.harness.take_one())
    await lost.close()
    await lose_seconds(site)
    due = await site.harness.put(type=POST, channel="telegram", account="a2")
    site.harness.clock.turn(hours=1)
    return await site.start("one", roll_call_seconds=3600.0), due


async def test_stranger_who_finds_a_forgotten_roll_call_misses_those_who_did_not_sign(site: Site) -> None:
    known, due = await forget_roll_call(site)
    stranger = await site.start("two")
    assert (await site.look(stranger)).cause is Cause.STRANGER
    assert (await site.look(known)).standing is Standing.OPEN, "it knows the database, so it answers for the stranger"
    assert (await site.harness.store.job(due.id)).state is State.UNCERTAIN


async def test_answer_to_a_forgotten_roll_call_misses_those_who_did_not_sign(site: Site) -> None:
    _, due = await forget_roll_call(site)
    assert due.id in {job.id for job in await accept(site, DatabaseAnswer.MOVED)}
    events = [it.data for it in await site.harness.events() if it.type == EventType.DATABASE_STANDING_CHANGED]
    assert [it["standing"] for it in events] == ["roll_call", "open"]
    assert (await site.harness.store.database_state()).standing is Standing.OPEN
    assert (await site.harness.store.job(due.id)).state is State.UNCERTAIN


async def test_nobody_answers_a_roll_call_that_is_under_way(site: Site) -> None:
    await lose_seconds(site)
    with pytest.raises(Conflict, match="Workers are checking"):
        await accept(site, DatabaseAnswer.MOVED)


async def stop(site: Site, witness: Witness) -> None:
    """End a process as `postino worker` does."""
    await site.harness.store.unregister_worker("its worker", witness.memory)
    await witness.close()


async def test_process_that_was_stopped_is_not_missed_in_a_roll_call(site: Site) -> None:
    stopped = await site.start("stopped")
    await site.harness.put(type=POST, channel="telegram", account="a1")
    await site.send(stopped, await site.harness.take_one())
    await stop(site, stopped)
    await lose_seconds(site)
    due = await site.harness.put(type=POST, channel="telegram", account="a2")
    again = await site.start("one", roll_call_seconds=0.0)
    assert (await site.look(again)).standing is Standing.OPEN
    assert (await site.harness.store.job(due.id)).state is State.PENDING


@pytest.mark.parametrize("is_restarted", [True, False])
async def test_process_that_sent_after_the_last_backup_is_missed_although_it_was_stopped(
    site: Site, is_restarted: bool
) -> None:
    """The database has lost what it sent last, and that it was stopped."""
    stopped, one = await site.start("stopped"), await site.start("one", roll_call_seconds=0.0)
    if is_restarted:
        await stop(site, stopped)
        stopped = await site.start("stopped")
    due = await site.harness.put(type=POST, channel="telegram", account="a1")
    site.back_up()
    await site.send(stopped, await site.harness.take_one())
    await site.look(one)
    await stop(site, stopped)
    site.put_back()
    for _ in range(5):
        await site.look(one)
    assert (await site.look(one)).standing is Standing.OPEN
    assert (await site.harness.store.job(due.id)).state is State.UNCERTAIN


async def test_roll_call_lasts_one_lease(site: Site) -> None:
    await lose_seconds(site)
    patient = await site.start("one", roll_call_seconds=3600.0)
    assert (await site.look(patient)).standing is Standing.ROLL_CALL
    assert await site.harness.take() == []
