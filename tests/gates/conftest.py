"""Workers that publish under gates, on each store, and a sandbox that no other test uses."""

import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.crash.conftest import chance, database_url, migrated_database
from tests.crash.points import EVERYTHING
from tests.crash.publishing.harness import PublishingHarness, open_harness
from tests.crash.publishing.oracle import Oracle
from tests.crash.verdict import list_unreachable

__all__ = ["chance", "database_url", "migrated_database"]
HERE = Path(__file__).parent
OTHER = ("postgres", "sqlite")


@pytest.fixture(scope="session")
def forker_address() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="postino-") as folder:
        address = f"{folder}/forker"
        command = [sys.executable, "-m", "tests.gates.forker", address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield address
            process.communicate()


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[Oracle]:
    """Run a sandbox whose counts begin with the test."""
    with Oracle(tmp_path) as oracle:
        yield oracle


@pytest.fixture
async def harness(
    forker_address: str, tmp_path: Path, database_url: str, oracle: Oracle
) -> AsyncIterator[PublishingHarness]:
    async with open_harness(forker_address, tmp_path, database_url, oracle) as harness:
        yield harness
        assert await list_unreachable(harness.app.store) == []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each test on one store, by turns, or on both if CRASH_EVERYTHING is set."""
    if EVERYTHING:
        return
    gate_tests = [item for item in items if item.path.parent == HERE and isinstance(item, pytest.Function)]
    names = list(dict.fromkeys(item.originalname for item in gate_tests))
    left_out = [item for item in gate_tests if OTHER[names.index(item.originalname) % 2] in item.name.partition("[")[2]]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
