"""What a test needs to talk to the sandbox: its address, a client, and calls that work on every endpoint."""

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
class Answered:
    """What came back. `json` is None where there is none."""

    status: int
    headers: Mapping[str, str]
    text: str
    json: Any = field(default=None)


class Sandbox:
    """A running sandbox, and a client of it."""

    def __init__(self, url: str, client: aiohttp.ClientSession) -> None:
        self.url = url
        self.client = client

    async def call(self, method: str, path: str, **options: Any) -> Answered:
        async with self.client.request(method, self.url + path, **options) as answer:
            text = (await answer.read()).decode("utf-8", "replace")
            told = await answer.json(content_type=None) if text and "json" in answer.content_type else None
            return Answered(answer.status, answer.headers, text, told)

    async def get(self, path: str, **options: Any) -> Answered:
        return await self.call("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> Answered:
        return await self.call("POST", path, json=json, **options)

    async def fault(self, network: str, fault: str, **rest: Any) -> None:
        answer = await self.post("/_sandbox/faults", {"network": network, "fault": fault, **rest})
        assert answer.status == 201, answer.text

    async def published(self, query: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.get(f"/_sandbox/published{query}")).json["data"]
        return found

    async def log(self, query: str = "") -> list[dict[str, Any]]:
        """The clock of calls."""
        found: list[dict[str, Any]] = (await self.get(f"/_sandbox/calls/log{query}")).json["data"]
        return found

    async def eventually(self, look: Callable[[], Awaitable[Any]]) -> Any:
        """What is seen once something is."""
        async with asyncio.timeout(10):
            while not (seen := await look()):  # noqa: ASYNC110 - a server is asked, not an event of ours
                await asyncio.sleep(0.02)
        return seen

    async def account(self, network: str) -> dict[str, Any]:
        """A new one."""
        found: dict[str, Any] = (await self.post("/_sandbox/accounts", {"network": network})).json
        return found


@asynccontextmanager
async def running(path: Path) -> AsyncIterator[Sandbox]:
    stop = asyncio.Event()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve(path, ready=address.set_result, stop=stop))
    waiting: list[asyncio.Future[Any]] = [server, address]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    try:
        async with aiohttp.ClientSession() as client:
            client._retry_connection = False  # otherwise it repeats a GET or PUT whose answer is lost, by itself
            yield Sandbox(await address, client)
    finally:
        stop.set()
        await server
