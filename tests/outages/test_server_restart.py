"""The server stops, restarts, or loses one of its processes while jobs keep coming."""

import asyncio
from pathlib import Path
from typing import Literal

import asyncpg
import pytest

from postino import Postino
from tests.engine.conftest import make_config, wait_for
from tests.outages.job_flow import Flow, Logs, find_alarms, run_flow
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("mode", ["immediate", "fast"])
async def test_server_restart_loses_and_repeats_no_job(
    private_postgres: PostgresServer, tmp_path: Path, logs: Logs, mode: Literal["immediate", "fast"]
) -> None:
    app = Postino(make_config(tmp_path, private_postgres.create_database()))
    await app.store.migrate()
    flow = Flow(app)
    async with app:
        async with run_flow(flow):
            for _ in range(2):
                await asyncio.to_thread(private_postgres.restart, mode)
                await flow.check_recovery()
                await flow.wait_for_starts()
        await flow.check(given_back=True)
    assert find_alarms(logs) == []


async def test_killed_backend_costs_one_connection(app: Postino, flow: Flow, postgres_url: str, logs: Logs) -> None:
    by_hand = await asyncpg.connect(postgres_url)
    async with run_flow(flow):
        for _ in range(5):
            await kill_a_busy_one(by_hand)
            await flow.check_recovery()
    await by_hand.close()
    await flow.check(given_back=True)
    assert find_alarms(logs) == []


async def kill_a_busy_one(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Kill a backend that is executing a query, so that its client loses the response."""
    killing = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'postino' AND state <> 'idle' LIMIT 1
    """
    await wait_for(lambda: connection.fetch(killing))
