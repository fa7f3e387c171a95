"""A database that is put back from a backup: nothing is published again, and a person is asked once."""

import asyncio
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from postino.values.database import DatabaseAnswer
from postino.values.job import State
from tests.crash.points import EVERYTHING
from tests.restore.drill import ASKABLE, KEYED, ME, SILENT, Drill
from tests.restore.people import open_server
from tests.restore.places import LONG_UNUSED

pytestmark = [pytest.mark.slow, pytest.mark.crash]

ALL_WAYS = [
    "sqlite: copy over", "sqlite: remove and copy", "sqlite: rename over",
    pytest.param("postgres: volume", marks=pytest.mark.postgres),
    pytest.param("postgres: base backup", marks=pytest.mark.postgres),
    pytest.param("postgres: point in time", marks=pytest.mark.postgres),
    pytest.param("postgres: dump", marks=pytest.mark.postgres),
]  # fmt: skip
FEW = ["sqlite: remove and copy", pytest.param("postgres: dump", marks=pytest.mark.postgres)]
# `make crash` tries every way.
WAYS = ALL_WAYS if EVERYTHING else ["sqlite: copy over", ALL_WAYS[3], *FEW]
PULSE = "SELECT pulse FROM postino.database_state"
MINUTE = 1 / 60  # in hours: then the next pulse is due, and a new machine joins
# Ways that put the content back into another file, or into other tables.
ALL_LOGICAL = [
    "sqlite: remove and copy", "sqlite: rename over",
    pytest.param("postgres: point in time", marks=pytest.mark.postgres),
    pytest.param("postgres: dump", marks=pytest.mark.postgres),
]  # fmt: skip
LOGICAL = ALL_LOGICAL if EVERYTHING else ALL_LOGICAL[1::2]
# Not `cp` over a file that is open: SQLite itself then mixes the old file and the new one.
LIVING = ALL_WAYS[1:] if EVERYTHING else FEW


@pytest.mark.parametrize("drill", WAYS, indirect=True)
async def test_restored_database_publishes_nothing_again(drill: Drill) -> None:
    async with drill.open() as site:
        first = await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.stop(first)
        sent = await site.schedule(ASKABLE, SILENT)
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.run(LONG_UNUSED))
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*sent)
    await drill.run(drill.place.put_back)
    async with drill.open() as site:
        await site.start()
        await site.wait_for_standing("asked", "loss")
        assert [(await site.job(posted)).state for posted in sent] == [State.UNCERTAIN] * 2
        await site.wait_for_heartbeats()
        await site.expect_live_once(*sent)
        await site.answer(DatabaseAnswer.RESTORED)
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_live_once(*sent)
        await site.expect_nothing_sent(*later)
        assert await site.standing() == "open"


@pytest.mark.parametrize("drill", LIVING, indirect=True)
async def test_database_put_back_under_living_workers_publishes_nothing_again(drill: Drill) -> None:
    async with drill.open() as site:
        first = await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.stop(first)
        sent = await site.schedule(ASKABLE, SILENT)
    await drill.run(lambda: drill.place.run(LONG_UNUSED))
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        await site.start("one")
        await site.start("two")
        await site.expect_published_once(*sent)
        await drill.run(drill.place.put_back)
        await site.wait_for_standing("asked", "loss")
        await site.expect_live_once(*sent)
        await site.answer(DatabaseAnswer.RESTORED)
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_live_once(*sent)


@pytest.mark.parametrize(
    "drill", ["sqlite: copy over", pytest.param("postgres: dump", marks=pytest.mark.postgres)], indirect=True
)
async def test_backup_of_seconds_ago_calls_the_roll_and_asks_nobody(drill: Drill) -> None:
    async with drill.open() as site:
        first = await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.stop(first)
        sent = await site.schedule(ASKABLE, SILENT)
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*sent)
    await drill.run(drill.place.put_back)
    async with drill.open() as site:
        await site.start()
        await site.expect_roll_call()
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_live_once(*sent)


@pytest.mark.parametrize("drill", FEW, indirect=True)
async def test_backup_from_which_only_a_server_went_on_asks(drill: Drill) -> None:
    """Workers stop right after the backup, so that they remember seconds. People change posts for hours."""
    async with drill.open() as site:
        await site.start("one")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        [posted] = await site.schedule(SILENT, hours=17)
    drill.forget_machine("one")
    await drill.run(lambda: drill.place.move_back(MINUTE))
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        [[before]] = site.ask(PULSE)
        await site.start("two")

        async def has_pulsed() -> bool:
            return bool(site.ask(PULSE)[0][0] > before)

        await site.wait_until(has_pulsed, "a pulse after the backup")
        await site.stop(*site.living)
        async with open_server(site) as server:
            reply = await asyncio.to_thread(server.api.ask, "POST", f"/v1/posts/{posted.id}/cancel", {"reason": "no"})
            assert reply.status == 200
    await drill.run(drill.place.put_back)
    drill.age_memory("two", 17.5)
    await drill.run(lambda: drill.place.move_back(17.5))
    async with drill.open() as site:
        await site.start("two")
        await site.wait_for_standing("asked", "loss")
        await site.expect_nothing_sent(posted)


