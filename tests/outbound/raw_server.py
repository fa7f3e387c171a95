"""A server that handles each connection exactly as a test says, without an HTTP library in between."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

Behaviour = Callable[["Visit"], Awaitable[None]]


@dataclass
class Visit:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: RawServer

    async def request(self) -> bytes:
        """Reads one request with its body; what was read is recorded."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)^content-length: *(\d+)", head, re.MULTILINE)
        read = head + await self.reader.readexactly(int(length[1]) if length else 0)
        self.server.requests.append(read)
        return read

    async def say(self, text: bytes) -> None:
        self.writer.write(text)
        await self.writer.drain()

    async def answer(self, status: int = 200, body: bytes = b"{}", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.say("\r\n".join([*lines, "", ""]).encode() + body)

    def reset(self) -> None:
        """Ends with RST instead of FIN, as a crashed peer or a firewall does."""
        connection: socket.socket = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass
class RawServer:
    behaviour: Behaviour
    receive_buffer: int | None = None  # bytes that the kernel takes before the server reads them
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._visits: set[asyncio.Task[None]] = set()
        listening = socket.socket()
        if self.receive_buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        listening.bind(("127.0.0.1", 0))
        self._server = await asyncio.start_server(self._serve, sock=listening, limit=self.receive_buffer or 65_536)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for visit in list(self._visits):
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        self.connections += 1
        try:
            await self.behaviour(Visit(reader, writer, self))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def polite(visit: Visit) -> None:
    """Answers every request on a connection that stays open."""
    while True:
        await visit.request()
        await visit.answer()
