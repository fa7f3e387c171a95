"""Postino over the wire, for programs: `Client` waits for its answers, `AsyncClient` awaits them.

One description of every request serves both. Repeated is only what does no harm twice: questions, and what carries an
idempotency key.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Self

from postino.client.house import House
from postino.client.refusals import NotAllowed, Unanswered
from postino.client.retrying import Patience
from postino.client.transports import Blocking, server_at
from postino.client.ways import AsyncTalker, Talker

__all__ = ["AsyncClient", "Client", "House", "NotAllowed", "Patience", "Unanswered"]

TIMEOUT = timedelta(seconds=30)
PATIENT = Patience()


class Client(House[Talker]):
    """`Client("http://127.0.0.1:8700", key="…").posts.create(text="Hello", accounts=["bluesky:ada.example.org"])`.

    Threads may share one.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: timedelta = TIMEOUT,
        patience: Patience = PATIENT,
        jitter: Callable[[], float] = random.random,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        server = server_at(url, key, timeout.total_seconds())
        super().__init__(Talker(Blocking(server), patience, jitter, sleep))

    def __repr__(self) -> str:
        return f"Client({self.talker.way.server.url!r})"


class AsyncClient(House[AsyncTalker]):
    """The same with `await`, and `async for`; `async with` closes it."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: timedelta = TIMEOUT,
        patience: Patience = PATIENT,
        jitter: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        from postino.client.meanwhile import Meanwhile

        server = server_at(url, key, timeout.total_seconds())
        super().__init__(AsyncTalker(Meanwhile(server), patience, jitter, sleep))

    async def close(self) -> None:
        await self.talker.way.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.talker.way.server.url!r})"
