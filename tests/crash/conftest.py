"""The engine's app on each store, and worker processes that a test may kill."""

import asyncio
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from postino import Postino
from tests.contract.databases import PostgresDatabase
from tests.crash.points import EVERYTHING
from tests.crash.verdict import Runs, list_unreachable, read_record
from tests.crash.workers import Workers, forker, open_workers
from tests.engine.conftest import app as engine_app
from tests.servers.postgres import PostgresServer

__all__ = ["engine_app"]
SWEEP = Path(__file__).parent / "test_sweep.py"
OTHER = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def migrated_database(postgres_server: PostgresServer) -> str:
    """Return the name of a migrated database to copy, which is faster than a migration for each test.

    It has no settings yet: the workers of each test store their own.
    """
    url = postgres_server.create_database()
    database = PostgresDatabase(url)
    asyncio.run(database.store().migrate())
    database.close()
    return url.rpartition("/")[2]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/postino.db"
        return
    template: str = request.getfixturevalue("migrated_database")
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.create_database(template)
    yield url
    server.drop_database(url)


@pytest.fixture
async def app(engine_app: Postino) -> AsyncIterator[Postino]:
    """Return an application. Its workers end before it: then every job that is left can be claimed."""
    yield engine_app
    assert await list_unreachable(engine_app.store) == []


@pytest.fixture(scope="session")
def forker_address() -> Iterator[str]:
    with forker() as address:
        yield address


@pytest.fixture
async def workers(forker_address: str, tmp_path: Path, database_url: str) -> AsyncIterator[Workers]:
    async with open_workers(forker_address, tmp_path, database_url) as workers:
        yield workers


@pytest.fixture
def runs(tmp_path: Path) -> Callable[[], Runs]:
    return lambda: read_record(tmp_path)


@pytest.fixture(scope="session")
def full_sweep() -> bool:
    return EVERYTHING


@pytest.fixture
def chance(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> random.Random:
    """Return the random choice of cases; the same CRASH_SEED chooses the same cases."""
    seed = int(os.environ.get("CRASH_SEED") or time.time())
    with capsys.disabled():
        print(f"\n{request.node.name}: CRASH_SEED={seed}", file=sys.stderr)
    return random.Random(seed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each crash point on one store, by turns, or on both if CRASH_EVERYTHING is set."""
    if EVERYTHING:
        return
    sweep_items = [item for item in items if item.path == SWEEP and isinstance(item, pytest.Function)]
    cases = list(dict.fromkeys(get_case(item) for item in sweep_items))
    # Not by every second: that would be `before` here and `after` there.
    others = {case: OTHER[(place + place // 2) % 2] for place, case in enumerate(cases)}
    left_out = {item for item in sweep_items if f"[{others[get_case(item)]}-" in item.name}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


def get_case(item: pytest.Item) -> str:
    return item.name.partition("[")[2].partition("-")[2]
