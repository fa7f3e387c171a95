from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from postino.outbound.http import OutboundHttp
from tests.outbound.raw_server import Behaviour, RawServer

Serve = Callable[[Behaviour], Awaitable[RawServer]]


@pytest.fixture
async def outbound() -> AsyncIterator[OutboundHttp]:
    async with OutboundHttp() as outbound:
        yield outbound


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    async with AsyncExitStack() as servers:

        async def start(behaviour: Behaviour) -> RawServer:
            return await servers.enter_async_context(RawServer(behaviour))

        yield start
