"""`POST /v1/forecast`: the same result as the command, and nothing is queued."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postino import Job, Postino
from postino.config import load_config
from postino.forecast.forecast import make_forecast
from postino.forecast.request import ForecastRequest
from postino.values.gate import Scope
from postino.wiring import load_channel_limits
from tests.api.processes import Server


def soon(**later: float) -> str:
    return (datetime.now(UTC) + timedelta(**later)).isoformat()


@pytest.fixture(scope="module")
def jobs(server: Server) -> list[Job]:
    async def put(folder: Path) -> list[Job]:
        async with Postino(load_config(folder, environment={})) as app:
            at = datetime.now(UTC) + timedelta(hours=1)
            return [await app.enqueue("report", channel="instagram", account="m1", at=at) for _ in range(2)]

    return asyncio.run(put(server.folder))


def test_forecast_lists_what_would_run_when(server: Server, jobs: list[Job]) -> None:
    reply = server.api.ask("POST", "/v1/forecast", {"until": soon(hours=2), "seconds_per_job": 30})
    assert reply.status == 200
    body = reply.json
    assert [it["id"] for it in body["started_jobs"]] == [str(job.id) for job in jobs]
    assert [round(it["delay_seconds"]) for it in body["started_jobs"]] == [0, 30]
    assert body["started_jobs"][1]["waited_for"][0]["kind"] == "turn"
    assert body["totals"] == [
        {
            "channel": "instagram",
            "started": 2,
            "unstarted": 0,
            "max_delay_seconds": body["started_jobs"][1]["delay_seconds"],
        }
    ]


def test_times_may_be_local(server: Server, jobs: list[Job]) -> None:
    local = (datetime.now(UTC) + timedelta(hours=11)).replace(tzinfo=None).isoformat()
    reply = server.api.ask("POST", "/v1/forecast", {"until": local, "timezone": "Asia/Tokyo"})
    assert (reply.status, len(reply.json["started_jobs"])) == (200, len(jobs))


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "until"),
        ({"until": "2020-01-01T00:00Z"}, "until"),
        ({"until": "soon"}, "until"),
        ({"until": 7}, "until"),
        ({"until": soon(hours=2), "timezone": "Europe/Roma"}, "timezone"),
        ({"until": soon(hours=2), "from": "2020-01-01T00:00Z"}, "from"),
        ({"until": soon(hours=2), "channel": "mastodn"}, "channel"),
        ({"until": soon(hours=2), "brand": "nobody"}, "brand"),
        ({"until": soon(hours=2), "workers": -1}, "workers"),
        ({"until": soon(hours=2), "seconds_per_job": 0}, "seconds_per_job"),
        ({"until": soon(hours=2), "untill": "x"}, "untill"),
    ],
)
def test_invalid_field_is_named(server: Server, jobs: list[Job], wrong: dict[str, Any], field: str) -> None:
    reply = server.api.ask("POST", "/v1/forecast", wrong)
    assert (reply.status, reply.json["field"]) == (422, field), reply.json


async def test_forecast_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """A forecast of a thousand workers with blocked jobs would take hours without a limit."""
    played: list[int] = []
    async with Postino(load_config(tmp_path, environment={})) as app:
        await app.enqueue("report", channel="instagram", account="m1")
        await app.gate_control.pause(Scope.CHANNEL, "instagram", reason="", actor="test")
        window = {"scope": "all", "start": "01:00", "end": "02:00", "timezone": "UTC"}
        await app.gate_control.save_blackout(await app.gate_control.draft_blackout(window), actor="test")
        request = ForecastRequest(
            until_at=datetime.now(UTC) + timedelta(days=300),
            workers=1000,
            channel_limits=load_channel_limits(app.config),
        )
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await make_forecast(app.store, request, lambda done, _: played.append(done))
        await asyncio.sleep(0)
        count = len(played)
        await asyncio.to_thread(threading.Event().wait, 0.3)
        assert len(played) <= count + 1, "it goes on although nobody waits for it"
