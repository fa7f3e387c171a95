"""The clock of calls: who called when, what was answered and when, and what the oldest make room for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import apsw
import pytest

from postino.sandbox import call_log, database
from tests.sandbox.running import Sandbox, running
from tests.sandbox.scripts import LINES, Line


@pytest.fixture
async def message(sandbox: Sandbox) -> Line:
    return await LINES["telegram", "sendMessage"](sandbox)


def format_instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_a_call_is_there_with_its_beginning_its_end_and_its_answer(sandbox: Sandbox, message: Line) -> None:
    before = datetime.now(UTC)
    await message.send(sandbox)
    after = datetime.now(UTC)
    [row] = await sandbox.log()
    assert before <= format_instant(row.pop("began_at")) <= format_instant(row.pop("ended_at")) <= after
    assert row == {
        "seq": 1, "network": "telegram", "account": "postcard2", "endpoint": "sendMessage", "status": 200,
        "retry_after_at": None,
    }  # fmt: skip


async def test_a_call_under_way_has_no_end_nor_has_one_whose_caller_left(sandbox: Sandbox, message: Line) -> None:
    await sandbox.fault("telegram", "timeout", times=2, params={"seconds": 30})
    calling = asyncio.create_task(message.send(sandbox))
    [row] = await sandbox.eventually(sandbox.log)
    assert (row["ended_at"], row["status"]) == (None, None)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    await sandbox.eventually(lambda: none_under_way(sandbox))
    assert await sandbox.log() == [row]


async def none_under_way(sandbox: Sandbox) -> bool:
    told = (await sandbox.get("/_sandbox/calls")).json["data"]
    return bool(told) and all(it["in_flight"] == 0 for it in told)


@pytest.mark.parametrize(
    ("fault", "params", "status"),
    [("drop", {}, None), ("process_then_drop", {}, None), ("process_then_500", {}, 500), ("html", {"status": 503}, 503),
     ("timeout", {"seconds": 0}, 504), ("truncated", {"hang_up": True}, 200), ("truncated", {}, 200)],
)  # fmt: skip
async def test_what_a_fault_made_of_the_answer_is_what_the_clock_shows(
    sandbox: Sandbox, message: Line, fault: str, params: dict[str, Any], status: int | None
) -> None:
    await sandbox.fault("telegram", fault, params=params)
    await asyncio.gather(message.send(sandbox), return_exceptions=True)
    [row] = await sandbox.log()
    assert (row["status"], row["ended_at"] is None) == (status, False)


async def test_strangers_and_calls_that_are_not_understood_are_there_too(sandbox: Sandbox, message: Line) -> None:
    await sandbox.get("/telegram/botnobody/dance")
    await sandbox.get("/telegram/botnobody/getMe")
    await message.send(sandbox)
    told = [(it["account"], it["endpoint"], it["status"]) for it in await sandbox.log()]
    assert told == [(None, "?", 404), (None, "getMe", 401), ("postcard2", "sendMessage", 200)]
    assert len(await sandbox.log("?account=")) == 2
    assert len(await sandbox.log("?account=postcard2&network=telegram")) == 1
    assert await sandbox.log("?network=x") == []


async def test_it_is_read_page_by_page(sandbox: Sandbox, message: Line) -> None:
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
async def test_a_question_that_cannot_be_is_refused_by_its_field(sandbox: Sandbox, query: str, field: str) -> None:
    answer = await sandbox.get(f"/_sandbox/calls/log?{query}")
    assert (answer.status, answer.json["field"]) == (422, field)


async def test_a_reset_clears_it_and_no_number_comes_twice(sandbox: Sandbox, message: Line) -> None:
    await message.send(sandbox)
    await sandbox.post("/_sandbox/reset")
    assert await sandbox.log() == []
    await message.send(sandbox)
    assert [it["seq"] for it in await sandbox.log()] == [2]


async def test_the_oldest_make_room(sandbox: Sandbox, message: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call_log.KEPT == 200_000
    monkeypatch.setattr(call_log, "KEPT", 3)
    for _ in range(5):
        await message.send(sandbox)
    assert [it["seq"] for it in await sandbox.log()] == [3, 4, 5]


async def test_it_outlives_the_sandbox(tmp_path: Path) -> None:
    async with running(tmp_path / "sandbox.db") as sandbox:
        await (await LINES["telegram", "sendMessage"](sandbox)).send(sandbox)
        before = await sandbox.log()
    async with running(tmp_path / "sandbox.db") as sandbox:
        assert await sandbox.log() == before != []


async def test_a_sandbox_from_before_it_had_a_clock_goes_on(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "sandbox.db"))
    connection.execute(Path(database.__file__).with_name("schema.sql").read_text())
    connection.execute("INSERT INTO epochs VALUES (7, 'then')")
    connection.pragma("user_version", 2)
    connection.close()
    for calls in (1, 2):
        async with running(tmp_path / "sandbox.db") as sandbox:
            await sandbox.get("/telegram/botnobody/getMe")
            assert len(await sandbox.log()) == calls
            assert (await sandbox.get("/_sandbox/published")).json["epoch"] == 7


@pytest.mark.parametrize("fault", ["drop", "process_then_500", "timeout"])
async def test_a_network_that_is_down_is_down_everywhere_until_it_is_let_up_again(sandbox: Sandbox, fault: str) -> None:
    lines = {at: await prepare(sandbox) for at, prepare in LINES.items() if at[0] in ("mastodon", "telegram")}
    params = {"seconds": 0} if fault == "timeout" else {}
    await sandbox.fault("mastodon", fault, rate=1, params=params)
    await sandbox.fault("telegram", "drop", account="nobody", rate=1)
    expected = {"drop": None, "process_then_500": 500, "timeout": 504}[fault]
    for (network, endpoint), line in lines.items():
        status = await status_of(line, sandbox)
        assert status == expected if network == "mastodon" else status == 200, endpoint
    removed = (await sandbox.call("DELETE", "/_sandbox/faults?network=mastodon")).json
    assert removed == {"removed": 1}
    assert [it["network"] for it in (await sandbox.get("/_sandbox/faults")).json["data"]] == ["telegram"]
    assert await status_of(lines["mastodon", "verify_credentials"], sandbox) == 200
    assert (await sandbox.call("DELETE", "/_sandbox/faults?network=myspace")).json["field"] == "network"


async def status_of(line: Line, sandbox: Sandbox) -> int | None:
    try:
        return (await line.send(sandbox)).status
    except aiohttp.ServerDisconnectedError:
        return None
