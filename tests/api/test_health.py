"""Health checks: strangers may send them at any rate."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from postino import Postino
from postino.api import health
from postino.api.shared_call import SharedCall
from postino.config import Config, DatabaseConfig
from tests.api.asgi import run_api


async def test_concurrent_readiness_checks_ask_the_database_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run_api(tmp_path) as api:
        asked, leave, read = 0, asyncio.Event(), health.read_state

        async def read_slowly(app: Postino) -> dict[str, Any]:
            nonlocal asked
            asked += 1
            await leave.wait()
            return await read(app)

        monkeypatch.setattr(health, "read_state", read_slowly)
        checks = [asyncio.create_task(api.ask("GET", "/health/ready", authorization="")) for _ in range(50)]
        for _ in range(100):
            await asyncio.sleep(0)
        assert (await api.ask("GET", "/health/live", authorization="")).status == 200
        leave.set()
        assert [reply.status for reply in await asyncio.gather(*checks)] == [200] * 50
        assert asked == 1
        assert (await api.ask("GET", "/health/ready", authorization="")).json["status"] == "ready"
        assert asked == 2


async def test_shared_call_survives_whoever_started_it() -> None:
    call, leave = SharedCall[int](), asyncio.Event()

    async def work() -> int:
        await leave.wait()
        return 7

    first, second = asyncio.create_task(call.join(work)), asyncio.create_task(call.join(work))
    await asyncio.sleep(0)
    first.cancel()
    leave.set()
    assert await second == 7


async def test_readiness_says_since_when_an_open_transaction_delays_events(postgres_url: str, tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path, database=DatabaseConfig(url=postgres_url, transaction_warning=0.0))
    app, other = Postino(config), await asyncpg.connect(postgres_url)
    await app.store.migrate()
    async with app:
        await other.execute("BEGIN; SELECT pg_current_xact_id()")
        begun_at = await other.fetchval("SELECT to_json(now()) #>> '{}'")
        await app.pause("brand", "acme")
        delayed = await health.read_state(app)
        await other.execute("ROLLBACK")
        await other.close()
        assert datetime.fromisoformat(delayed["events_delayed_since"]) == datetime.fromisoformat(begun_at)
        # PostgreSQL's own work may be in a transaction now.
        assert (await health.read_state(app)).get("events_delayed_since") != delayed["events_delayed_since"]
