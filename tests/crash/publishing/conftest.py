"""A publishing harness on each store, and the simulated networks it publishes to."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.publishing.harness import PublishingHarness, open_harness
from tests.crash.publishing.oracle import Oracle
from tests.crash.verdict import list_unreachable


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with Oracle(tmp_path_factory.mktemp("sandbox")) as oracle:
        yield oracle


@pytest.fixture
async def harness(
    forker_address: str,
    tmp_path: Path,
    database_url: str,
    oracle: Oracle,
    record_property: Callable[[str, object], None],
) -> AsyncIterator[PublishingHarness]:
    oracle.remove_faults()  # what another test left behind befalls nobody here
    async with open_harness(forker_address, tmp_path, database_url, oracle) as harness:
        yield harness
        assert await list_unreachable(harness.app.store) == []
        record_property("kills", harness.kills)
