"""Run the same calls on both clients, and provide a server for a module."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest

from postino.client import AsyncClient, Client, RetryOptions
from tests.api.processes import Process, Server

QUICK = RetryOptions(first_delay=timedelta(milliseconds=20))
KEY = "pk_live_secret"
Question = Callable[[Any], Any]


@dataclass
class ClientCaller:
    """Calls either client without blocking servers in this event loop."""

    client: Client | AsyncClient
    slept: list[float] = field(default_factory=list)

    async def __call__(self, question: Question) -> Any:
        if isinstance(self.client, Client):
            return await asyncio.to_thread(question, self.client)
        return await question(self.client)

    async def every(self, question: Question, most: int | None = None) -> list[Any]:
        """Return all items of a list or stream, or the first `most`."""
        if isinstance(self.client, Client):
            return await asyncio.to_thread(take_items, question, self.client, most)
        results: list[Any] = []
        async with aclosing(question(self.client)) as going:
            async for one in going:
                results.append(one)
                if len(results) == most:
                    break
        return results


def take_items(question: Question, client: Client, most: int | None) -> list[Any]:
    with closing(question(client)) as going:
        return [*islice(going, most)]


@dataclass
class Kind:
    """Which client to use: blocking or async."""

    name: str

    @asynccontextmanager
    async def open_caller(
        self, url: str, key: str | None = KEY, *, naps: bool = True, **more: Any
    ) -> AsyncIterator[ClientCaller]:
        """With `naps` retries sleep; otherwise the delays are only recorded."""
        slept: list[float] = []

        async def note(seconds: float) -> None:
            slept.append(seconds)

        fields: dict[str, Any] = {"retry": QUICK, **more}
        if self.name == "sync":
            client = Client(url, key, **fields | ({} if naps else {"sleep": slept.append}))
            yield ClientCaller(client, slept)
            return
        async with AsyncClient(url, key, **fields | ({} if naps else {"sleep": note})) as other:
            yield ClientCaller(other, slept)

    @asynccontextmanager
    async def of(self, process: Process, **more: Any) -> AsyncIterator[ClientCaller]:
        key = (process.folder / "api.key").read_text().strip()
        async with self.open_caller(process.ready["url"], key, **more) as open_caller:
            yield open_caller


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(request.param)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server whose sandbox is unreachable."""
    with Server(tmp_path_factory.mktemp("server") / "data", POSTINO_SANDBOX_URL="http://127.0.0.1:9") as server:
        yield server
