"""Large files are in memory once while they are downloaded and sent, and nothing is read that nobody needs."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta

from postino.outbound.http import OutboundHttp
from postino.outbound.redaction import MAX_READ_OF_ERROR
from tests.outbound.conftest import Serve
from tests.outbound.raw_server import Visit

SOON = timedelta(seconds=5)
SIZE = 8_000_000
SMALL = SIZE // 4  # less than a second copy of the file


async def test_downloaded_file_is_in_memory_once(serve: Serve) -> None:
    file = b"x" * SIZE

    async def show(visit: Visit) -> None:
        await visit.request()
        await visit.say(f"HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n".encode())
        for start in range(0, SIZE, 10_000):
            await visit.say(file[start : start + 10_000])

    server = await serve(show)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        tracemalloc.start()
        try:
            answer = await outbound.open(timeout=SOON, visible=False).fetch(server.url, most=SIZE)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert len(answer.body) == SIZE
    assert peak < SIZE + SMALL


async def test_parts_of_an_upload_are_sent_as_one_body_without_a_copy(serve: Serve) -> None:
    received = 0

    async def take(visit: Visit) -> None:
        nonlocal received
        head = await visit.reader.readuntil(b"\r\n\r\n")
        assert f"content-length: {SIZE + 8}".encode() in head.lower()
        while received < SIZE + 8:
            received += len(await visit.reader.read(65_536))
        await visit.answer()

    server, parts = await serve(take), [b"head", b"x" * SIZE, b"tail"]
    async with OutboundHttp() as outbound:
        tracemalloc.start()
        try:
            answer = await outbound.open(timeout=SOON, visible=False).request("POST", server.url, body=parts)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert answer.ok
    assert received == SIZE + 8
    assert peak < SMALL


async def test_only_the_beginning_of_a_redirect_is_read(serve: Serve) -> None:
    async def redirect(visit: Visit) -> None:
        if b"GET /file" in await visit.request():
            await visit.answer(body=b"picture")
            return
        await visit.say(b"HTTP/1.1 302 Found\r\nLocation: /file\r\nContent-Length: 1000000000000\r\n\r\n")
        while True:
            await visit.say(b"x" * 10_000)

    server = await serve(redirect)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        answer = await outbound.open(timeout=SOON, visible=False).fetch(server.url, most=2 * MAX_READ_OF_ERROR)
    assert answer.body == b"picture"
