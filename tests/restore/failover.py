"""One address for a primary and the standby that takes over from it."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Self

from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy


class SharedAddress:
    """A proxy in a thread of its own, so that clients that block their thread can connect, too."""

    def __init__(self, server: PostgresServer) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.server = server

    def __enter__(self) -> Self:
        self.thread.start()
        self.proxy: Proxy = self.call(make_proxy(self.server))
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self.proxy.__aexit__())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def get_url(self, url: str) -> str:
        return self.proxy.url(url)

    def switch(self, server: PostgresServer) -> None:
        """Lead everybody to another server."""
        self.call(self.proxy.switch(server))

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)


async def make_proxy(server: PostgresServer) -> Proxy:
    return await Proxy(server).__aenter__()
