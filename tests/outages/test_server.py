"""The server stops, restarts, or loses one of its processes while jobs keep coming."""

import asyncio
from pathlib import Path
from typing import Literal

import asyncpg
import pytest

from postino import Postino
from tests.engine.conftest import eventually, settings
from tests.outages.flow import Flow, Logs, alarms, flowing
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("mode", ["immediate", "fast"])
async def test_a_server_that_stops_and_starts_again_loses_nothing_and_nothing_runs_twice(
    private_postgres: PostgresServer, tmp_path: Path, logs: Logs, mode: Literal["immediate", "fast"]
) -> None:
    app = Postino(settings(tmp_path, private_postgres.create_database()))
    await app.store.migrate()
    flow = Flow(app)
    async with app:
        async with flowing(flow):
            for _ in range(2):
                await asyncio.to_thread(private_postgres.restart, mode)
                await flow.back()
                await flow.more()
        await flow.check(given_back=True)
    assert alarms(logs) == []


async def test_a_backend_killed_while_it_is_busy_is_one_connection_less_and_no_more(
    app: Postino, flow: Flow, postgres_url: str, logs: Logs
) -> None:
    by_hand = await asyncpg.connect(postgres_url)
    async with flowing(flow):
        for _ in range(5):
            await kill_a_busy_one(by_hand)
            await flow.back()
    await by_hand.close()
    await flow.check(given_back=True)
    assert alarms(logs) == []


async def kill_a_busy_one(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """One that is just executing something, so that its client loses the answer."""
    killing = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'postino' AND state <> 'idle' LIMIT 1
    """
    await eventually(lambda: connection.fetch(killing))
