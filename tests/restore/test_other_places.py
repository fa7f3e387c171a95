"""A database in another file, on another machine or in another cluster: a person says which one is in use."""

import shutil

import pytest

from postino.stores import sqlite_place
from postino.values.database import DatabaseAnswer
from tests.restore.drill import ASKABLE, SILENT, Drill, Site
from tests.restore.places import PostgresPlace, SqlitePlace
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_backups import restore_dump

pytestmark = [pytest.mark.slow, pytest.mark.crash]
only_sqlite = pytest.mark.parametrize("drill", ["sqlite"], indirect=True)
postgres_dump = pytest.param("postgres: dump", marks=pytest.mark.postgres)


@pytest.mark.parametrize("drill", ["sqlite", postgres_dump], indirect=True)
@pytest.mark.parametrize("answer", list(DatabaseAnswer))
async def test_copy_of_the_database_asks(drill: Drill, answer: DatabaseAnswer) -> None:
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open(await copy_elsewhere(drill)) as copy:
        await copy.start()
        await copy.wait_for_standing("asked", "place")
        await copy.expect_nothing_sent(*later)
        await copy.answer(answer)
        match answer:
            case DatabaseAnswer.MOVED:
                await copy.expect_published_once(*later)
            case DatabaseAnswer.RESTORED:
                await copy.expect_published_once(later[0])
                await copy.wait_for_person(later[1])
            case DatabaseAnswer.COPY:
                await copy.expect_nothing_sent(*later)
    if answer is DatabaseAnswer.COPY:
        async with drill.open() as site:
            await site.start()
            await site.expect_published_once(*later)


async def copy_elsewhere(drill: Drill) -> str:
    """Copy the database to another directory or into another database, and return its URL."""
    if isinstance(drill.place, SqlitePlace):
        path = drill.folder / "elsewhere" / "postino.db"
        path.parent.mkdir()
        shutil.copy(drill.place.path, path)
        return f"sqlite:///{path}"
    assert isinstance(drill.place, PostgresPlace)
    return await restore_into(drill, drill.place.server)


async def restore_into(drill: Drill, server: PostgresServer) -> str:
    """Dump the database, restore the dump into a new database of a server, and return its URL."""
    place = drill.place
    assert isinstance(place, PostgresPlace)
    await drill.run(place.back_up)
    url = server.create_database()
    await drill.run(lambda: restore_dump(server, place.dump, url))
    return url


async def read_events(site: Site) -> list[int]:
    """Read what is new as the listener "drill" does, and return the numbers of the events."""
    store, numbers = site.harness.app.store, list[int]()
    while True:
        cursor = await store.lease_cursor("drill", "here", 60.0, from_start=True)
        assert cursor is not None
        events = await store.events(cursor, 100)
        if not events:
            return numbers
        numbers += [event.cursor.seq for event in events]
        assert await store.move_cursor("drill", "here", events[-1].cursor)


@pytest.mark.parametrize("drill", [postgres_dump], indirect=True)
async def test_dump_in_another_cluster_asks_and_its_listeners_miss_nothing(drill: Drill) -> None:
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.stop(*site.living)
        before = await read_events(site)
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    with PostgresServer() as cluster:
        async with drill.open(await restore_into(drill, cluster)) as copy:
            await copy.start()
            await copy.wait_for_standing("asked", "place")
            await copy.expect_nothing_sent(*later)
            await copy.answer(DatabaseAnswer.MOVED)
            await copy.expect_published_once(*later)
            await copy.stop(*copy.living)
            new = await read_events(copy)
            stored = [number for [number] in copy.ask("SELECT seq FROM postino.events")]
            assert sorted(before + new) == sorted(stored), "each event once, of both clusters"
            assert new[-1] == max(stored)


@only_sqlite
async def test_disk_in_another_machine_asks(drill: Drill, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk holds the database and the state directory. The other machine has an id of its own."""
    other = drill.folder / "machine-id"
    other.write_text("another machine")
    async with drill.open() as site:
        await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    monkeypatch.setattr(sqlite_place, "MACHINE", other)  # of the person who answers
    async with drill.open() as site:
        await site.start(machine_id=str(other))
        await site.wait_for_standing("asked", "place")
        await site.expect_nothing_sent(*later)
        await site.answer(DatabaseAnswer.MOVED)
        await site.expect_published_once(*later)
