"""Nothing comes back any more, and nobody says why: a machine that is gone, a wire that is pulled out."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from postino import Postino
from postino.errors import StoreUnreachable
from tests.engine.conftest import eventually, settings
from tests.outages.flow import Flow, Logs, alarms, flowing, told
from tests.servers.proxy import Proxy


@pytest.fixture
async def app(proxy: Proxy, postgres_url: str, tmp_path: Path) -> AsyncIterator[Postino]:
    """It waits half a second for a statement."""
    plain = settings(tmp_path, proxy.url(postgres_url))
    app = Postino(replace(plain, database=replace(plain.database, statement_timeout=0.5)))
    await app.store.migrate()
    async with app:
        yield app


async def test_connections_that_fall_silent_are_given_up_and_the_next_ones_are_used(
    flow: Flow, proxy: Proxy, logs: Logs
) -> None:
    async with flowing(flow):
        proxy.freeze()
        with pytest.raises(StoreUnreachable, match="does not answer"):
            await flow.app.store.workers()
        await eventually(lambda: told(logs, "store.unreachable"))
        proxy.fail_over()
        await flow.more()
    await flow.check(given_back=True)
    assert alarms(logs) == []
