"""Fixtures for every test. Missing servers skip locally and fail in CI, with advice on how to install them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NoReturn

import pytest
from hypothesis import settings

from tests.servers import ServerMissing
from tests.servers.postgres import PostgresServer

COUNTED = "counted"
POSTGRES_FIXTURES = {"postgres_server", "postgres_url", "private_postgres"}
LONG = {"docs", "fuzz", "gates", "test_docs.py", "test_up.py"}

# Where a change is judged, it is judged by the same examples; everywhere else new ones are looked for.
settings.register_profile("judging", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("judging")


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if POSTGRES_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.postgres)
    items.sort(key=lambda item: LONG.isdisjoint(item.path.parts))  # first, so that nobody waits for them at the end


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a test has counted is told at the end, whichever process ran it."""
    for report in [*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())]:
        for name, text in getattr(report, "user_properties", ()):
            if name == COUNTED and report.when == "call":
                terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server this worker's tests share. Leave it running."""
    yield from _serve(durable=False)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a fresh, empty database on the shared server."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture
def private_postgres() -> Iterator[PostgresServer]:
    """A durable server for one test, which may stop, kill and restart it."""
    yield from _serve(durable=True)


def _serve(*, durable: bool) -> Iterator[PostgresServer]:
    try:
        server = PostgresServer(durable=durable)
    except ServerMissing as missing:
        _go_without(str(missing))
    with server:
        yield server


def _go_without(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
