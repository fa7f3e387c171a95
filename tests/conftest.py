"""Fixtures for every test. Missing servers skip locally and fail in CI, with advice on how to install them."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

from tests.contract.databases import PostgresDatabase
from tests.servers import ServerMissing
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer

COUNTED = "counted"
MEMORY = Path("/dev/shm")
POSTGRES_FIXTURES = {"postgres_server", "postgres_url", "postgres_database", "private_postgres", "bouncer"}
LONG = {"docs", "fuzz", "gates", "test_docs.py", "test_up.py"}

# Where a change is judged, it is judged by the same examples; everywhere else new ones are looked for.
settings.register_profile("judging", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("judging")


@pytest.fixture(scope="session", autouse=True)
def state_dir() -> Iterator[Path]:
    """Keep what processes remember outside their databases in a directory of the run, in memory where there is one."""
    with tempfile.TemporaryDirectory(prefix="postino-state-", dir=MEMORY if MEMORY.exists() else None) as folder:
        os.environ["POSTINO_STATE_DIR"] = folder
        yield Path(folder)
        del os.environ["POSTINO_STATE_DIR"]


@pytest.fixture(autouse=True)
def forget_databases(state_dir: Path) -> Iterator[None]:
    """Remove what processes remember of the databases of one test: some megabytes for each process that published."""
    yield
    for folder in ("witness", "audit"):
        shutil.rmtree(state_dir / folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if POSTGRES_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.postgres)
    items.sort(key=lambda item: LONG.isdisjoint(item.path.parts))  # first, so that nobody waits for them at the end


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print at the end what the tests have counted, whichever process ran them."""
    for report in [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]:
        for name, text in getattr(report, "user_properties", ()):
            if name == COUNTED and report.when == "call":
                terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server this worker's tests share. Leave it running."""
    yield from serve(durable=False)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a fresh, empty database on the shared server."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_database(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    """Create a migrated database for all tests; emptying it is twenty times faster than copying a template."""
    maintenance = PostgresDatabase(postgres_server.url)
    # Readers of events stay below the oldest running transaction, and an ANALYZE by the server itself would be one.
    maintenance.sql("ALTER SYSTEM SET autovacuum = off")
    maintenance.sql("SELECT pg_reload_conf()")
    maintenance.close()
    database = PostgresDatabase(postgres_server.create_database())
    asyncio.run(database.store().migrate())
    yield database
    database.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def new_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a new database on each store, for one test."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/postino.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def private_postgres() -> Iterator[PostgresServer]:
    """A durable server for one test, which may stop, kill and restart it."""
    yield from serve(durable=True)


@pytest.fixture(scope="session")
def bouncer(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    """PgBouncer in transaction mode, in front of the shared server."""
    try:
        bouncer = PgBouncer(postgres_server.url)
    except ServerMissing as missing:
        go_without(str(missing))
    with bouncer:
        yield bouncer


def serve(*, durable: bool) -> Iterator[PostgresServer]:
    """Yield a running server."""
    try:
        server = PostgresServer(durable=durable)
    except ServerMissing as missing:
        go_without(str(missing))
    with server:
        yield server


def go_without(reason: str) -> NoReturn:
    """Skip the test, or fail it in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
