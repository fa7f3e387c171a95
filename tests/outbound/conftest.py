from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from postino.outbound.http import Door
from tests.outbound.raw_server import Behaviour, RawServer

Serve = Callable[[Behaviour], Awaitable[RawServer]]


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with Door() as door:
        yield door


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    async with AsyncExitStack() as servers:

        async def start(behaviour: Behaviour) -> RawServer:
            return await servers.enter_async_context(RawServer(behaviour))

        yield start
