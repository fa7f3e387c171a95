"""Python client of the Postino API: `Client` for blocking code, `AsyncClient` for asyncio.

Both share one definition of every request. They retry only requests that are safe to repeat: GET requests and
requests with an idempotency key.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Self

from postino.client.api import Api
from postino.client.endpoints import AsyncHttpSession, HttpSession
from postino.client.errors import ApiUnavailable, NotAllowed
from postino.client.retry import RetryOptions
from postino.client.transport import HttpTransport, parse_server

__all__ = ["Api", "ApiUnavailable", "AsyncClient", "Client", "NotAllowed", "RetryOptions"]

TIMEOUT = timedelta(seconds=30)  # without any data
DEFAULT_RETRY = RetryOptions()


class Client(Api[HttpSession]):
    """A blocking client. Threads may share one. Each request opens its own connection, so there is nothing to close.

    `Client("http://127.0.0.1:8700", key="…").posts.create(text="Hello", accounts=["bluesky:ada.example.org"])`
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: timedelta = TIMEOUT,
        retry: RetryOptions = DEFAULT_RETRY,
        jitter: Callable[[], float] = random.random,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        server = parse_server(url, key, timeout.total_seconds())
        super().__init__(HttpSession(HttpTransport(server), retry, jitter, sleep))

    def __repr__(self) -> str:
        return f"Client({self.session.transport.server.url!r})"


class AsyncClient(Api[AsyncHttpSession]):
    """An asyncio client with the same methods: `await` calls, `async for` lists. Use `async with` to close it."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: timedelta = TIMEOUT,
        retry: RetryOptions = DEFAULT_RETRY,
        jitter: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        from postino.client.async_transport import AsyncHttpTransport

        server = parse_server(url, key, timeout.total_seconds())
        super().__init__(AsyncHttpSession(AsyncHttpTransport(server), retry, jitter, sleep))

    async def close(self) -> None:
        """Close the connections of this client."""
        await self.session.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.session.transport.server.url!r})"
