"""The threshold of the door: whether a request may leave is asked when the connection is there; then it leaves once."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

import aiohttp
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from postino.values.provider import NotSent

MaySend = Callable[[], str | None]  # why nothing may leave any more


@dataclass(slots=True)
class Departure:
    """How far one request got. Nothing has left before `left`; after it, anything may have."""

    may_send: MaySend
    left: bool = False
    transport: asyncio.Transport | None = None

    def end(self) -> None:
        """What has not left by now never will: a closed connection would go on emptying what it was given."""
        if self.transport is not None and self.transport.get_write_buffer_size():
            self.transport.abort()


departing: ContextVar[Departure] = ContextVar("departing")


class Doorkeeper(aiohttp.TCPConnector):
    """Asks once more when the connection is there, just before the first byte of the request is written into it."""

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:
        departure = departing.get()
        if departure.left:
            # aiohttp repeats some requests by itself when their connection breaks. Here nothing goes out twice.
            raise aiohttp.ClientConnectionError("the connection broke")
        connection = await super().connect(req, traces, timeout)
        if reason := departure.may_send():
            connection.close()
            raise NotSent(reason)
        departure.left, departure.transport = True, connection.transport
        return connection
