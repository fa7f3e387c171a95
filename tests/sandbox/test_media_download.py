"""Networks that fetch media themselves make the sandbox send no request to anybody."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from postino.outbound.http import OutboundHttp
from postino.sandbox.networks import networks
from tests.outbound.raw_server import RawServer, Visit
from tests.sandbox.sandbox_client import SandboxClient

FETCHING = sorted(
    (network.name, endpoint.name)
    for network in networks().values()
    for endpoint in network.endpoints
    if endpoint.fetches is not None
)


class Canary:
    """A server that counts its connections."""

    def __init__(self) -> None:
        self.connections = 0

    def count(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.close()


@contextlib.asynccontextmanager
async def open_canary() -> AsyncIterator[tuple[Canary, int]]:
    canary = Canary()
    async with await asyncio.start_server(canary.count, "127.0.0.1", 0) as server:
        yield canary, server.sockets[0].getsockname()[1]


async def send_url(sandbox: SandboxClient, network: str, endpoint: str, url: str) -> int:
    """Call an endpoint that fetches a URL, and return the status."""
    account = await sandbox.account(network)
    token, remote = account["credentials"], account["remote_id"]
    calls: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
        ("telegram", "sendPhoto"): (
            f"/telegram/bot{token.get('bot_token')}/sendPhoto",
            {"chat_id": remote, "photo": url},
        ),
        ("telegram", "sendMediaGroup"): (
            f"/telegram/bot{token.get('bot_token')}/sendMediaGroup",
            {"chat_id": remote, "media": [{"type": "photo", "media": it} for it in (url, url + "?2")]},
        ),
        ("instagram", "media"): (
            f"/instagram/{remote}/media",
            {"image_url": url, "access_token": token.get("access_token")},
        ),
    }
    path, body = calls[network, endpoint]
    return (await sandbox.post(path, body)).status


@pytest.mark.parametrize(("network", "endpoint"), FETCHING)
async def test_sandbox_connects_to_nobody_for_a_url(sandbox: SandboxClient, network: str, endpoint: str) -> None:
    """The endpoints are those of the route table: a new one that fetches needs a call above."""
    async with open_canary() as (canary, port):
        own = sandbox.url.rpartition(":")[2]
        for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "x.localhost", "10.0.0.1", "127.1"):
            assert await send_url(sandbox, network, endpoint, f"http://{host}:{port}/a.jpg") == 400, host
        for path in ("/_sandbox/published", "/_sandbox/reset", "/telegram/bot1:2/getMe", "/_sandbox/media/../reset"):
            assert await send_url(sandbox, network, endpoint, f"http://127.0.0.1:{own}{path}") == 400, path
        assert await send_url(sandbox, network, endpoint, f"{sandbox.url}/_sandbox/media/sample.jpg") == 200
        assert await send_url(sandbox, network, endpoint, f"http://nobody.invalid:{port}/a.jpg") == 200
        assert canary.connections == 0
    log = await sandbox.log()
    assert {entry["endpoint"] for entry in log} == {endpoint}, "the sandbox calls not even itself"


@pytest.mark.parametrize("redirects", [False, True])
async def test_media_url_calls_no_network_of_the_sandbox(sandbox: SandboxClient, redirects: bool) -> None:
    account = await sandbox.account("telegram")
    token, chat = account["credentials"]["bot_token"], account["remote_id"]
    url = f"{sandbox.url}/telegram/bot{token}/sendMessage?chat_id={chat}&text=forged"

    async def redirect(visit: Visit) -> None:
        await visit.request()
        await visit.answer(302, Location=url)

    async with RawServer(redirect) as host, OutboundHttp(allowed_origins=[host.url, sandbox.url]) as outbound:
        media = outbound.open(timeout=timedelta(seconds=5), visible=False)
        assert (await media.fetch(host.url if redirects else url, most=1000)).status == 403
        assert (await media.fetch(f"{sandbox.url}/_sandbox/media/sample.jpg", most=1_000_000)).ok
    assert await sandbox.list_published() == []
