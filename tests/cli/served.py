"""A server that listens all the time, in a thread; which queue it is of changes from test to test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from postino.api.server import make_app
from postino.config import Config

DEADLINE = 20.0


class Served:
    def __init__(self) -> None:
        self.app: ASGIApp | None = None
        self.loop = asyncio.new_event_loop()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.server = uvicorn.Server(
            uvicorn.Config(self.answer, log_config=None, access_log=False, lifespan="off", interface="asgi3")
        )
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.server.serve([self.socket]))

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.app is not None, "whose queue?"
        await self.app(scope, receive, send)

    @contextmanager
    def over(self, config: Config) -> Iterator[str]:
        """Its address while it answers for this queue."""
        app = make_app(config)
        life = app.router.lifespan_context(app)
        self.wait_for(life.__aenter__())
        self.app = app
        try:
            yield f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        finally:
            self.app = None
            self.wait_for(life.__aexit__(None, None, None))

    def wait_for(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(DEADLINE)  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(DEADLINE)
        self.loop.close()
        self.socket.close()
