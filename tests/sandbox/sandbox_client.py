"""Start a sandbox in the test's event loop, and call it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from postino.sandbox.server import serve


@dataclass
class SandboxResponse:
    """A response; `json` is None if the body is not JSON."""

    status: int
    headers: Mapping[str, str]
    text: str
    json: Any = field(default=None)


class SandboxClient:
    """A client of a running sandbox."""

    def __init__(self, url: str, client: aiohttp.ClientSession) -> None:
        self.url = url
        self.client = client

    async def call(self, method: str, path: str, **options: Any) -> SandboxResponse:
        async with self.client.request(method, self.url + path, **options) as response:
            text = (await response.read()).decode("utf-8", "replace")
            body = await response.json(content_type=None) if text and "json" in response.content_type else None
            return SandboxResponse(response.status, response.headers, text, body)

    async def get(self, path: str, **options: Any) -> SandboxResponse:
        return await self.call("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> SandboxResponse:
        return await self.call("POST", path, json=json, **options)

    async def fault(self, network: str, fault: str, **rest: Any) -> None:
        response = await self.post("/_sandbox/faults", {"network": network, "fault": fault, **rest})
        assert response.status == 201, response.text

    async def list_published(self, query: str = "") -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = (await self.get(f"/_sandbox/published{query}")).json["data"]
        return rows

    async def log(self, query: str = "") -> list[dict[str, Any]]:
        """Return the call log."""
        rows: list[dict[str, Any]] = (await self.get(f"/_sandbox/calls/log{query}")).json["data"]
        return rows

    async def eventually(self, look: Callable[[], Awaitable[Any]]) -> Any:
        """Poll until the result is true, and return it."""
        async with asyncio.timeout(10):
            while not (result := await look()):  # noqa: ASYNC110 - polls a server, there is no event
                await asyncio.sleep(0.02)
        return result

    async def account(self, network: str) -> dict[str, Any]:
        """Open a new account."""
        rows: dict[str, Any] = (await self.post("/_sandbox/accounts", {"network": network})).json
        return rows


@asynccontextmanager
async def run_sandbox(path: Path) -> AsyncIterator[SandboxClient]:
    stop = asyncio.Event()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve(path, ready=address.set_result, stop=stop))
    waiting: list[asyncio.Future[Any]] = [server, address]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    try:
        async with aiohttp.ClientSession() as client:
            client._retry_connection = False  # otherwise aiohttp repeats a GET or PUT after a lost response
            yield SandboxClient(await address, client)
    finally:
        stop.set()
        await server
