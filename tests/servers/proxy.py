"""A wire to the private PostgreSQL that can be slow, frozen or cut, and that can lose the answer to work that was done.

It reads along: an answer is held until it is whole, so that whatever is lost was committed by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Self

from tests.servers.postgres import PostgresServer, free_port

HOST = "127.0.0.1"
MAY_WE_ENCRYPT = (80877103, 80877104)  # answered with a single letter
Transaction = Sequence[str]  # the statements of one, in order
Loses = Callable[[Transaction], bool]


def lose_nothing(transaction: Transaction) -> bool:
    return False


def any_of(*statements: str) -> Loses:
    """Match transactions with one of these statements."""
    return lambda transaction: not set(statements).isdisjoint(transaction)


def nth(number: int, among: Loses) -> Loses:
    """Match only the n-th of these transactions, counted from 1."""
    result = 0

    def loses(transaction: Transaction) -> bool:
        nonlocal result
        result += among(transaction)
        return among(transaction) and result == number

    return loses


def share(part: float, chance: random.Random, among: Loses) -> Loses:
    """Match a random share of these transactions."""
    return lambda transaction: among(transaction) and chance.random() < part


class Proxy:
    """Clients connect here instead of there. It can go away and come back, on the same address."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.port = free_port()
        self.delay: Callable[[], float] = lambda: 0.0  # seconds, for each direction
        self.loses: Loses = lose_nothing
        self.lost: list[Transaction] = []
        self.flow_text = asyncio.Event()
        self.flow_text.set()
        self.links: set[asyncio.Task[None]] = set()
        self.listener: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.refuse()
        await self.cut()

    def url(self, url: str) -> str:
        """Return the URL of the database through this proxy."""
        return url.replace(f":{self.server.port}/", f":{self.port}/")

    def slow(self, seconds: float, jitter: float) -> None:
        self.delay = lambda: random.uniform(seconds - jitter, seconds + jitter)

    async def accept(self) -> None:
        self.listener = await asyncio.start_server(self.connect, HOST, self.port)

    async def refuse(self) -> None:
        """New connections are refused; those that are there stay."""
        if self.listener is not None:
            self.listener.close()
            self.listener = None

    async def cut(self) -> None:
        """Ends every connection without a word."""
        links = [*self.links]
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    def freeze(self) -> None:
        """Connections stay, but nothing passes: a cable pulled out."""
        self.flow_text.clear()

    def thaw(self) -> None:
        self.flow_text.set()

    def fail_over(self) -> None:
        """Keep frozen connections silent for ever and serve new ones, as after a failover."""
        self.flow_text = asyncio.Event()
        self.flow_text.set()

    async def switch(self, server: PostgresServer) -> None:
        """Lead every connection to another server from now on, on the same address."""
        self.server = server
        await self.cut()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        self.links.add(link)
        try:
            if self.listener is None:
                return  # it knocked just before the door was closed
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self.carry(reader, writer)
        finally:
            writer.transport.abort()
            self.links.discard(link)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_there = await asyncio.open_connection(HOST, self.server.port)
        try:
            link = Link(self, (reader, writer), (there, to_there))
            await link.greet()
            await link.run()
        finally:
            to_there.transport.abort()


class Link:
    """One connection and its messages."""

    def __init__(
        self,
        proxy: Proxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self.proxy = proxy
        self.client, to_client = client
        self.server, to_server = server
        self.to_client, self.to_server = Line(proxy, to_client), Line(proxy, to_server)
        self.prepared: dict[bytes, str] = {}
        self.transaction: list[str] = []
        self.unanswered = 0

    async def greet(self) -> None:
        """Forward the first messages, which have no type byte."""
        while True:
            request = await message(self.client, letters=0)
            self.to_server.writer.write(request)
            if int.from_bytes(request[4:8]) not in MAY_WE_ENCRYPT:
                return
            self.to_client.writer.write(await self.server.readexactly(1))

    async def run(self) -> None:
        """Forward messages until one side closes or a response is lost."""
        pumps = [self.questions(), self.answers(), self.to_client.run(), self.to_server.run()]
        tasks = [asyncio.ensure_future(pump) for pump in pumps]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def questions(self) -> None:
        while True:
            question = await message(self.client)
            self.read_along(question[:1], question[5:])
            self.to_server.put(question)

    def read_along(self, kind: bytes, body: bytes) -> None:
        match kind:
            case b"P":  # parse: a name, and the statement it stands for
                name, text, _ = body.split(b"\0", 2)
                self.prepared[name] = text.decode()
            case b"B":  # bind, to be executed: a portal, and the name
                self.transaction.append(self.prepared[body.split(b"\0", 2)[1]])
            case b"Q":  # a statement as it is: BEGIN, COMMIT and the like
                self.transaction.append(body.rstrip(b"\0").decode())
                self.unanswered += 1
            case b"S":  # the end of parse, bind, execute
                self.unanswered += 1

    async def answers(self) -> None:
        held: list[bytes] = []
        try:
            while True:
                part = await message(self.server)
                held.append(part)
                if part[:1] == b"Z" and self.unanswered:
                    self.unanswered -= 1
                    if self.is_lost(idle=part[5:6] == b"I"):
                        return
                elif self.unanswered:
                    continue
                self.to_client.put(b"".join(held))
                held = []
        except (OSError, asyncio.IncompleteReadError):
            self.to_client.put(b"".join(held))  # the server's last words
            await self.to_client.waiting.join()

    def is_lost(self, *, idle: bool) -> bool:
        """Return whether to lose the response that ends a transaction, which is committed by then."""
        if not idle:
            return False
        transaction, self.transaction = self.transaction, []
        if not transaction or not self.proxy.loses(transaction):
            return False
        self.proxy.lost.append(transaction)
        return True


class Line:
    """One direction of a connection; data that arrives during a delay is sent with it."""

    def __init__(self, proxy: Proxy, writer: asyncio.StreamWriter) -> None:
        self.proxy = proxy
        self.flow_text = proxy.flow_text
        self.writer = writer
        self.waiting: asyncio.Queue[bytes] = asyncio.Queue()

    def put(self, part: bytes) -> None:
        self.waiting.put_nowait(part)

    async def run(self) -> None:
        while True:
            parts = [await self.waiting.get()]
            await asyncio.sleep(self.proxy.delay())
            await self.flow_text.wait()
            while not self.waiting.empty():
                parts.append(self.waiting.get_nowait())
            self.writer.write(b"".join(parts))
            await self.writer.drain()
            for _ in parts:
                self.waiting.task_done()


async def message(reader: asyncio.StreamReader, letters: int = 1) -> bytes:
    head = await reader.readexactly(letters + 4)
    return head + await reader.readexactly(int.from_bytes(head[letters:]) - 4)
