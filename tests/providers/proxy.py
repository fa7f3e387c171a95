"""A proxy between Postino and a real server that can lose requests and responses."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import Literal, Self

Loss = Literal["request", "answer"]


class LossyProxy:
    """Forwards every request on its own connection, and loses those that `lose` names."""

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._losses: list[tuple[str, Loss]] = []
        self.request_counts: Counter[str] = Counter()  # by path

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def lose(self, what: Loss, where: str, times: int = 1) -> None:
        """Lose the next requests or responses whose request line contains `where`."""
        self._losses += [(where, what)] * times

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await self._relay(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        line = head.partition(b"\r\n")[0].decode()
        self.request_counts[line.split()[1].partition("?")[0]] += 1
        loss = next((it for it in self._losses if it[0] in line), None)
        if loss:
            self._losses.remove(loss)
        if loss and loss[1] == "request":
            return
        answer = await self._forward(re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", head), body)
        if not loss:
            writer.write(answer)
            await writer.drain()

    async def _forward(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        try:
            writer.write(head[:-2] + b"Connection: close\r\n\r\n" + body)
            return await reader.read()
        finally:
            writer.close()
