"""A response that costs much to parse is cut off: it would keep the event loop from all other requests."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from postino.outbound.http import OutboundHttp, StepHttp
from postino.outbound.ssrf import DownloadRefused
from postino.values.provider import Answer, UnreadableResponse
from tests.outbound.conftest import Serve
from tests.outbound.raw_server import Behaviour, RawServer, Visit

SOON = timedelta(seconds=20)
ROUNDS = 1000  # after which a server of these tests gives up
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "interim responses": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000),
    "interim headers": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1000),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: %s\r\n" % (b"a" * 1000) * 50),
    "tiny chunks": (CHUNKED, b"1\r\na\r\n" * 10_000),
    "chunk extensions": (CHUNKED + b"1;", b"a" * 50_000),
    "empty compressed blocks": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03",
        b"\0\0\0\xff\xff" * 10_000,
    ),
}  # fmt: skip
REFUSED_EARLIER = ("download", "empty compressed blocks")  # by its header
CALLS: dict[str, Callable[[StepHttp, RawServer], Awaitable[Answer]]] = {
    "call": lambda http, server: http.request("POST", server.url),
    "download": lambda http, server: http.fetch(server.url, most=100_000_000),
}


def repeat(start: bytes, part: bytes, sent: list[int]) -> Behaviour:
    async def flood(visit: Visit) -> None:
        await visit.request()
        await visit.say(start)
        for _ in range(ROUNDS):
            await visit.say(part)
            sent.append(len(part))

    return flood


async def run(server: RawServer, call: str) -> Answer:
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        return await CALLS[call](outbound.open(timeout=SOON, visible=False), server)


@pytest.mark.parametrize(
    ("call", "name"), [(call, name) for call in CALLS for name in ENDLESS if (call, name) != REFUSED_EARLIER]
)
async def test_response_with_too_much_beside_its_body_is_cut_off(serve: Serve, call: str, name: str) -> None:
    sent: list[int] = []
    server = await serve(repeat(*ENDLESS[name], sent))
    with pytest.raises(UnreadableResponse, match=r"too much beside its body|not valid HTTP"):
        await run(server, call)
    assert len(sent) < ROUNDS


@pytest.mark.parametrize("call", CALLS)
async def test_ordinary_response_passes_with_early_hints_small_chunks_and_a_large_body(serve: Serve, call: str) -> None:
    body = b"a" * 900_000

    async def answer(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" * 5 + CHUNKED)
        for start in range(0, len(body), 100):
            await visit.say(b"64\r\n" + body[start : start + 100] + b"\r\n")
        await visit.say(b"0\r\n\r\n")

    assert (await run(await serve(answer), call)).body == body


async def test_limits_are_counted_for_each_request_of_a_connection(serve: Serve) -> None:
    async def answer(visit: Visit) -> None:
        for _ in range(20):
            await visit.request()
            await visit.answer(200, b"x" * 150_000, X_Padding="a" * 7000)

    server = await serve(answer)
    async with OutboundHttp() as outbound:
        http = outbound.open(timeout=SOON, visible=False)
        for _ in range(20):
            assert len((await http.request("GET", server.url)).body) == 150_000
    assert server.connections == 1


async def test_compressed_file_is_refused_before_it_is_read(serve: Serve) -> None:
    bomb = gzip.compress(bytes(10_000_000))

    async def answer(visit: Visit) -> None:
        await visit.request()
        await visit.answer(200, bomb, Content_Type="image/png", Content_Encoding="gzip")

    server = await serve(answer)
    with pytest.raises(DownloadRefused, match=r"is compressed \(gzip\), although Postino asks for no compression"):
        await run(server, "download")
    assert b"Accept-Encoding: identity\r\n" in server.requests[0]
