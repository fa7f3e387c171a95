"""An office on each store, and the simulated networks it publishes on."""

import os
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.publishing.office import Office, office_on
from tests.crash.publishing.oracle import Oracle


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with Oracle(tmp_path_factory.mktemp("sandbox")) as oracle:
        yield oracle


@pytest.fixture
async def office(
    forker_address: str,
    tmp_path: Path,
    database_url: str,
    oracle: Oracle,
    record_property: Callable[[str, object], None],
) -> AsyncIterator[Office]:
    async with office_on(forker_address, tmp_path, database_url, oracle) as office:
        yield office
        record_property("kills", office.kills)


@pytest.fixture(scope="session")
def everything() -> bool:
    """Whether to kill everywhere, as `make crash` does, or in some places of each kind, others every time."""
    return bool(os.environ.get("CRASH_EVERYTHING"))


@pytest.fixture
def chance(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> random.Random:
    """What a test leaves out this time; the same seed leaves out the same again."""
    seed = int(os.environ.get("CRASH_SEED") or time.time())
    with capsys.disabled():
        print(f"\n{request.node.name}: CRASH_SEED={seed}", file=sys.stderr)
    return random.Random(seed)
