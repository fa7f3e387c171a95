"""A backup that was made before any worker had used the database, such as the one before an upgrade."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from postino.errors import Conflict
from postino.values.database import Cause, DatabaseAnswer, DatabaseState, Standing
from postino.values.job import Job, State
from postino.values.ledger import IntentEntry, Suspicion
from postino.values.post import POST
from tests.contract.harness import ME
from tests.contract.restore_site import Site

OTHER_PLACES = {"sqlite": '["postgres", "1", "1", "1"]', "postgres": '["sqlite", "m", "/", 1, 1]'}


async def put_post(site: Site, account: str = "acme") -> Job:
    return await site.harness.put(type=POST, channel="telegram", account=account)


async def accept(site: Site, answer: DatabaseAnswer) -> DatabaseState:
    accepted = await site.harness.store.accept_database(answer, None, "another", "next era", ME)
    return accepted.state


async def publish_for_a_day(site: Site, *, is_alive: bool = False) -> tuple[Job, Any]:
    """Back the database up, let the first worker send a post, and put the backup back."""
    job = await put_post(site)
    site.back_up()
    witness = await site.start()
    await site.send(witness, await site.harness.take_one())
    await site.pulse(witness, times=6)
    if not is_alive:
        await witness.close()
    site.put_back()
    return job, witness


@pytest.mark.parametrize("is_alive", [True, False])
async def test_backup_from_before_the_first_worker_asks(site: Site, is_alive: bool) -> None:
    job, witness = await publish_for_a_day(site, is_alive=is_alive)
    if not is_alive:
        witness = await site.start()
    state = await site.look(witness)
    assert (state.standing, state.cause, state.installation) == (Standing.ASKED, Cause.LOSS, None)
    assert await site.harness.take() == []
    with pytest.raises(Conflict, match="lacks posts that were sent"):
        await accept(site, DatabaseAnswer.MOVED)
    assert (await accept(site, DatabaseAnswer.RESTORED)).standing is Standing.OPEN
    assert (await site.look(witness)).standing is Standing.OPEN, "asked once"
    assert witness.memory is not None
    assert (await site.harness.store.job(job.id)).state is State.UNCERTAIN
    doubts = [Suspicion.RESTORED, "post"] if is_alive else [Suspicion.RESTORED]
    assert [it.step for it in (await site.harness.store.ledger(job.id)).intents] == doubts
    site.harness.clock.turn(minutes=5)
    assert [it.id for it in await site.harness.take()] == [job.id], "the network is asked"


async def test_process_that_lives_through_such_a_restore_still_remembers_on_disk(site: Site) -> None:
    """Its answered database is a new installation, for which it continues the file of a process that has ended."""
    await put_post(site)
    site.back_up()
    witness, other = await site.start(), await site.start()
    await site.send(witness, await site.harness.take_one())
    await site.pulse(witness, other, times=6)
    site.put_back()
    await site.look(other)
    await accept(site, DatabaseAnswer.RESTORED)
    await site.look(other)
    await other.close()
    await site.look(witness)
    sent = await put_post(site, "other")
    [claimed] = [job for job in await site.harness.take() if job.id == sent.id]
    site.back_up()
    assert isinstance(await site.send(witness, claimed), IntentEntry)
    assert witness.storage.trouble is None
    await witness.close()
    site.put_back()
    await site.start()
    assert (await site.harness.store.job(sent.id)).may_be_live
    assert [it.step for it in (await site.harness.store.ledger(sent.id)).intents] == ["post"]


async def test_copy_of_such_a_backup_in_another_place_asks_for_the_place(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish_for_a_day(site)
    read = site.harness.store.database_state
    other = OTHER_PLACES[site.harness.database.dialect]

    async def read_elsewhere(witnesses: Collection[str] = ()) -> DatabaseState:
        return replace(await read(witnesses), here=other)

    with monkeypatch.context() as patch:
        patch.setattr(site.harness.store, "database_state", read_elsewhere)
        witness = await site.start()
    state = await read()
    assert (state.standing, state.cause) == (Standing.ASKED, Cause.PLACE)
    await accept(site, DatabaseAnswer.MOVED)
    await site.look(witness)
    assert witness.memory is not None


@pytest.mark.parametrize("answer", [DatabaseAnswer.RESTORED, DatabaseAnswer.COPY])
async def test_answer_is_accepted_before_any_worker_has_used_the_database(site: Site, answer: DatabaseAnswer) -> None:
    job = await put_post(site)
    state = await accept(site, answer)
    assert (state.place, state.installation, state.era) == (state.here, "another", "next era")
    witness = await site.start()
    is_suspect = (await site.harness.store.job(job.id)).state is State.UNCERTAIN
    assert is_suspect is (answer is DatabaseAnswer.RESTORED)
    assert [it.id for it in await site.harness.take()] == ([job.id] if is_suspect else [])
    assert (witness.memory is not None) is (answer is DatabaseAnswer.RESTORED)


async def test_new_database_in_the_same_place_is_adopted(site: Site) -> None:
    """It was created anew, so it is no earlier state of the one that this machine knows."""
    await publish_for_a_day(site)
    [(before,)] = site.harness.database.sql("SELECT applied_at FROM {migrations} WHERE number = 1")
    site.harness.database.sql("UPDATE {migrations} SET applied_at = '2026-01-01T00:00:00.123000Z' WHERE number = 1")
    try:
        witness = await site.start()
        assert (await site.look(witness)).standing is Standing.OPEN
        assert witness.memory is not None
    finally:
        site.harness.database.sql(f"UPDATE {{migrations}} SET applied_at = '{before}' WHERE number = 1")


def put_elsewhere(site: Site) -> None:
    """Let the database say that it was created in another file, or with other tables."""
    kind = site.harness.database.dialect
    place = {"sqlite": '["sqlite", "m", "/old.db", 1, 2.5]', "postgres": '["postgres", "1", "00000001", "2", "3"]'}[
        kind
    ]
    site.harness.database.sql(f"UPDATE {{database_state}} SET place = '{place}'")


async def test_machine_without_memory_asks_where_a_new_database_was_put_back(site: Site) -> None:
    """The worker that published from it ran on another machine, or its directory is gone."""
    job = await put_post(site)
    put_elsewhere(site)
    witness = await site.start()
    state = await site.look(witness)
    assert (state.standing, state.cause, state.installation) == (Standing.ASKED, Cause.PLACE, None)
    assert await site.harness.take() == []
    assert (await accept(site, DatabaseAnswer.RESTORED)).standing is Standing.OPEN
    assert (await site.look(witness)).standing is Standing.OPEN, "asked once"
    assert (await site.harness.store.job(job.id)).state is State.UNCERTAIN


async def test_person_may_say_that_such_a_database_was_only_moved(site: Site) -> None:
    job = await put_post(site)
    put_elsewhere(site)
    witness = await site.start()
    assert (await accept(site, DatabaseAnswer.MOVED)).standing is Standing.OPEN
    await site.look(witness)
    assert witness.memory is not None
    assert [it.id for it in await site.harness.take()] == [job.id]


async def test_machine_that_knows_the_database_corrects_the_question_of_one_that_does_not(site: Site) -> None:
    """Otherwise a person could answer `moved`, although something was lost."""
    _, witness = await publish_for_a_day(site, is_alive=True)
    put_elsewhere(site)
    await site.start("new machine")
    state = await site.harness.store.database_state()
    assert (state.standing, state.cause) == (Standing.ASKED, Cause.PLACE)
    site.harness.clock.turn(minutes=1)
    state = await site.look(witness)
    assert (state.standing, state.cause) == (Standing.ASKED, Cause.LOSS)
    assert state.since_at == site.harness.clock(), "the backup may hold the first question, and later posts may be live"
    with pytest.raises(Conflict, match="lacks posts that were sent"):
        await accept(site, DatabaseAnswer.MOVED)


async def test_empty_database_is_adopted_wherever_it_is(site: Site) -> None:
    """Nothing can be published twice from it: it may be the copy of a template."""
    put_elsewhere(site)
    witness = await site.start()
    state = await site.harness.store.database_state()
    assert (state.standing, state.place) == (Standing.OPEN, state.here)
    assert witness.memory is not None


async def test_migrate_notes_where_an_empty_database_is(site: Site) -> None:
    put_elsewhere(site)
    store = site.harness.store
    await store.migrate()
    state = await store.database_state()
    assert (state.place, state.installation) == (state.here, None)
    await put_post(site)
    put_elsewhere(site)
    await store.migrate()
    state = await store.database_state()
    assert state.place != state.here, "a database with posts may be a backup"


async def test_database_that_changes_while_it_is_adopted_is_read_again(site: Site) -> None:
    """A backup was put back between the read and the write."""
    store = site.harness.store
    await store.migrate()
    state = await store.database_state()
    assert not await store.adopt_database(replace(state, here="elsewhere"), "installation", "era")
    assert not await store.adopt_database(replace(state, place="elsewhere"), "installation", "era")
    assert await store.adopt_database(state, "installation", "era")
    assert not await store.adopt_database(state, "another", "era"), "another process was faster"
