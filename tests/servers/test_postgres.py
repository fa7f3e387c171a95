"""The private PostgreSQL server behaves as the tests that use it expect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.servers import ServerMissing, postgres
from tests.servers.postgres import PostgresServer

ROOT = Path(__file__).parents[2]

RUN_THAT_WAITS = """
import time
from tests.servers.postgres import PostgresServer
with PostgresServer() as server:
    print(server.pid, server.directory, flush=True)
    time.sleep(60)
"""


def count_notes(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM notes").fetchone()
    assert row is not None
    return int(row[0])


def write_note(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS notes (id int)")
        connection.execute("INSERT INTO notes VALUES (1)")


def test_every_test_gets_an_empty_database_of_its_own(postgres_server: PostgresServer, postgres_url: str) -> None:
    write_note(postgres_url)
    with postgres_server.database() as other:
        assert other != postgres_url
        with psycopg.connect(other) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert tables == []


def test_a_database_can_be_copied_from_a_template(postgres_server: PostgresServer, postgres_url: str) -> None:
    write_note(postgres_url)
    copy = postgres_server.create_database(template=postgres_url.rpartition("/")[2])
    assert count_notes(copy) == 1
    postgres_server.drop_database(copy)


def test_a_database_is_dropped_despite_open_connections(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    with psycopg.connect(url) as connection:
        postgres_server.drop_database(url)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


@pytest.mark.crash
def test_committed_data_survives_a_stop_and_a_kill(private_postgres: PostgresServer) -> None:
    url = private_postgres.create_database()
    write_note(url)
    private_postgres.restart()
    assert count_notes(url) == 1

    write_note(url)
    private_postgres.restart("immediate")
    assert count_notes(url) == 2

    write_note(url)
    private_postgres.kill()
    assert not private_postgres.running
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    private_postgres.start()
    assert count_notes(url) == 3


def test_the_server_for_crash_tests_writes_to_disk_before_it_responds(private_postgres: PostgresServer) -> None:
    with psycopg.connect(private_postgres.url) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            assert connection.execute(f"SHOW {setting}").fetchone() == ("on",)


@pytest.mark.crash
@pytest.mark.postgres
@pytest.mark.skipif(sys.platform != "linux", reason="a parent-death signal needs Linux")
def test_killed_test_run_ends_its_server(postgres_server: PostgresServer) -> None:
    with subprocess.Popen([sys.executable, "-c", RUN_THAT_WAITS], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        pid, directory = run.stdout.readline().split()
        assert psutil.pid_exists(int(pid))
        run.kill()
    try:
        wait_until_gone(int(pid))
    finally:
        subprocess.run(["rm", "-rf", directory], check=True)


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGQUIT)
            pytest.fail("the server outlived its run")
        time.sleep(0.02)


def test_the_test_run_removes_its_servers_and_files(postgres_server: PostgresServer) -> None:
    with PostgresServer() as server:
        pid, directory = server.pid, server.directory
    assert not psutil.pid_exists(pid)
    assert not directory.exists()


def test_a_missing_server_is_explained_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(postgres, "Path", lambda *_: tmp_path)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ServerMissing, match="apt-get install postgresql"):
        PostgresServer()
