"""The sandbox loses nothing it confirmed when its process is killed and restarted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.sandbox.sandbox_client import SandboxClient

pytestmark = pytest.mark.crash
Process = asyncio.subprocess.Process


async def start(folder: Path) -> tuple[Process, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "postino.sandbox", "--data-dir", str(folder), "--until-eof",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    return process, json.loads(await process.stdout.readline())["url"]


@asynccontextmanager
async def run_and_kill(folder: Path) -> AsyncIterator[tuple[Process, SandboxClient]]:
    """Run a sandbox process and kill it at the end."""
    process, url = await start(folder)
    try:
        async with aiohttp.ClientSession() as client:
            yield process, SandboxClient(url, client)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def post(sandbox: SandboxClient, credentials: dict[str, str], text: str) -> str:
    body = {"chat_id": credentials["chat_id"], "text": text}
    response = await sandbox.post(f"/telegram/bot{credentials['bot_token']}/sendMessage", body)
    return str(response.json["result"]["message_id"])


async def post_until_killed(
    sandbox: SandboxClient, credentials: dict[str, str], name: int, answered: list[str]
) -> None:
    with contextlib.suppress(aiohttp.ClientError):
        for number in range(10_000):
            text = f"{name}/{number}"
            await post(sandbox, credentials, text)
            answered.append(text)


async def test_confirmed_posts_survive_a_kill(tmp_path: Path) -> None:
    answered: list[str] = []
    async with run_and_kill(tmp_path) as (process, sandbox):
        accounts = [(await sandbox.account("telegram"))["credentials"] for _ in range(4)]
        tasks = [
            asyncio.create_task(post_until_killed(sandbox, credentials, name, answered))
            for name, credentials in enumerate(accounts)
        ]
        while len(answered) < 100:  # noqa: ASYNC110 - the server is to be killed in the middle of its work
            await asyncio.sleep(0.005)
        process.kill()
        await asyncio.gather(*tasks)
    async with run_and_kill(tmp_path) as (_, sandbox):
        texts = [it["text"] for it in await sandbox.list_published()]
        assert set(answered) <= set(texts)
        assert len(texts) == len(set(texts)) <= len(answered) + len(accounts)
        numbers = [await post(sandbox, credentials, "and on") for credentials in accounts]
        sent = [len([text for text in texts if text.startswith(f"{name}/")]) for name in range(4)]
        assert numbers == [str(count + 1) for count in sent]


@pytest.mark.parametrize("fault", ["process_then_drop", "process_then_500", "timeout", "truncated", "html"])
async def test_effect_of_a_fault_is_on_disk_before_the_response_fails(tmp_path: Path, fault: str) -> None:
    async with run_and_kill(tmp_path) as (process, sandbox):
        credentials = (await sandbox.account("telegram"))["credentials"]
        await sandbox.fault("telegram", fault, params={"seconds": 0} if fault == "timeout" else {})
        with contextlib.suppress(aiohttp.ClientError, KeyError, TypeError, ValueError):
            await post(sandbox, credentials, "hello")
        process.kill()
    async with run_and_kill(tmp_path) as (_, sandbox):
        assert [it["text"] for it in await sandbox.list_published()] == ["hello"]


async def test_faults_accounts_settings_and_counts_survive_a_kill(tmp_path: Path) -> None:
    async def read_all(sandbox: SandboxClient) -> list[Any]:
        paths = ("faults?all=1", "accounts", "settings", "calls")
        return [(await sandbox.get(f"/_sandbox/{path}")).json for path in paths]

    async with run_and_kill(tmp_path) as (process, sandbox):
        account = await sandbox.account("x")
        form = {name: account["credentials"][name] for name in ("refresh_token", "client_id")}
        form["grant_type"] = "refresh_token"
        fresh = (await sandbox.call("POST", "/x/2/oauth2/token", data=form)).json
        await sandbox.fault("x", "process_then_500", endpoint="tweets", times=2)
        await sandbox.post("/_sandbox/settings", {"x_duplicate_seconds": 60})
        auth = {"headers": {"Authorization": f"Bearer {fresh['access_token']}"}}
        assert (await sandbox.post("/x/2/tweets", {"text": "one"}, **auth)).status == 500
        before = await read_all(sandbox)
        process.kill()
    async with run_and_kill(tmp_path) as (_, sandbox):
        assert await read_all(sandbox) == before
        assert (await sandbox.call("POST", "/x/2/oauth2/token", data=form)).status == 400
        assert (await sandbox.post("/x/2/tweets", {"text": "two"}, **auth)).status == 500
        assert (await sandbox.post("/x/2/tweets", {"text": "three"}, **auth)).status == 201
        assert (await sandbox.post("/x/2/tweets", {"text": "one"}, **auth)).status == 403


async def test_sandbox_stops_with_its_parent(tmp_path: Path) -> None:
    process, _ = await start(tmp_path)
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 10) == 0


async def test_sandbox_stops_on_signal_with_calls_in_flight(tmp_path: Path) -> None:
    async with run_and_kill(tmp_path) as (process, sandbox):
        credentials = (await sandbox.account("telegram"))["credentials"]
        await sandbox.fault("telegram", "timeout")
        waiting = asyncio.create_task(post(sandbox, credentials, "hello"))
        assert len(await sandbox.eventually(sandbox.list_published)) == 1
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0
        with pytest.raises(aiohttp.ClientError):
            await waiting
