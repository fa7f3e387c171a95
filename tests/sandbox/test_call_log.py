"""The call log: beginning, end and status of each call."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import apsw
import pytest

from postino.sandbox import call_log, database
from tests.sandbox.sandbox_client import SandboxClient, run_sandbox
from tests.sandbox.scripted_calls import SCRIPTED_CALLS, ScriptedCall


@pytest.fixture
async def message(sandbox: SandboxClient) -> ScriptedCall:
    return await SCRIPTED_CALLS["telegram", "sendMessage"](sandbox)


def format_instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_call_log_has_begin_end_and_status(sandbox: SandboxClient, message: ScriptedCall) -> None:
    before = datetime.now(UTC)
    await message.send(sandbox)
    after = datetime.now(UTC)
    [row] = await sandbox.log()
    assert before <= format_instant(row.pop("began_at")) <= format_instant(row.pop("ended_at")) <= after
    assert row == {
        "seq": 1, "network": "telegram", "account": "postcard2", "endpoint": "sendMessage", "status": 200,
        "retry_after_at": None,
    }  # fmt: skip


async def test_call_in_flight_or_abandoned_has_no_end(sandbox: SandboxClient, message: ScriptedCall) -> None:
    await sandbox.fault("telegram", "timeout", times=2, params={"seconds": 30})
    calling = asyncio.create_task(message.send(sandbox))
    [row] = await sandbox.eventually(sandbox.log)
    assert (row["ended_at"], row["status"]) == (None, None)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    await sandbox.eventually(lambda: none_under_way(sandbox))
    assert await sandbox.log() == [row]


async def none_under_way(sandbox: SandboxClient) -> bool:
    body = (await sandbox.get("/_sandbox/calls")).json["data"]
    return bool(body) and all(it["in_flight"] == 0 for it in body)


@pytest.mark.parametrize(
    ("fault", "params", "status"),
    [("drop", {}, None), ("process_then_drop", {}, None), ("process_then_500", {}, 500), ("html", {"status": 503}, 503),
     ("timeout", {"seconds": 0}, 504), ("truncated", {"hang_up": True}, 200), ("truncated", {}, 200)],
)  # fmt: skip
async def test_call_log_shows_the_status_after_the_fault(
    sandbox: SandboxClient, message: ScriptedCall, fault: str, params: dict[str, Any], status: int | None
) -> None:
    await sandbox.fault("telegram", fault, params=params)
    await asyncio.gather(message.send(sandbox), return_exceptions=True)
    [row] = await sandbox.log()
    assert (row["status"], row["ended_at"] is None) == (status, False)


async def test_call_log_contains_unauthenticated_and_unknown_calls(
    sandbox: SandboxClient, message: ScriptedCall
) -> None:
    await sandbox.get("/telegram/botnobody/dance")
    await sandbox.get("/telegram/botnobody/getMe")
    await message.send(sandbox)
    body = [(it["account"], it["endpoint"], it["status"]) for it in await sandbox.log()]
    assert body == [(None, "?", 404), (None, "getMe", 401), ("postcard2", "sendMessage", 200)]
    assert len(await sandbox.log("?account=")) == 2
    assert len(await sandbox.log("?account=postcard2&network=telegram")) == 1
    assert await sandbox.log("?network=x") == []


async def test_call_log_is_paginated(sandbox: SandboxClient, message: ScriptedCall) -> None:
    for _ in range(5):
        await message.send(sandbox)
    first = (await sandbox.get("/_sandbox/calls/log?limit=3")).json
    second = (await sandbox.get(f"/_sandbox/calls/log?limit=3&after={first['next_after']}")).json
    last = (await sandbox.get(f"/_sandbox/calls/log?after={second['next_after']}")).json
    assert [it["seq"] for it in first["data"] + second["data"]] == [1, 2, 3, 4, 5]
    assert last == {"data": [], "next_after": 5}


@pytest.mark.parametrize(
    ("query", "field"),
    [("limit=0", "limit"), ("limit=10001", "limit"), ("limit=many", "limit"), ("after=-1", "after"),
     ("network=myspace", "network"), ("colour=red", "colour")],
)  # fmt: skip
async def test_invalid_log_query_is_refused_with_its_field(sandbox: SandboxClient, query: str, field: str) -> None:
    response = await sandbox.get(f"/_sandbox/calls/log?{query}")
    assert (response.status, response.json["field"]) == (422, field)


async def test_reset_clears_the_call_log_and_reuses_no_number(sandbox: SandboxClient, message: ScriptedCall) -> None:
    await message.send(sandbox)
    await sandbox.post("/_sandbox/reset")
    assert await sandbox.log() == []
    await message.send(sandbox)
    assert [it["seq"] for it in await sandbox.log()] == [2]


async def test_oldest_log_entries_are_deleted(
    sandbox: SandboxClient, message: ScriptedCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call_log.KEPT == 200_000
    monkeypatch.setattr(call_log, "KEPT", 3)
    for _ in range(5):
        await message.send(sandbox)
    assert [it["seq"] for it in await sandbox.log()] == [3, 4, 5]


async def test_call_log_survives_a_restart(tmp_path: Path) -> None:
    async with run_sandbox(tmp_path / "sandbox.db") as sandbox:
        await (await SCRIPTED_CALLS["telegram", "sendMessage"](sandbox)).send(sandbox)
        before = await sandbox.log()
    async with run_sandbox(tmp_path / "sandbox.db") as sandbox:
        assert await sandbox.log() == before != []


async def test_database_without_call_log_is_upgraded(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "sandbox.db"))
    connection.execute(Path(database.__file__).with_name("schema.sql").read_text())
    connection.execute("INSERT INTO epochs VALUES (7, 'then')")
    connection.pragma("user_version", 2)
    connection.close()
    for calls in (1, 2):
        async with run_sandbox(tmp_path / "sandbox.db") as sandbox:
            await sandbox.get("/telegram/botnobody/getMe")
            assert len(await sandbox.log()) == calls
            assert (await sandbox.get("/_sandbox/published")).json["epoch"] == 7


@pytest.mark.parametrize("fault", ["drop", "process_then_500", "timeout"])
async def test_outage_lasts_at_all_endpoints_until_removed(sandbox: SandboxClient, fault: str) -> None:
    lines = {at: await prepare(sandbox) for at, prepare in SCRIPTED_CALLS.items() if at[0] in ("mastodon", "telegram")}
    params = {"seconds": 0} if fault == "timeout" else {}
    await sandbox.fault("mastodon", fault, rate=1, params=params)
    await sandbox.fault("telegram", "drop", account="nobody", rate=1)
    expected = {"drop": None, "process_then_500": 500, "timeout": 504}[fault]
    for (network, endpoint), scripted_call in lines.items():
        status = await get_status(scripted_call, sandbox)
        assert status == expected if network == "mastodon" else status == 200, endpoint
    removed = (await sandbox.call("DELETE", "/_sandbox/faults?network=mastodon")).json
    assert removed == {"removed": 1}
    assert [it["network"] for it in (await sandbox.get("/_sandbox/faults")).json["data"]] == ["telegram"]
    assert await get_status(lines["mastodon", "verify_credentials"], sandbox) == 200
    assert (await sandbox.call("DELETE", "/_sandbox/faults?network=myspace")).json["field"] == "network"


async def get_status(scripted_call: ScriptedCall, sandbox: SandboxClient) -> int | None:
    try:
        return (await scripted_call.send(sandbox)).status
    except aiohttp.ServerDisconnectedError:
        return None
