"""Decide, once a connection is open, whether the request may still be sent, and send it at most once.

Never retries: aiohttp repeats some requests by itself when a connection breaks, and this connector refuses that.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

import aiohttp
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from postino.values.provider import NotSent

MaySend = Callable[[], str | None]  # the reason why the request may no longer be sent, or None


@dataclass(slots=True)
class RequestProgress:
    """How far one request got. Nothing was sent while `may_have_left` is false; once it is true, anything may have."""

    may_send: MaySend
    may_have_left: bool = False
    transport: asyncio.Transport | None = None

    def abort_unsent(self) -> None:
        """Discard what is still in the write buffer: a closed connection would go on sending it."""
        if self.transport is not None and self.transport.get_write_buffer_size():
            self.transport.abort()


current_request: ContextVar[RequestProgress] = ContextVar("current_request")


class SendOnceConnector(aiohttp.TCPConnector):
    """Asks `may_send` again after connecting, just before the first byte of the request is written."""

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:
        progress = current_request.get()
        if progress.may_have_left:
            # This is aiohttp's own retry after a broken connection. A visible request must never be sent twice.
            raise aiohttp.ClientConnectionError("the connection broke")
        connection = await super().connect(req, traces, timeout)
        if reason := progress.may_send():
            connection.close()
            raise NotSent(reason)
        progress.may_have_left, progress.transport = True, connection.transport
        return connection
