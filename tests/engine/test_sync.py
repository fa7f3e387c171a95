"""`app.sync` for Django, Flask and scripts."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from postino import Postino, State, WrongUse
from postino.stores.records import JobFilter


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Postino]:
    app = Postino(f"sqlite:///{tmp_path}/postino.db")
    yield app
    app.sync.close()


def test_script_enqueues_and_cancels_without_a_loop(app: Postino) -> None:
    job = app.sync.enqueue("mail", {"to": "ada"}, key="k")
    assert app.sync.enqueue("mail", {"to": "ada"}, key="k").id == job.id
    assert app.sync(app.cancel(job.id, reason="changed my mind")).state is State.CANCELLED


def test_sync_enqueue_joins_a_sqlite_transaction(app: Postino, tmp_path: Path) -> None:
    app.sync(app.open())
    connection = apsw.Connection(str(tmp_path / "postino.db"))
    with connection:
        kept = app.sync.enqueue("mail", connection=connection)
    connection.execute("BEGIN")
    app.sync.enqueue("mail", connection=connection)
    connection.execute("ROLLBACK")
    assert [job.id for job in app.sync(app.store.jobs(JobFilter()))] == [kept.id]
    connection.close()


def test_second_sqlite_library_is_refused_on_an_open_file(app: Postino, tmp_path: Path) -> None:
    app.sync(app.open())
    connection = sqlite3.connect(tmp_path / "postino.db")
    with pytest.raises(WrongUse, match="own copy of the SQLite library"):
        app.sync.enqueue("mail", connection=connection)
    connection.close()


def test_process_that_only_joins_transactions_may_use_sqlite3(app: Postino, tmp_path: Path) -> None:
    app.sync(app.store.migrate())
    connection = sqlite3.connect(tmp_path / "postino.db")
    with connection:
        job = app.sync.enqueue("mail", {"to": "ada"}, key="k", connection=connection)
        assert app.sync.enqueue("mail", {"to": "ada"}, key="k", connection=connection).id == job.id
    assert connection.execute("SELECT id, state FROM postino_all_jobs").fetchall() == [(str(job.id), "pending")]
    connection.close()


def test_sync_enqueue_joins_a_postgres_transaction(postgres_url: str) -> None:
    app = Postino(postgres_url)
    app.sync(app.store.migrate())
    with psycopg.connect(postgres_url) as connection:
        kept = app.sync.enqueue("mail", {"to": "ada"}, key="k", account="a", connection=connection)
    with psycopg.connect(postgres_url) as connection:
        app.sync.enqueue("mail", {"to": "bob"}, connection=connection)
        connection.rollback()
    assert [job.id for job in app.sync(app.store.jobs(JobFilter()))] == [kept.id]
    app.sync.close()
