"""Nobody is asked about a machine that slept, crashed, was replaced beside others, or was moved on its disk."""

import shutil
import signal

import apsw
import psycopg
import pytest

from postino.values.job import State
from tests.crash.publishing.post_shapes import NETWORKS
from tests.crash.workers import Process
from tests.restore.drill import ASKABLE, SILENT, Drill
from tests.restore.places import LONG_UNUSED, PostgresPlace, SqlitePlace
from tests.servers.postgres import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.crash]
only_sqlite = pytest.mark.parametrize("drill", ["sqlite"], indirect=True)
only_postgres = pytest.mark.parametrize("drill", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)

EQUALLY_NEW = [
    "sqlite: copy over", "sqlite: remove and copy", "sqlite: rename over",
    pytest.param("postgres: dump", marks=pytest.mark.postgres),
]  # fmt: skip
BEFORE_THIS_RELEASE = """
    UPDATE postino.database_state SET installation = NULL, era = NULL, place = NULL, pulse = 0;
    DELETE FROM postino.witnesses;
"""


async def test_night_off_asks_nobody_and_all_that_is_due_goes_out(drill: Drill) -> None:
    """All processes stop, all stored times move back by twelve hours, and all processes start."""
    async with drill.open() as evening:
        await evening.start("one")
        await evening.start("two")
        await evening.expect_published_once(*await evening.schedule(*NETWORKS))
        at_night = [it for hours in (1, 6, 11.5) for it in await evening.schedule(*NETWORKS, hours=hours)]
        tomorrow = await evening.schedule(*NETWORKS, hours=13)
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open() as morning:
        await morning.start("one")
        await morning.start("two")
        await morning.expect_published_once(*at_night)
        await morning.expect_nothing_sent(*tomorrow)
        await morning.expect_no_question()


def test_night_moves_every_stored_time(drill_template: str, drill_postgres: PostgresServer) -> None:
    """SQLite stores times as text, so a drill finds them by the names of their columns."""
    with psycopg.connect(drill_postgres.get_url(drill_template)) as connection:
        tables = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'postino'"
        ).fetchall()
    times = {(table, column) for table, column, kind in tables if kind == "timestamp with time zone"}
    assert times == {(table, column) for table, column, _ in tables if f"_{column}".endswith("_at")}


async def test_killed_worker_asks_nobody(drill: Drill) -> None:
    """It dies between the commit of an intent and the write to its file: the database is ahead of the file."""
    async with drill.open() as site:
        victim = await site.start(crash="record_intents.after:1")
        [posted] = await site.schedule(ASKABLE)
        await site.harness.expect_death(victim, "record_intents.after")
        site.living.clear()
        await site.start()
        await site.expect_published_once(posted)
        await site.expect_no_question()


async def test_restarts_ask_nobody(drill: Drill) -> None:
    """A deployment replaces the workers one after the other."""
    async with drill.open() as site:
        old = [await site.start("one"), await site.start("two")]
        posts = await site.schedule(ASKABLE, SILENT)
        for machine, worker in zip(("one", "two"), old, strict=True):
            await site.stop(worker)
            await site.start(machine)
            posts += await site.schedule(ASKABLE, SILENT)
        await site.expect_published_once(*posts)
        await site.expect_no_question()


@only_postgres
async def test_database_that_was_away_asks_nobody(drill: Drill) -> None:
    assert isinstance(drill.place, PostgresPlace)
    async with drill.open() as site:
        await site.start("one")
        await site.start("two")
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        posts = await site.schedule(ASKABLE, SILENT, hours=0.001)
        await drill.run(drill.place.server.kill)
        await site.wait_for_log("store.unreachable")
        await drill.run(drill.place.server.start)
        await site.expect_published_once(*posts)
        await site.expect_no_question()


async def test_witness_id_that_is_used_twice_is_given_up(drill: Drill) -> None:
    async with drill.open() as site:
        await site.start("one")
        await site.expect_published_once(*await site.schedule(ASKABLE))
    await drill.run(lambda: copy_machine(drill, "one", "clone"))
    async with drill.open() as site:
        await site.start("one")
        await site.start("clone")
        await site.wait_for_heartbeats()
        for _ in range(3):
            await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.wait_for_log("witness.id_used_twice")
        await site.expect_no_question()


def copy_machine(drill: Drill, machine: str, clone: str) -> None:
    shutil.copytree(drill.get_state_dir(machine), drill.get_state_dir(clone))


@only_sqlite
async def test_moved_data_directory_asks_nobody(drill: Drill) -> None:
    assert isinstance(drill.place, SqlitePlace)
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    old = drill.place.path.parent
    drill.place.path = old.with_name("moved") / "postino.db"
    await drill.run(lambda: old.rename(old.with_name("moved")))
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*later)


@pytest.mark.parametrize("drill", EQUALLY_NEW, indirect=True)
async def test_database_replaced_by_an_equally_new_one_asks_nobody(drill: Drill) -> None:
    """The file, or the tables, are others than before."""
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    await drill.run(drill.place.back_up)
    await drill.run(drill.place.put_back)
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*later)
        await site.expect_no_question()


async def test_upgrade_asks_nobody(drill: Drill) -> None:
    """A database that only older releases have used has no place, and nobody remembers anything of it."""
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        at_night = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.run(BEFORE_THIS_RELEASE))
    drill.forget_machine("one")
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*at_night)
        await site.expect_no_question()


async def test_frozen_worker_that_wakes_up_asks_nobody(drill: Drill) -> None:
    async with drill.open() as site:
        asleep = await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await drill.run(lambda: freeze(drill, asleep))
        posts = await site.schedule(ASKABLE, SILENT)
        await drill.run(lambda: drill.place.run(LONG_UNUSED))
        asleep.signal(signal.SIGCONT)
        await site.wait_for_state(State.COMPLETED, *posts)
        await site.expect_live_once(*posts)
        await site.expect_no_question()


@pytest.mark.parametrize("drill", ["sqlite: remove and copy", "sqlite: rename over"], indirect=True)
async def test_frozen_worker_wakes_up_in_a_database_that_was_put_back(drill: Drill) -> None:
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.stop(*site.living)
        sent = await site.schedule(ASKABLE, SILENT)
    await drill.run(lambda: drill.place.run(LONG_UNUSED))
    await drill.run(drill.place.back_up)
    async with drill.open() as site:
        asleep = await site.start()
        await site.expect_published_once(*sent)
        await drill.run(lambda: freeze(drill, asleep))
        await drill.run(drill.place.put_back)
        asleep.signal(signal.SIGCONT)
        await site.wait_for_standing("asked", "loss")
        await site.wait_for_heartbeats()
        await site.expect_live_once(*sent)


def freeze(drill: Drill, process: Process) -> None:
    """Stop a process at a moment when it does not hold SQLite's lock, which would stop everybody."""
    for _ in range(100):
        process.signal(signal.SIGSTOP)
        if isinstance(drill.place, PostgresPlace) or is_unlocked(drill.place.url.removeprefix("sqlite:///")):
            return
        process.signal(signal.SIGCONT)
    raise AssertionError("the process always holds the lock")


def is_unlocked(path: str) -> bool:
    connection = apsw.Connection(path)
    connection.set_busy_timeout(100)
    try:
        connection.execute("BEGIN IMMEDIATE; ROLLBACK")
    except apsw.BusyError:
        return False
    finally:
        connection.close()
    return True
