"""Send requests with aiohttp, which only `AsyncClient` imports."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextvars import ContextVar
from typing import Any

import aiohttp
from aiohttp.client_reqrep import ClientRequest
from yarl import URL

from postino.client.messages import ApiRequest, ApiResponse, NoResponse
from postino.client.sse import ENDED
from postino.client.transport import ServerAddress

connections: ContextVar[list[bool]] = ContextVar("connections")  # those the current request has opened


class NoRetryConnector(aiohttp.TCPConnector):
    """Keeps aiohttp from repeating a request when its connection breaks. Only `retry` decides that."""

    async def connect(
        self, req: ClientRequest, traces: list[aiohttp.tracing.Trace], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        if connections.get():
            raise aiohttp.ServerDisconnectedError
        connections.get().append(True)
        return await super().connect(req, traces, timeout)


class AsyncHttpTransport:
    """Sends requests without blocking the event loop. The first request opens the aiohttp session."""

    def __init__(self, server: ServerAddress) -> None:
        self.server = server
        self.session: aiohttp.ClientSession | None = None

    async def send(self, request: ApiRequest[Any]) -> ApiResponse | NoResponse:
        try:
            async with self.start(request) as response:
                return await read_response(response)
        except (OSError, aiohttp.ClientError) as error:
            return self.to_no_response(error)

    async def stream(self, request: ApiRequest[Any]) -> AsyncGenerator[bytes | ApiResponse | NoResponse, None]:
        """Yield the bytes as they arrive; the last item says why the stream ended."""
        try:
            async with self.start(request) as response:
                if response.status != 200:
                    yield await read_response(response)
                    return
                async for chunk in response.content.iter_any():
                    yield chunk
                yield ENDED
        except (OSError, aiohttp.ClientError) as error:
            yield self.to_no_response(error)

    def start(self, request: ApiRequest[Any]) -> Any:
        connections.set([])
        if self.session is None:
            timeout = self.server.timeout
            self.session = aiohttp.ClientSession(
                connector=NoRetryConnector(force_close=True, limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=timeout, sock_read=timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        url = URL(self.server.url + request.target, encoded=True)
        headers = self.server.headers(request)
        return self.session.request(request.method, url, data=request.body, headers=headers, allow_redirects=False)

    def to_no_response(self, error: Exception) -> NoResponse:
        is_disconnect = isinstance(error, aiohttp.ServerDisconnectedError)
        return NoResponse("the connection broke" if is_disconnect else self.server.describe_error(error))

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()
            self.session = None


async def read_response(response: aiohttp.ClientResponse) -> ApiResponse:
    headers = {name.lower(): text for name, text in response.headers.items()}
    return ApiResponse(response.status, headers, await response.read())
