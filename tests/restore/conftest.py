"""One drill on each store, with a sandbox that all drills share."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import go_without, serve
from tests.contract.databases import PostgresDatabase
from tests.crash.publishing.oracle import Oracle
from tests.restore.drill import Drill
from tests.restore.places import Place, PostgresPlace, SqlitePlace
from tests.servers import ServerMissing
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_backups import check_programs


@pytest.fixture(scope="session")
def drill_postgres() -> Iterator[PostgresServer]:
    """A server that the drills stop, replace and restart, one after the other."""
    yield from serve(durable=False)


@pytest.fixture(scope="session")
def drill_template(drill_postgres: PostgresServer) -> str:
    """Return the name of a migrated database to copy, which is faster than a migration for each drill."""
    url = drill_postgres.create_database()
    database = PostgresDatabase(url)
    asyncio.run(database.store().migrate())
    database.close()
    return url.rpartition("/")[2]


@pytest.fixture(scope="session")
def drill_forker() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="postino-") as folder:
        address = f"{folder}/forker"
        command = [sys.executable, "-m", "tests.restore.forker", address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield address
            process.communicate()


@pytest.fixture(scope="session")
def drill_oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with Oracle(tmp_path_factory.mktemp("sandbox")) as oracle:
        yield oracle


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def drill(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    drill_forker: str,
    drill_oracle: Oracle,
    record_property: Callable[[str, object], None],
) -> Iterator[Drill]:
    """Return a drill; the parameter is the store, or the store and how a backup is put back."""
    store, _, way = request.param.partition(": ")
    drill = Drill(drill_forker, tmp_path, make_place(request, store, tmp_path, way), drill_oracle)
    yield drill
    record_property("kills", drill.kills)
    drill.forget_machines()
    drill.place.remove()


def make_place(request: pytest.FixtureRequest, store: str, folder: Path, way: str) -> Place:
    options = {"way": way} if way else {}
    if store == "sqlite":
        (folder / "data").mkdir()
        return SqlitePlace(folder / "data" / "postino.db", **options)
    server: PostgresServer = request.getfixturevalue("drill_postgres")
    try:
        check_programs(server)
    except ServerMissing as missing:
        go_without(str(missing))
    return PostgresPlace(server, template=request.getfixturevalue("drill_template"), **options)
