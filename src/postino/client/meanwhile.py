"""The way out for who does something else meanwhile: aiohttp, which is imported when somebody goes it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextvars import ContextVar
from typing import Any

import aiohttp
from aiohttp.client_reqrep import ClientRequest
from yarl import URL

from postino.client.hearing import ENDED
from postino.client.messages import Answer, Lost, Request
from postino.client.transports import Server

connected: ContextVar[list[bool]] = ContextVar("connected")


class OneConnection(aiohttp.TCPConnector):
    """aiohttp repeats some requests when their connection breaks. Whether one may be, is not for it to say."""

    async def connect(
        self, req: ClientRequest, traces: list[aiohttp.tracing.Trace], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        if connected.get():
            raise aiohttp.ServerDisconnectedError
        connected.get().append(True)
        return await super().connect(req, traces, timeout)


class Meanwhile:
    """Lets others work until there is an answer. Its session begins with the first request."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.session: aiohttp.ClientSession | None = None

    async def send(self, request: Request[Any]) -> Answer | Lost:
        try:
            async with self.begun(request) as response:
                return await read(response)
        except (OSError, aiohttp.ClientError) as error:
            return self.lost(error)

    async def stream(self, request: Request[Any]) -> AsyncGenerator[bytes | Answer | Lost, None]:
        try:
            async with self.begun(request) as response:
                if response.status != 200:
                    yield await read(response)
                    return
                async for piece in response.content.iter_any():
                    yield piece
                yield ENDED
        except (OSError, aiohttp.ClientError) as error:
            yield self.lost(error)

    def begun(self, request: Request[Any]) -> Any:
        connected.set([])
        if self.session is None:
            wait = self.server.timeout
            self.session = aiohttp.ClientSession(
                connector=OneConnection(force_close=True, limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=wait, sock_read=wait),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        url = URL(self.server.url + request.address, encoded=True)
        headers = self.server.headers(request)
        return self.session.request(request.method, url, data=request.body, headers=headers, allow_redirects=False)

    def lost(self, error: Exception) -> Lost:
        broken = isinstance(error, aiohttp.ServerDisconnectedError)
        return Lost("the connection broke" if broken else self.server.why(error))

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()
            self.session = None


async def read(response: aiohttp.ClientResponse) -> Answer:
    headers = {name.lower(): text for name, text in response.headers.items()}
    return Answer(response.status, headers, await response.read())
