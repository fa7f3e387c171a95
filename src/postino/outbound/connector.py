"""Decide, once a connection is open, whether the request may still be sent, and send it at most once.

Never retries: aiohttp repeats some requests by itself when a connection breaks, and this connector refuses that.
"""

import asyncio
import socket
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader
from aiohttp.tracing import Trace

from postino.outbound.progress import RequestProgress
from postino.values.provider import NotSent

# Bytes that the kernel holds unsent, so that handing a byte over means sending it soon.
MAX_UNSENT_BYTES = 131_072
# What a response may have beside its body: headers, interim responses such as `103 Early Hints`, chunk sizes, trailers.
# Parsing them costs far more than reading a body, so a server could keep the event loop busy with them.
MAX_HEAD_BYTES = 100_000
MAX_BYTES_BESIDE_BODY = 1_000_000  # and as many as the body has
HEAD_PIECE = 4096  # bytes that are parsed before the size of a head is checked again

current_request: ContextVar[RequestProgress] = ContextVar("current_request")


class TooMuchBesideBody(aiohttp.ClientPayloadError):
    """The response has too many headers, interim responses, chunk sizes or trailers."""


class WatchedConnection(ResponseHandler):
    """Notes that a response has begun, even if it is never complete, and discards unsent bytes when it closes."""

    progress: RequestProgress | None = None  # of the request that uses this connection now
    below: asyncio.Transport | None = None  # the transport of the encrypted bytes, with TLS
    received = 0  # bytes of the response
    has_head = False  # the final response has begun, and not only interim ones

    def watch(self, progress: RequestProgress) -> None:
        """Let this request use the connection from now on."""
        if self.progress is not None:
            self.progress.transports = ()
        self.progress, self.received, self.has_head = progress, 0, False
        progress.transports = tuple(it for it in (self.transport, self.below) if it is not None)

    def close(self) -> None:
        if self.progress is not None:
            self.progress.discard_unsent()
        super().close()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take the head of a response from the parser."""
        self.has_head = self.has_head or not 100 <= data[0].code < 200
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        """Parse the data; a head in pieces, so that a long one is noticed early."""
        if data and self.progress is not None:
            self.progress.has_response = True
        while len(data) > HEAD_PIECE and not self.has_head and not self._has_failed():
            self._parse(data[:HEAD_PIECE])
            data = data[HEAD_PIECE:]
        if not self._has_failed():
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        self.received += len(data)
        super().data_received(data)
        body = 0 if self.progress is None else self.progress.body_bytes
        if self.received > (MAX_BYTES_BESIDE_BODY + 2 * body if self.has_head else MAX_HEAD_BYTES):
            self._refuse()

    def _has_failed(self) -> bool:
        return self.exception() is not None or self.transport is None or self.transport.is_closing()

    def _refuse(self) -> None:
        error = TooMuchBesideBody("most of the response is no body")
        if self._payload is not None:
            self._payload.set_exception(error)
        self.set_exception(error)
        if self.transport is not None:
            self.transport.abort()


class SendOnceConnector(aiohttp.TCPConnector):
    """Asks `may_send` again after connecting, just before the first byte of the request is written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(WatchedConnection, loop=self._loop))

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:
        progress = current_request.get()
        if progress.may_have_left:
            # This is aiohttp's own retry after a broken connection. A visible request must never be sent twice.
            raise aiohttp.ClientConnectionError("the connection broke")
        connection = await super().connect(req, traces, timeout)
        if reason := progress.may_send():
            connection.close()
            raise NotSent(reason)
        progress.may_have_left = True
        assert isinstance(connection.protocol, WatchedConnection)
        connection.protocol.watch(progress)
        return connection

    async def _wrap_create_connection(
        self,
        *args: Any,
        req: ClientRequest,
        timeout: aiohttp.ClientTimeout,
        client_error: type[Exception] = aiohttp.ClientConnectorError,
        ssl: Any = None,
        server_hostname: str | None = None,
        **options: Any,
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        """Connect, then begin TLS: so the transport below TLS, which holds encrypted bytes, is known on every loop."""
        transport, protocol = await super()._wrap_create_connection(
            *args, req=req, timeout=timeout, client_error=client_error, **options
        )
        if not ssl:
            return transport, protocol
        req.server_hostname = server_hostname
        encrypted, protocol = await self._start_tls_connection(transport, req, timeout, client_error)
        assert isinstance(protocol, WatchedConnection)
        protocol.below = transport
        return cast("asyncio.Transport", encrypted), protocol


def create_socket(address: tuple[Any, ...]) -> socket.socket:
    """Create the socket for an address that is about to be connected to."""
    family, kind, protocol, *_ = address
    created = socket.socket(family, kind, protocol)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        created.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT_BYTES)
    return created
