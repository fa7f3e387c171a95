"""A sandbox for one test with a fresh file, and one that the tests of a module share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.sandbox.sandbox_client import SandboxClient, run_sandbox


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[SandboxClient]:
    async with run_sandbox(tmp_path / "sandbox.db") as rows:
        yield rows


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_sandbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SandboxClient]:
    """Return a sandbox for sweeps, which open their own accounts."""
    async with run_sandbox(tmp_path_factory.mktemp("shared") / "sandbox.db") as rows:
        yield rows
