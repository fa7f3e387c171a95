"""An office whose workers keep gates, on each store, and simulated networks that know of no other test."""

import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.crash.conftest import chance, database_url, migrated
from tests.crash.publishing.office import Office, office_on
from tests.crash.publishing.oracle import Oracle

__all__ = ["chance", "database_url", "migrated"]


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
    """Its counts and its clock begin with the test."""
    with Oracle(tmp_path) as oracle:
        yield oracle


@pytest.fixture
async def office(forker_address: str, tmp_path: Path, database_url: str, oracle: Oracle) -> AsyncIterator[Office]:
    async with office_on(forker_address, tmp_path, database_url, oracle) as office:
        yield office
