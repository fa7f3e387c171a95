"""The engine's app on each store, and worker processes that a test may kill."""

import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.points import EVERYTHING
from tests.crash.verdict import Runs, read_record
from tests.crash.workers import Workers, forker, workers_on
from tests.engine.conftest import app
from tests.servers.postgres import PostgresServer

__all__ = ["app"]
SWEEP = Path(__file__).parent / "test_sweep.py"
OTHER = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def migrated(postgres_server: PostgresServer) -> str:
    """The name of a database to copy: quicker than making every table again for each of a hundred tests."""
    url = postgres_server.create_database()
    postino = Path(sys.executable).parent / "postino"
    subprocess.run([postino, "migrate", "--database-url", url], check=True, capture_output=True)
    return url.rpartition("/")[2]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/postino.db"
        return
    template: str = request.getfixturevalue("migrated")
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.create_database(template)
    yield url
    server.drop_database(url)


@pytest.fixture(scope="session")
def forker_address() -> Iterator[str]:
    with forker() as address:
        yield address


@pytest.fixture
async def workers(forker_address: str, tmp_path: Path, database_url: str) -> AsyncIterator[Workers]:
    async with workers_on(forker_address, tmp_path, database_url) as workers:
        yield workers


@pytest.fixture
def runs(tmp_path: Path) -> Callable[[], Runs]:
    return lambda: read_record(tmp_path)


@pytest.fixture(scope="session")
def everything() -> bool:
    return EVERYTHING


@pytest.fixture
def chance(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> random.Random:
    """What a test leaves out this time; the same seed leaves out the same again."""
    seed = int(os.environ.get("CRASH_SEED") or time.time())
    with capsys.disabled():
        print(f"\n{request.node.name}: CRASH_SEED={seed}", file=sys.stderr)
    return random.Random(seed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each point on one store, by turns; on both where everything is wanted."""
    if EVERYTHING:
        return
    swept = [item for item in items if item.path == SWEEP and isinstance(item, pytest.Function)]
    cases = list(dict.fromkeys(case_of(item) for item in swept))
    # Not by every second: that would be `before` here and `after` there.
    others = {case: OTHER[(place + place // 2) % 2] for place, case in enumerate(cases)}
    left_out = {item for item in swept if f"[{others[case_of(item)]}-" in item.name}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


def case_of(item: pytest.Item) -> str:
    return item.name.partition("[")[2].partition("-")[2]
