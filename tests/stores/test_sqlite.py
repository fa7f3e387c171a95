"""Errors when a SQLite file cannot be used."""

import asyncio
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from postino import Postino
from postino.errors import StoreUnreachable, WrongUse
from postino.stores.records import NewJob
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from postino.values.job import Queue, new_id


async def test_missing_sqlite_file_is_an_error_with_advice(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match=r"There is no database at .*nowhere\.db\. Run `postino migrate`"):
        await Store(Sqlite(tmp_path / "nowhere.db")).open()


async def test_file_that_is_no_database_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "letter.db").write_text("Dear Ada, " * 200)
    with pytest.raises(StoreUnreachable, match="cannot be used"):
        await Store(Sqlite(tmp_path / "letter.db")).open()


async def test_a_callers_connection_to_a_database_without_postino(tmp_path: Path) -> None:
    job = NewJob(id=new_id(), type="t", channel="t", queue=Queue.DEFAULT, payload=b"null")
    store = Store(Sqlite(tmp_path / "postino.db"))
    for connection in (apsw.Connection(str(tmp_path / "other.db")), sqlite3.connect(tmp_path / "other.db")):
        with pytest.raises(WrongUse, match="its database has no Postino tables"):
            await store.enqueue_on(connection, [job])
        connection.close()


@pytest.mark.parametrize("library", ["apsw", "sqlite3"])
async def test_row_factory_of_the_caller_is_kept(tmp_path: Path, library: str) -> None:
    store = Store(Sqlite(tmp_path / "postino.db"))
    await store.migrate()
    connection: Any
    if library == "apsw":
        connection = apsw.Connection(str(tmp_path / "postino.db"))
        connection.row_trace = lambda cursor, row: {"first": row[0]}
    else:
        connection = sqlite3.connect(tmp_path / "postino.db")
        connection.row_factory = lambda cursor, row: {"first": row[0]}
    job = NewJob(id=new_id(), type="t", channel="t", queue=Queue.DEFAULT, payload=b"null", key="k")
    assert [(await store.enqueue_on(connection, [job]))[0].created for _ in range(2)] == [True, False]
    assert next(iter(connection.execute("SELECT 7"))) == {"first": 7}
    connection.close()


async def test_concurrent_first_uses_of_a_new_file_succeed(tmp_path: Path) -> None:
    apps = [Postino(f"sqlite:///{tmp_path}/new.db") for _ in range(10)]
    jobs = await asyncio.gather(*(app.enqueue("t", key="k") for app in apps for _ in range(3)))
    assert len({job.id for job in jobs}) == 1
    for app in apps:
        await app.close()


async def test_slow_read_times_out_and_the_next_succeeds(tmp_path: Path) -> None:
    driver = Sqlite(tmp_path / "postino.db", statement_seconds=0)
    store = Store(driver)
    await store.migrate()
    await store.open()
    try:
        job = NewJob(id=new_id(), type="t", channel="t", queue=Queue.DEFAULT, payload=b"null")
        await store.enqueue([replace(job, id=new_id()) for _ in range(2000)])
        with pytest.raises(StoreUnreachable, match="did not finish within 0 s"):
            await store.queue_depths()
        assert driver.reader is not None
        driver.reader.statement_seconds = 60
        assert sum(depth.jobs for depth in await store.queue_depths()) == 2000
    finally:
        await store.close()


async def test_new_database_and_folder_are_private_to_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "data" / "postino.db"
    store = Store(Sqlite(path))
    await store.migrate()
    await store.open()
    await store.now()
    beside = sorted(path.parent.iterdir())
    assert [one.name for one in beside] == ["postino.db", "postino.db-shm", "postino.db-wal"]
    assert {stat.S_IMODE(one.stat().st_mode) for one in beside} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await store.close()


def test_permissions_of_an_existing_folder_are_kept(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    asyncio.run(Store(Sqlite(tmp_path / "postino.db")).migrate())
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
