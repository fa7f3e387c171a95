"""Several processes, and a database that has lost what each of them sent: every process enters its own intents."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from postino.engine.witness import DatabaseClosed, Witness
from postino.values.database import Standing
from postino.values.job import Job, State
from postino.values.ledger import IntentEntry, Suspicion
from postino.values.outcome import Done, Outcome, Reject
from postino.values.post import POST
from tests.contract.restore_site import Site


async def start_two(site: Site) -> tuple[Witness, Witness]:
    """Start a process on each of two machines, and let both work for a while."""
    witnesses = await site.start("one", roll_call_seconds=0.0), await site.start("two", roll_call_seconds=0.0)
    await site.pulse(*witnesses)
    await look_at_all(site, *witnesses)
    return witnesses


async def look_at_all(site: Site, *witnesses: Witness, times: int = 1) -> None:
    for _ in range(times):
        for witness in witnesses:
            await site.look(witness)


async def put_post(site: Site, account: str, **fields: Any) -> Job:
    return await site.harness.put(type=POST, channel="telegram", account=account, **fields)


async def send_both(site: Site, *witnesses: Witness) -> list[Job]:
    """Back the database up, let each process send a post, and put the backup back."""
    posts = [await put_post(site, f"account{number}") for number in range(len(witnesses))]
    site.back_up()
    claimed = {job.id: job for job in await site.harness.take()}
    for witness, post in zip(witnesses, posts, strict=True):
        assert isinstance(await site.send(witness, claimed[post.id]), IntentEntry)
    await look_at_all(site, *witnesses)
    site.put_back()
    return posts


async def expect_in_doubt(site: Site, *posts: Job) -> None:
    for post in posts:
        job, ledger = await site.harness.store.job(post.id), await site.harness.store.ledger(post.id)
        assert (job.state, [it.number for it in ledger.intents]) == (State.UNCERTAIN, [1])
        assert job.lookup_at is not None
        assert job.run_at is not None


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_each_process_enters_its_own_lost_intents(site: Site, order: tuple[int, int]) -> None:
    """The process that looks first knows that the other one has sent something, but not what."""
    witnesses = await start_two(site)
    posts = await send_both(site, *witnesses)
    first, second = (witnesses[number] for number in order)
    assert (await site.look(first)).lost_from == {second.id: 0}
    assert (await site.look(second)).lost_from == {}
    await expect_in_doubt(site, *posts)
    await look_at_all(site, first, second, times=4)
    state = await site.harness.store.database_state()
    assert (state.standing, state.counts) == (Standing.OPEN, {it.id: 1 for it in witnesses})
    await expect_in_doubt(site, *posts)
    for witness in witnesses:
        assert isinstance(await site.send(witness, await take_another(site)), IntentEntry)


async def take_another(site: Site) -> Job:
    post = await put_post(site, f"another{len(await site.harness.events())}")
    [job] = [job for job in await site.harness.take() if job.id == post.id]
    return job


async def test_process_whose_intents_are_lost_sends_nothing_before_it_has_entered_them(site: Site) -> None:
    first, second = await start_two(site)
    await send_both(site, first, second)
    await look_at_all(site, first, times=4)
    assert (await site.harness.store.database_state()).standing is Standing.OPEN
    assert isinstance(await site.send(second, await take_another(site)), DatabaseClosed)


async def test_process_whose_intents_are_lost_does_not_sign_before_it_has_entered_them(site: Site) -> None:
    """It read the database before another process noticed the loss, and answers the roll call only now."""
    first, second = await start_two(site)
    posts = await send_both(site, first, second)
    state = await site.look(first)
    await site.harness.store.sign_roll(second.id, state.here)
    await look_at_all(site, first, times=4)
    assert (await site.harness.store.job(posts[1].id)).state is State.UNCERTAIN, "the second process is absent"
    [suspicion] = (await site.harness.store.ledger(posts[1].id)).intents
    assert suspicion.step == Suspicion.ABSENT


async def test_process_that_restarts_during_the_roll_call_enters_its_intents_from_its_file(site: Site) -> None:
    first, second = await start_two(site)
    posts = await send_both(site, first, second)
    await site.look(first)
    await second.close()
    again = await site.start("two", roll_call_seconds=0.0)
    assert again.id == second.id
    await look_at_all(site, first, again, times=4)
    await expect_in_doubt(site, *posts)
    assert (await site.harness.store.database_state()).standing is Standing.OPEN
    assert isinstance(await site.send(again, await take_another(site)), IntentEntry)


async def test_machine_that_is_off_enters_its_intents_when_it_returns(site: Site) -> None:
    first, second = await start_two(site)
    posts = await send_both(site, first, second)
    await second.close()
    await look_at_all(site, first, times=4)
    assert (await site.harness.store.job(posts[1].id)).state is State.UNCERTAIN, "nobody knows yet what was sent"
    [suspicion] = (await site.harness.store.ledger(posts[1].id)).intents
    assert suspicion.step == Suspicion.ABSENT
    await site.pulse(first, times=10)
    site.harness.clock.turn(days=14)
    again = await site.start("two", roll_call_seconds=0.0)
    await look_at_all(site, first, again, times=4)
    await expect_in_doubt(site, *posts)
    assert (await site.harness.store.database_state()).lost_from == {}
    assert Suspicion.ABSENT not in {it.step for it in (await site.harness.store.ledger(posts[1].id)).intents}


async def test_batch_whose_response_was_lost_is_no_second_use_of_the_id(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await start_two(site)
    post, job = await put_post(site, "account"), await put_post(site, "never sent")
    site.back_up()
    claimed = {it.id: it for it in await site.harness.take()}
    await site.send(second, claimed[post.id])
    with monkeypatch.context() as patch:
        patch.setattr(site.harness.store, "record_intents", lose_response(site))
        with pytest.raises(ConnectionError):
            await site.send(second, claimed[job.id])
    await look_at_all(site, first)
    site.put_back()
    before = second.id
    await look_at_all(site, first, second, times=4)
    assert (second.id, second.n) == (before, 2)
    await expect_in_doubt(site, post)
    assert (await site.harness.store.job(job.id)).state is State.PENDING
    assert isinstance(await site.send(second, await site.harness.take_one()), IntentEntry)


def lose_response(site: Site) -> Any:
    write = site.harness.store.record_intents

    async def lose(*arguments: Any) -> Any:
        await write(*arguments)
        raise ConnectionError

    return lose


async def test_response_that_comes_after_the_loss_was_noticed_is_entered_too(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old primary may answer a commit while the process already reads from the new one."""
    first, second = await start_two(site)
    early, late = await put_post(site, "early"), await put_post(site, "late")
    site.back_up()
    claimed = {it.id: it for it in await site.harness.take()}
    await site.send(second, claimed[early.id])
    write = site.harness.store.record_intents

    async def answer_late(*arguments: Any) -> Any:
        entries = await write(*arguments)
        await look_at_all(site, first)
        site.put_back()
        await site.look(first)
        return entries

    with monkeypatch.context() as patch:
        patch.setattr(site.harness.store, "record_intents", answer_late)
        assert isinstance(await site.send(second, claimed[late.id]), IntentEntry)
    await look_at_all(site, second, first, times=4)
    await expect_in_doubt(site, early, late)


