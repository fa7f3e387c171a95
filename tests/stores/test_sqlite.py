"""What a person is told when a SQLite file cannot be used."""

import sqlite3
from pathlib import Path

import apsw
import pytest

from postino.errors import StoreUnreachable, WrongUse
from postino.job import Queue, new_id
from postino.store import NewJob
from postino.stores.sql_store import SqlStore
from postino.stores.sqlite import Sqlite


async def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match=r"There is no database at .*nowhere\.db\. `postino migrate` makes one"):
        await SqlStore(Sqlite(tmp_path / "nowhere.db")).open()


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "letter.db").write_text("Dear Ada, " * 200)
    with pytest.raises(StoreUnreachable, match="cannot be used"):
        await SqlStore(Sqlite(tmp_path / "letter.db")).open()


async def test_a_callers_connection_to_a_database_without_postino(tmp_path: Path) -> None:
    job = NewJob(id=new_id(), type="t", channel="t", queue=Queue.DEFAULT, payload=b"null")
    store = SqlStore(Sqlite(tmp_path / "postino.db"))
    for connection in (apsw.Connection(str(tmp_path / "other.db")), sqlite3.connect(tmp_path / "other.db")):
        with pytest.raises(WrongUse, match="there is no Postino in its database"):
            await store.enqueue_on(connection, [job])
        connection.close()
