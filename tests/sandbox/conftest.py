"""A sandbox in the test's own loop, on a fresh file; and one that the tests of a module share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.sandbox.running import Sandbox, running


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with running(tmp_path / "sandbox.db") as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_sandbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sandbox]:
    """For sweeps, which open accounts of their own."""
    async with running(tmp_path_factory.mktemp("shared") / "sandbox.db") as found:
        yield found
