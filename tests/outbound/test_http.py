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
from postino.outbound.redaction import MAX_ERROR_BYTES
from postino.values.provider import LostResponse, NotSent, Unreachable, UnreadableResponse
from tests.outbound.conftest import Serve
from tests.outbound.raw_server import Behaviour, RawServer, Visit, polite

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


@pytest.mark.parametrize("control", ["\n", "\r", "\0", "\x01", "\x1b", "\x7f"])
async def test_not_sent_with_control_character_in_credential(
    outbound: OutboundHttp, serve: Serve, control: str
) -> None:
    server = await serve(polite)
    with pytest.raises(NotSent, match="Enter it again") as raised:
        await visible(outbound).request("POST", server.url, headers={"Authorization": f"Bearer abc{control}def"})
    assert not isinstance(raised.value, Unreachable)  # which would count as a failure of the server
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


async def test_endless_error_is_returned_by_its_beginning(outbound: OutboundHttp, serve: Serve) -> None:
    async def go_on(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 422 Refused\r\n\r\n")
        while True:
            await visit.say(b"x" * 100_000)

    answer = await visible(outbound).request("POST", (await serve(go_on)).url)
    assert (answer.status, len(answer.body)) == (422, MAX_ERROR_BYTES)


async def test_timeout_message_names_server_and_warns_of_arrival(outbound: OutboundHttp, serve: Serve) -> None:
    server = await serve(stay_silent)
    with pytest.raises(LostResponse) as raised:
        await visible(outbound).request("POST", f"{server.url}/post?q=1", timeout=0.05)
    expected = f"127.0.0.1:{server.port} sent no complete response within 0.05 s. The request may have arrived."
    assert str(raised.value) == expected


# --- Large bodies on slow lines

NARROW = 16_384  # bytes that the kernel of the server takes by itself
LARGE = b"x" * 1_000_000


def dribble(reads: int, pause: float, then: Behaviour) -> Behaviour:
    """Return a server that reads a large request slowly, in so many reads, and then does something else."""

    async def behave(visit: Visit) -> None:
        for _ in range(reads):
            await visit.reader.read(NARROW)
            await asyncio.sleep(pause)
        await then(visit)

    return behave


@pytest.mark.parametrize("opening", [visible, inert])
async def test_upload_may_take_longer_than_a_timeout_while_data_moves(
    outbound: OutboundHttp, opening: Callable[[OutboundHttp], StepHttp]
) -> None:
    async def slow(visit: Visit) -> None:
        left = len(LARGE)
        await visit.reader.readuntil(b"\r\n\r\n")
        while left:
            left -= len(await visit.reader.read(NARROW))
            await asyncio.sleep(0.02)
        await visit.answer(200, b"done")

    async with RawServer(slow, receive_buffer=NARROW) as server:
        started = asyncio.get_running_loop().time()
        answer = await opening(outbound).request("POST", server.url, body=LARGE, timeout=0.8)
        assert answer.body == b"done"
        assert asyncio.get_running_loop().time() - started > 0.8


@pytest.mark.parametrize("opening", [visible, inert])
@pytest.mark.parametrize("end", [stay_silent, reset_at_once])
async def test_incomplete_request_is_certainly_not_sent(
    outbound: OutboundHttp, opening: Callable[[OutboundHttp], StepHttp], end: Behaviour
) -> None:
    """A server cannot accept a request whose last bytes never left this machine."""
    async with RawServer(dribble(3, 0.01, end), receive_buffer=NARROW) as server:
        with pytest.raises(NotSent, match="not sent completely, so it had no effect"):
            await opening(outbound).request("POST", server.url, body=LARGE * 10, timeout=0.3)


def begin_response(text: bytes, *, then: Behaviour) -> Behaviour:
    """Return a server that begins to respond to a large request before it has read all of it."""

    async def behave(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.say(text)
        await asyncio.sleep(0.05)  # a reset that overtakes the response would discard it
        await then(visit)

    return behave


BEGUN = {
    "success": b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"',
    "outage": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 20\r\n\r\n<h",
    "conflict": b"HTTP/1.1 409 Conflict\r\nContent-Length: 20\r\n\r\n<h",
    "headers": b"HTTP/1.1 200 OK\r\nContent-Le",
    "garbage": b"what do you want?\r\n\r\n",
}


@pytest.mark.parametrize("begun", BEGUN.values(), ids=list(BEGUN))
@pytest.mark.parametrize("end", [stay_silent, reset_at_once])
async def test_request_whose_response_has_begun_is_in_doubt(
    outbound: OutboundHttp, serve: Serve, begun: bytes, end: Behaviour
) -> None:
    """A proxy may answer before it has read the whole request."""
    server = await serve(begin_response(begun, then=end))
    with pytest.raises(LostResponse):
        await visible(outbound).request("POST", server.url, body=LARGE * 30, timeout=0.3)


@pytest.mark.parametrize("end", [stay_silent, reset_at_once])
async def test_incomplete_request_that_is_refused_had_no_effect(
    outbound: OutboundHttp, serve: Serve, end: Behaviour
) -> None:
    begun = b"HTTP/1.1 413 Too Large\r\nContent-Length: 20\r\n\r\n<h"
    server = await serve(begin_response(begun, then=end))
    with pytest.raises(NotSent, match="not sent completely"):
        await visible(outbound).request("POST", server.url, body=LARGE * 30, timeout=0.3)


@pytest.mark.parametrize("size", [10, 65_536, 1_000_000])
@pytest.mark.parametrize("lose", [reset_after_reading, hang_up_after_reading, fall_silent])
async def test_complete_request_without_response_is_in_doubt(
    outbound: OutboundHttp, serve: Serve, lose: Behaviour, size: int
) -> None:
    with pytest.raises(LostResponse):
        await visible(outbound).request("POST", (await serve(lose)).url, body=b"x" * size, timeout=0.5)


async def test_upload_stops_when_its_worker_must_not_send_any_more(outbound: OutboundHttp) -> None:
    moves: list[str | None] = [None, None, "the lease is over"]
    passage = visible(outbound, on_progress=lambda: moves.pop(0) if len(moves) > 1 else moves[0])
    async with RawServer(dribble(1000, 0.0, stay_silent), receive_buffer=NARROW) as server:
        with pytest.raises(NotSent, match="the lease is over"):
            await passage.request("POST", server.url, body=LARGE)


async def test_download_takes_any_time_while_data_arrives(serve: Serve) -> None:
    async def drip(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n")
        for _ in range(20):
            await visit.say(b"x" * 20_000)
            await asyncio.sleep(0.1)

    server, moves = await serve(drip), [0]
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:

        def count() -> None:
            moves[0] += 1

        passage = outbound.open(timeout=timedelta(seconds=0.3), visible=False, on_progress=count)
        answer = await passage.fetch(server.url, most=1_000_000)
    assert answer.body == b"x" * 400_000
    assert moves[0] > 1


async def drip_for_ever(visit: Visit) -> None:
    await visit.request()
    await visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await visit.say(b"x" * 200)  # 10 kB a second
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("lose", [fall_silent, drip_for_ever])
async def test_download_that_stalls_or_drips_is_given_up(serve: Serve, lose: Behaviour) -> None:
    server = await serve(lose)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        with pytest.raises(LostResponse):
            await outbound.open(timeout=timedelta(seconds=0.2), visible=False).fetch(server.url, most=100_000)


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
    with pytest.raises(NotSent, match=r"took no data for 0\.3 s"):
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
