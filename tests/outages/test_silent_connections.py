"""Connections fall silent without being closed: a machine that is gone, a cable that is unplugged."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from postino import Postino
from postino.errors import StoreUnreachable
from tests.engine.conftest import make_config, wait_for
from tests.outages.job_flow import Flow, Logs, find_alarms, is_logged, run_flow
from tests.servers.proxy import Proxy


@pytest.fixture
async def app(proxy: Proxy, postgres_url: str, tmp_path: Path) -> AsyncIterator[Postino]:
    """An app whose statements time out after half a second."""
    plain = make_config(tmp_path, proxy.url(postgres_url))
    app = Postino(replace(plain, database=replace(plain.database, statement_timeout=0.5)))
    await app.store.migrate()
    async with app:
        yield app


async def test_silent_connections_are_replaced(flow: Flow, proxy: Proxy, logs: Logs) -> None:
    async with run_flow(flow):
        proxy.freeze()
        with pytest.raises(StoreUnreachable, match="does not respond"):
            await flow.app.store.workers()
        await wait_for(lambda: is_logged(logs, "store.unreachable"))
        proxy.fail_over()
        await flow.wait_for_starts()
    await flow.check(given_back=True)
    assert find_alarms(logs) == []
