"""A sandbox in the test's own loop, on a fresh file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.sandbox.sandboxes import Sandbox, running


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with running(tmp_path / "sandbox.db") as found:
        yield found