@pytest.mark.parametrize("drill", FEW, indirect=True)
async def test_backup_from_before_the_first_worker_asks(drill: Drill) -> None:
    async with drill.open() as site:
        sent = await site.schedule(ASKABLE, SILENT)
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        await site.start("one")
        await site.start("two")
        await site.expect_published_once(*sent)
        await drill.run(drill.place.put_back)
        await site.wait_for_standing("asked", "loss")
        await site.expect_live_once(*sent)
        await site.answer(DatabaseAnswer.RESTORED)
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_live_once(*sent)


@pytest.mark.parametrize("drill", LOGICAL, indirect=True)
async def test_backup_from_before_the_first_worker_asks_a_machine_without_memory(drill: Drill) -> None:
    """The first worker's state directory is gone, as that of a container, and nobody else is there."""
    async with drill.open() as site:
        sent = await site.schedule(ASKABLE, SILENT)
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        await site.start("one")
        await site.expect_published_once(*sent)
    await drill.run(drill.place.put_back)
    async with drill.open() as site:
        await site.start("two")
        await site.wait_for_standing("asked", "place")
        await site.expect_live_once(*sent)
        await site.answer(DatabaseAnswer.RESTORED)
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_live_once(*sent)


@pytest.mark.parametrize("drill", LOGICAL, indirect=True)
async def test_backup_of_seconds_ago_asks_a_machine_without_memory(drill: Drill) -> None:
    async with drill.open() as site:
        first = await site.start("one")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.stop(first)
        sent = await site.schedule(ASKABLE, SILENT)
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        await site.start("one")
        await site.expect_published_once(*sent)
    await drill.run(drill.place.put_back)
    async with drill.open() as site:
        await site.start("two")
        await site.wait_for_standing("asked", "stranger")
        await site.expect_live_once(*sent)


async def test_machine_rolled_back_as_a_whole_waits_for_the_answer(drill: Drill) -> None:
    """Postino cannot notice this, so a person says it before workers send."""
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        sent = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    await drill.run(drill.place.back_up)
    shutil.copytree(drill.get_state_dir("one"), drill.get_state_dir("snapshot"))
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*sent)
    await drill.run(drill.place.put_back)
    drill.forget_machine("one")
    drill.get_state_dir("snapshot").rename(drill.get_state_dir("one"))
    async with drill.open() as site:
        asleep = await site.start(is_publishing=False)
        await site.wait_for_heartbeats()
        await site.answer(DatabaseAnswer.RESTORED)
        await site.stop(asleep)
        await site.start()
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.expect_live_once(*sent)


async def test_restored_before_the_first_start_asks_nobody_else(drill: Drill) -> None:
    """The steps that operating.md names: stop, restore, answer, start."""
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        sent = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*sent)
    await drill.run(drill.place.put_back)
    async with drill.open() as site:
        await site.answer(DatabaseAnswer.RESTORED)
        await site.start()
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_live_once(*sent)
        await site.expect_no_question()


async def test_restored_asks_networks_before_it_asks_a_person(drill: Drill) -> None:
    """Nobody remembers what was sent. Each post that is live is found; one that is not goes out where that is safe."""
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        sent = await site.schedule(ASKABLE, KEYED, SILENT, hours=6)
        unsent = await site.schedule(ASKABLE, KEYED, SILENT, hours=6)
        early = await site.schedule(ASKABLE, KEYED, SILENT, hours=18)
    await drill.run(lambda: drill.place.move_back(12))
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        for posted in unsent:
            await site.harness.app.pause("account", posted.account.id)
        await site.start()
        await site.expect_published_once(*sent)
    await drill.run(drill.place.put_back)
    drill.forget_machine("one")
    async with drill.open() as site:
        await site.answer(DatabaseAnswer.RESTORED)
        await site.start()
        await site.wait_for_state(State.COMPLETED, *sent[:2], unsent[0])
        await site.expect_live_once(*sent, unsent[0])
        await site.wait_for_person(sent[2], *unsent[1:])
        await site.expect_nothing_sent(*unsent[1:], *early)
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*early)
        await site.expect_nothing_sent(*unsent[1:])


async def test_post_postponed_before_the_question_is_looked_for_and_waits_for_its_time(drill: Drill) -> None:
    """It was due in the part of the history that is lost, although its time is now another one."""
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        sent = await site.schedule(ASKABLE, SILENT, hours=6)
        unsent = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        for posted in unsent:
            await site.harness.app.pause("account", posted.account.id)
        await site.start()
        await site.expect_published_once(*sent)
    await drill.run(drill.place.put_back)
    drill.forget_machine("one")
    later = datetime.now(UTC) + timedelta(hours=6)
    async with drill.open() as site:
        for posted in (*sent, *unsent):
            await site.harness.app.posts.reschedule(posted.id, later, ME)
        await site.answer(DatabaseAnswer.RESTORED)
        await site.start()
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1], unsent[1])
        await site.wait_for_state(State.PENDING, unsent[0])
        run_at = (await site.job(unsent[0])).run_at
        assert run_at is not None
        assert abs(run_at - later) < timedelta(seconds=1)
        await site.expect_live_once(*sent)
        await site.expect_nothing_sent(*unsent)
