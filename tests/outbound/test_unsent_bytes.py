"""A request whose last bytes never reached the socket was not sent, on both event loops, with and without TLS."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import uvloop

from postino.outbound.http import OutboundHttp
from postino.outbound.progress import PIECE_BYTES
from postino.values.provider import LostResponse, NotSent
from tests.outbound.stalled_server import StalledServer, write_certificate

Failures = list[Exception]
Run = Callable[[Coroutine[None, None, Failures]], Failures]
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
KB = 1000


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    def run(sending: Coroutine[None, None, Failures]) -> Failures:
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(sending)

    return run


@pytest.fixture(scope="module")
def new_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("certificate") / "server.pem")


@pytest.fixture
def trusted_certificate(monkeypatch: pytest.MonkeyPatch, new_certificate: Path) -> Path:
    trusting = ssl.create_default_context(cafile=str(new_certificate))
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", trusting)
    return new_certificate


@pytest.fixture(params=["plain", "tls"])
def certificate(request: pytest.FixtureRequest, trusted_certificate: Path) -> Path | None:
    return trusted_certificate if request.param == "tls" else None


async def send(
    servers: Sequence[StalledServer],
    *contents: Mapping[str, Any],
    visible: bool = True,
    on_progress: Callable[[], str | None] = lambda: None,
) -> Failures:
    """Send a request to each server, which must fail; then let the server read, for nothing may leave any more."""
    async with OutboundHttp() as outbound:
        http = outbound.open(timeout=timedelta(seconds=0.6), visible=visible, on_progress=on_progress)

        async def send_one(server: StalledServer, content: Mapping[str, Any]) -> Exception:
            with pytest.raises((NotSent, LostResponse)) as failure:
                await http.request("POST", server.url, **content)
            await asyncio.sleep(0.02)  # the connection is closed in the next turns of the loop
            await asyncio.to_thread(server.has_complete_request)
            return failure.value

        return list(await asyncio.gather(*map(send_one, servers, contents)))


def make_bytes(size: int) -> Mapping[str, Any]:
    return {"body": b"x" * size}


def make_json(size: int) -> Mapping[str, Any]:
    return {"json": "x" * size}


@pytest.mark.parametrize("make_content", [make_bytes, make_json])
def test_request_is_in_doubt_exactly_if_the_socket_took_all_of_it(
    run: Run, certificate: Path | None, make_content: Callable[[int], Mapping[str, Any]]
) -> None:
    sizes = [KB, 20 * KB, 70 * KB, 130 * KB, 200 * KB, 250 * KB, 400 * KB, 1000 * KB]
    with ExitStack() as stack:
        servers = [stack.enter_context(StalledServer(certificate)) for _ in sizes]
        failures = run(send(servers, *map(make_content, sizes)))
    for size, server, failure in zip(sizes, servers, failures, strict=True):
        assert isinstance(failure, LostResponse) == server.has_complete_request(), size
        assert server.is_broken == isinstance(failure, NotSent), "the server takes the end for the end of the body"
        if size >= 200 * KB:  # more than both kernels take
            assert "not sent completely" in str(failure), size
        if size <= 20 * KB:
            assert isinstance(failure, LostResponse), size


def test_inert_request_that_was_cut_off_sends_nothing_later(run: Run, certificate: Path | None) -> None:
    with StalledServer(certificate) as server:
        [failure] = run(send([server], make_bytes(200 * KB), visible=False))
    assert isinstance(failure, NotSent)
    assert not server.has_complete_request()


def test_request_that_its_worker_stops_at_its_last_bytes_was_not_sent(run: Run, certificate: Path | None) -> None:
    """The lease ends while the last piece is in the write buffer."""
    size, moves = 300 * KB, 0

    def move() -> str | None:
        nonlocal moves
        moves += 1
        return "the lease is over" if moves > 1 + size // PIECE_BYTES else None

    with StalledServer(certificate, read_first=50 * KB) as server:
        [failure] = run(send([server], make_bytes(size), on_progress=move))
    assert isinstance(failure, NotSent)
    assert not server.has_complete_request()


def test_request_that_the_server_resets_is_in_doubt(run: Run, certificate: Path | None) -> None:
    """What was in the write buffer is gone by then, so nothing proves that bytes were left."""
    sizes = [KB, 180 * KB]
    with ExitStack() as stack:
        servers = [stack.enter_context(StalledServer(certificate, resets=True)) for _ in sizes]
        timers = [threading.Timer(0.2, server.reads_on.set) for server in servers]
        for timer in timers:
            timer.start()
        failures = run(send(servers, *map(make_bytes, sizes)))
    assert [type(failure) for failure in failures] == [LostResponse, LostResponse]


def test_server_with_a_certificate_for_another_name_gets_nothing(run: Run, trusted_certificate: Path) -> None:
    async def send() -> Failures:
        async with OutboundHttp() as outbound:
            http = outbound.open(timeout=timedelta(seconds=5), visible=True)
            with pytest.raises(NotSent, match="cannot be reached") as failure:
                await http.request("POST", server.url.replace("127.0.0.1", "localhost"))
            return [failure.value]

    with StalledServer(trusted_certificate) as server:
        run(send())
    assert server.request == b""