async def test_living_process_enters_what_a_process_that_ended_had_written(site: Site) -> None:
    """Both are on one machine. The living one had read the files at its start, before the other had sent anything."""
    ended, living = [await site.start("one", roll_call_seconds=0.0) for _ in range(2)]
    assert ended.id != living.id
    await site.pulse(ended, living)
    posts = [await put_post(site, "ended"), await put_post(site, "living")]
    site.back_up()
    claimed = {job.id: job for job in await site.harness.take()}
    for witness, post in zip((ended, living), posts, strict=True):
        assert isinstance(await site.send(witness, claimed[post.id]), IntentEntry)
    await ended.close()
    await look_at_all(site, living)
    site.put_back()
    state = await site.look(living)
    assert state.lost_from == {}
    await expect_in_doubt(site, *posts)


async def test_process_enters_what_it_sent_before_it_was_restarted(site: Site) -> None:
    witness = await site.start("one", roll_call_seconds=0.0)
    await site.pulse(witness)
    posts = [await put_post(site, "before"), await put_post(site, "after")]
    site.back_up()
    claimed = {job.id: job for job in await site.harness.take()}
    await site.send(witness, claimed[posts[0].id])
    await witness.close()
    again = await site.start("one", roll_call_seconds=0.0)
    assert again.id == witness.id
    await site.send(again, claimed[posts[1].id])
    await site.look(again)
    site.put_back()
    assert (await site.look(again)).standing is Standing.ROLL_CALL, "it remembers all of a small loss"
    await expect_in_doubt(site, *posts)


@pytest.mark.parametrize(
    ("outcome", "problem"), [(Reject("refused"), "is failed"), (Done("7"), "is completed"), (None, "no record")]
)
async def test_post_that_was_sent_and_has_ended_in_the_backup_is_logged(
    site: Site, outcome: Outcome | None, problem: str
) -> None:
    """A dead letter was replayed after the backup, or the backup does not have the post at all."""
    witness = await site.start()
    await site.pulse(witness)
    post = await put_post(site, "acme")
    claimed = await site.harness.take_one()
    sent = await site.send(witness, claimed)
    assert isinstance(sent, IntentEntry)
    site.harness.database.sql(f"DELETE FROM {{intents}} WHERE job_id = '{post.id}'")
    site.harness.database.sql(f"UPDATE {{witnesses}} SET n = 0 WHERE id = '{witness.id}'")
    if outcome is None:
        site.harness.database.sql(f"DELETE FROM {{jobs}} WHERE id = '{post.id}'")
    else:
        await site.harness.end(claimed, outcome)
    with capture_logs() as logs:
        await site.look(witness)
    [forgotten] = [it for it in logs if it["event"] == "job.forgotten"]
    assert (forgotten["account"], forgotten["sent_at"]) == ("acme", str(sent.intended_at))
    assert problem in forgotten["next"]
