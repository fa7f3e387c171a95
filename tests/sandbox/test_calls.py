"""Calls in flight, counted over real sockets, also for clients that die or reconnect."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from itertools import pairwise
from typing import Any

from tests.sandbox.sandbox_client import SandboxClient

CALLER = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
connection.sendall(sys.argv[3].encode())
print("sent", flush=True)
connection.recv(1)
"""


def request(account: dict[str, Any], text: str = "hello") -> str:
    body = json.dumps({"chat_id": account["credentials"]["chat_id"], "text": text})
    path = f"/telegram/bot{account['credentials']['bot_token']}/sendMessage"
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n{body}"


def address(sandbox: SandboxClient) -> tuple[str, int]:
    host, _, port = sandbox.url.removeprefix("http://").rpartition(":")
    return host, int(port)


async def in_flight(sandbox: SandboxClient, account: str | None = None) -> tuple[int, int]:
    """Return the calls in flight now and at most, of an account or of the whole network."""
    body = (await sandbox.get("/_sandbox/calls")).json
    rows = body["networks"] if account is None else [it for it in body["data"] if it["account"] == account]
    return (rows[0]["in_flight"], rows[0]["max_in_flight"]) if rows else (0, 0)


async def wait_for_calls_in_flight(sandbox: SandboxClient, number: int) -> None:
    async def is_reached() -> bool:
        return (await in_flight(sandbox))[0] == number

    await sandbox.eventually(is_reached)


async def test_max_in_flight_is_counted_per_account_and_network(sandbox: SandboxClient) -> None:
    accounts = [await sandbox.account("telegram") for _ in range(4)]
    await sandbox.fault("telegram", "slow", rate=1, params={"seconds": {"min": 0.01, "max": 0.1}})
    free = {it["handle"]: asyncio.Semaphore(number + 1) for number, it in enumerate(accounts)}

    async def call(account: dict[str, Any], number: int) -> None:
        async with free[account["handle"]]:
            path, _, rest = request(account, str(number)).removeprefix("POST ").partition(" ")
            assert (await sandbox.post(path, json.loads(rest.partition("\r\n\r\n")[2]))).status == 200

    await asyncio.gather(*(call(account, number) for account in accounts for number in range(20)))
    for number, account in enumerate(accounts):
        assert await in_flight(sandbox, account["handle"]) == (0, number + 1)
    assert await in_flight(sandbox) == (0, 1 + 2 + 3 + 4)


async def test_call_of_a_killed_client_counts_until_its_connection_ends(sandbox: SandboxClient) -> None:
    account = await sandbox.account("telegram")
    await sandbox.fault("telegram", "timeout", rate=1, params={"seconds": 60})
    for death in range(1, 4):
        host, port = address(sandbox)
        caller = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CALLER, host, str(port), request(account, f"{death}"), stdout=asyncio.subprocess.PIPE
        )
        await wait_for_calls_in_flight(sandbox, 1)
        os.kill(caller.pid, signal.SIGKILL)
        await caller.wait()
        await wait_for_calls_in_flight(sandbox, 0)
    assert await in_flight(sandbox, account["handle"]) == (0, 1)
    assert await in_flight(sandbox) == (0, 1)
    assert [(it["ended_at"], it["status"]) for it in await sandbox.log()] == [(None, None)] * 3


async def test_client_that_reconnects_at_once_is_not_counted_twice(sandbox: SandboxClient) -> None:
    account = await sandbox.account("telegram")
    await sandbox.fault("telegram", "timeout", rate=1, params={"seconds": 60})
    callers = [socket.create_connection(address(sandbox)) for _ in range(20)]
    callers[0].sendall(request(account).encode())
    for leaving, coming in pairwise(callers):
        await wait_for_calls_in_flight(sandbox, 1)
        # The sandbox runs in this very loop: half a call is news already when one leaves and the other goes on.
        whole = request(account).encode()
        coming.sendall(whole[:20])
        await asyncio.sleep(0)
        leaving.close()
        coming.sendall(whole[20:])
        await wait_for_logged_calls(sandbox, callers.index(coming) + 1)
    callers[-1].close()
    assert (await in_flight(sandbox, account["handle"]))[1] == 1


async def wait_for_logged_calls(sandbox: SandboxClient, number: int) -> None:
    async def is_reached() -> bool:
        return len(await sandbox.log()) == number

    await sandbox.eventually(is_reached)
