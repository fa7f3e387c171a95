"""The HTTP client tells exactly whether a request may have left, and never sends one twice."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta

import psutil
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from postino.outbound.http import MAX_RESPONSE_BYTES, OutboundHttp, StepHttp
from postino.values.provider import LostResponse, NotSent, UnreadableResponse
from tests.outbound.conftest import Serve
from tests.outbound.raw_server import Behaviour, Visit, polite

SOON = timedelta(seconds=5)
IDEMPOTENT = ["GET", "PUT", "DELETE"]
EVERY_METHOD = [*IDEMPOTENT, "POST"]


def visible(outbound: OutboundHttp, **more: object) -> StepHttp:
    return outbound.open(timeout=SOON, visible=True, **more)  # type: ignore[arg-type]


def inert(outbound: OutboundHttp) -> StepHttp:
    return outbound.open(timeout=SOON, visible=False)


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


# --- Responses


async def test_every_status_is_returned_as_a_response(outbound: OutboundHttp, serve: Serve) -> None:
    async def refuse(visit: Visit) -> None:
        await visit.request()
        await visit.answer(503, b"busy", Retry_After="7")

    answer = await visible(outbound).request("POST", (await serve(refuse)).url, json={"text": "hello"})
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (503, b"busy", "7")


@pytest.mark.parametrize("visibly", [True, False])
async def test_redirect_is_returned_and_not_followed(outbound: OutboundHttp, serve: Serve, visibly: bool) -> None:
    target = await serve(polite)

    async def redirect(visit: Visit) -> None:
        await visit.request()
        await visit.answer(302, Location=target.url)

    answer = await outbound.open(timeout=SOON, visible=visibly).request("GET", (await serve(redirect)).url)
    assert answer.status == 302
    assert target.connections == 0


async def test_request_content_arrives(outbound: OutboundHttp, serve: Serve) -> None:
    server = await serve(polite)
    await visible(outbound).request("POST", server.url, json={"a": "ü"}, params={"q": "1 2"}, headers={"X-Key": "k"})
    await visible(outbound).request("POST", server.url, form={"a": "1", "b": "x y"})
    await visible(outbound).request("PUT", server.url, body=b"\0" * 2_000_000, headers={"Content-Type": "image/png"})
    as_json, as_form, as_bytes = server.requests
    assert as_json.startswith(b"POST /?q=1+2 ")
    assert b"X-Key: k" in as_json
    assert as_json.endswith(b'{"a": "\\u00fc"}')
    assert as_form.endswith(b"a=1&b=x+y")
    assert b"Content-Type: image/png" in as_bytes
    assert as_bytes.endswith(b"\0" * 2_000_000)


async def test_cookies_are_not_kept_between_requests(outbound: OutboundHttp, serve: Serve) -> None:
    async def give_a_cookie(visit: Visit) -> None:
        await visit.request()
        await visit.answer(Set_Cookie="session=alice")

    server = await serve(give_a_cookie)
    for _ in range(2):
        await visible(outbound).request("GET", server.url)
    assert b"alice" not in server.requests[1]


# --- Nothing was sent


async def test_refused_connection_raises_not_sent(outbound: OutboundHttp) -> None:
    with pytest.raises(NotSent, match=r"127\.0\.0\.1:\d+ cannot be reached"):
        await visible(outbound).request("POST", f"http://127.0.0.1:{free_port()}")


async def test_not_sent_when_tls_handshake_fails(outbound: OutboundHttp, serve: Serve) -> None:
    async def babble(visit: Visit) -> None:
        await visit.reader.read(10)
        await visit.say(b"this is no TLS at all\r\n")

    server = await serve(babble)
    with pytest.raises(NotSent, match="cannot be reached"):
        await visible(outbound).request("POST", f"https://127.0.0.1:{server.port}")
    assert server.connections == 1


async def test_not_sent_when_tls_handshake_times_out(outbound: OutboundHttp, serve: Serve) -> None:
    server = await serve(stay_silent)
    with pytest.raises(NotSent, match=r"no connection within 0\.1 s"):
        await visible(outbound).request("POST", f"https://127.0.0.1:{server.port}", timeout=0.1)


class Nameless(AbstractResolver):
    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        raise OSError(None, "No such name")

    async def close(self) -> None:
        pass


async def test_not_sent_when_host_name_is_unknown() -> None:
    async with OutboundHttp(resolver=Nameless()) as outbound:
        with pytest.raises(NotSent, match=r"social\.test cannot be reached \(No such name\)"):
            await visible(outbound).request("POST", "http://social.test/post")


@pytest.mark.parametrize("url", ["http://[::1", "http://", "nonsense", "ftp://127.0.0.1/", "http://a:99999999/"])
async def test_not_sent_to_invalid_url(outbound: OutboundHttp, url: str) -> None:
    with pytest.raises(NotSent):
        await visible(outbound).request("POST", url)


async def test_not_sent_with_line_break_in_credential(outbound: OutboundHttp, serve: Serve) -> None:
    server = await serve(polite)
    with pytest.raises(NotSent, match="Enter it again") as raised:
        await visible(outbound).request("POST", server.url, headers={"Authorization": "Bearer abc\ndef"})
    assert "abc" not in str(raised.value)
    assert server.connections == 0


async def test_request_past_deadline_does_not_connect(outbound: OutboundHttp, serve: Serve) -> None:
    server = await serve(polite)
    with pytest.raises(NotSent, match="the lease is over"):
        await visible(outbound, may_send=lambda: "the lease is over").request("POST", server.url)
    assert server.connections == 0


async def test_deadline_passing_while_connecting_sends_nothing(outbound: OutboundHttp, serve: Serve) -> None:
    heard = asyncio.get_running_loop().create_future()

    async def listen(visit: Visit) -> None:
        heard.set_result(await visit.reader.read())

    reasons: Iterator[str | None] = iter([None, "it is past the last moment to begin"])
    server = await serve(listen)
    with pytest.raises(NotSent, match="past the last moment"):
        await visible(outbound, may_send=lambda: next(reasons)).request("POST", server.url, json={"text": "late"})
    assert await heard == b""


# --- Something was sent


async def reset_at_once(visit: Visit) -> None:
    visit.reset()


async def reset_after_reading(visit: Visit) -> None:
    await visit.request()
    visit.reset()


async def hang_up_after_reading(visit: Visit) -> None:
    await visit.request()


async def stop_within_the_head(visit: Visit) -> None:
    await visit.request()
    await visit.say(b"HTTP/1.1 200 OK\r\nContent-Le")


async def stop_within_the_body(visit: Visit) -> None:
    await visit.request()
    await visit.say(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"id": ')


async def stop_within_a_chunk(visit: Visit) -> None:
    await visit.request()
    await visit.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{")


async def stay_silent(visit: Visit) -> None:
    await asyncio.Event().wait()


async def fall_silent(visit: Visit) -> None:
    await visit.request()
    await visit.say(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"id": ')
    await asyncio.Event().wait()


async def babble(visit: Visit) -> None:
    await visit.request()
    await visit.say(b"what do you want?\r\n\r\n")


LOST: list[Behaviour] = [
    reset_at_once,
    reset_after_reading,
    hang_up_after_reading,
    stop_within_the_head,
    stop_within_the_body,
    stop_within_a_chunk,
    stay_silent,
    fall_silent,
    babble,
]


@pytest.mark.parametrize("method", EVERY_METHOD)
@pytest.mark.parametrize("lose", LOST, ids=lambda behaviour: behaviour.__name__)
async def test_lost_response_raises_and_is_not_retried(
    outbound: OutboundHttp, serve: Serve, lose: Behaviour, method: str
) -> None:
    server = await serve(lose)
    for passage in (visible(outbound), inert(outbound)):
        server.connections = 0
        with pytest.raises(LostResponse):
            await passage.request(method, server.url, timeout=0.3)
        assert server.connections == 1


async def test_endless_response_is_cut_off(outbound: OutboundHttp, serve: Serve) -> None:
    async def go_on(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await visit.say(b"x" * 100_000)

    with pytest.raises(UnreadableResponse, match=f"more than {MAX_RESPONSE_BYTES:,} bytes"):
        await visible(outbound).request("GET", (await serve(go_on)).url)


async def test_timeout_message_names_server_and_warns_of_arrival(outbound: OutboundHttp, serve: Serve) -> None:
    server = await serve(stay_silent)
    with pytest.raises(LostResponse) as raised:
        await visible(outbound).request("POST", f"{server.url}/post?q=1", timeout=0.05)
    expected = f"127.0.0.1:{server.port} sent no complete response within 0.05 s. The request may have arrived."
    assert str(raised.value) == expected


# --- Connections


@pytest.mark.parametrize(("opening", "connections"), [(visible, 3), (inert, 1)])
async def test_visible_request_uses_a_new_connection(
    outbound: OutboundHttp, serve: Serve, opening: Callable[[OutboundHttp], StepHttp], connections: int
) -> None:
    server = await serve(polite)
    for _ in range(3):
        await opening(outbound).request("POST", server.url)
    assert (server.connections, len(server.requests)) == (connections, 3)


@pytest.mark.parametrize("opening", [visible, inert])
async def test_cancelled_request_sends_no_more_bytes(
    outbound: OutboundHttp, serve: Serve, opening: Callable[[OutboundHttp], StepHttp]
) -> None:
    async def read_no_further(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await asyncio.Event().wait()

    server = await serve(read_no_further)
    with pytest.raises(LostResponse):
        await opening(outbound).request("POST", server.url, body=b"x" * 30_000_000, timeout=0.3)
    await asyncio.sleep(0)  # a connection is let go in the next turn of the loop
    ours = [it for it in psutil.Process().net_connections("tcp") if getattr(it.raddr, "port", 0) == server.port]
    assert ours == []


@pytest.mark.parametrize("opening", [visible, inert])
async def test_response_before_end_of_upload_is_read(
    outbound: OutboundHttp, serve: Serve, opening: Callable[[OutboundHttp], StepHttp]
) -> None:
    async def refuse_early(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.answer(413, b"too much")
        await asyncio.Event().wait()

    answer = await opening(outbound).request("POST", (await serve(refuse_early)).url, body=b"x" * 30_000_000)
    assert (answer.status, answer.body) == (413, b"too much")


@pytest.mark.parametrize("method", EVERY_METHOD)
async def test_broken_keep_alive_connection_is_not_retried(outbound: OutboundHttp, serve: Serve, method: str) -> None:
    async def answer_once(visit: Visit) -> None:
        await visit.request()
        await visit.answer()
        await visit.request()
        visit.reset()

    server = await serve(answer_once)
    await inert(outbound).request(method, server.url)
    with pytest.raises(LostResponse):
        await inert(outbound).request(method, server.url)
    assert (server.connections, len(server.requests)) == (1, 2)
