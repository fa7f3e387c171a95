"""Nobody can make Postino request URLs on its own machine or in a private network."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from datetime import timedelta
from functools import partial

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from postino.outbound.http import MAX_REDIRECTS, OutboundHttp
from postino.outbound.ssrf import (
    DownloadRefused,
    PublicResolver,
    UnsafeUrl,
    check_url,
    create_public_socket,
    is_allowed_origin,
)
from postino.values.provider import LostResponse, NotSent
from tests.outbound.conftest import Serve
from tests.outbound.raw_server import Visit, polite

SOON = timedelta(seconds=5)

INSIDE = [
    "127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200",
    "192.0.0.192", "168.63.129.16", "224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1",
    "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fec0::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]",
    "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "localhost", "LOCALHOST", "localhost.", "api.localhost", "printer.local", "metadata.google.internal",
]  # fmt: skip
ODD_FORMS = [
    "2130706433", "017700000001", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.1.", "0",
    "0x7f.0x0.0.1",
]  # fmt: skip
OUTSIDE = ["93.184.216.34", "[2606:2800:220:1:248:1893:25c8:1946]", "[64:ff9b::5db8:d822]", "example.com", "münchen.de"]


@pytest.mark.parametrize("host", [*INSIDE, *ODD_FORMS])
@pytest.mark.parametrize("shape", ["http://{}/a.png", "https://{}:8080/a.png"])
def test_private_host_is_refused_by_its_text(shape: str, host: str) -> None:
    assert check_url(shape.format(host)) is not None


@pytest.mark.parametrize("host", OUTSIDE)
def test_public_host_is_accepted(host: str) -> None:
    assert check_url(f"https://{host}/a.png?size=2#top") is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.com/a", "http"),
        ("file:///etc/passwd", "http"),
        ("gopher://example.com/", "http"),
        ("example.com/a.png", "http"),
        ("", "http"),
        ("http://user@example.com/", "password"),
        ("http://user:pass@example.com/", "password"),
        ("http:///a.png", "host"),
        ("http://exa mple.com/", "blanks"),
        ("http://example.com\\@127.0.0.1/", "blanks"),
        ("http://example.com/\n", "blanks"),
        ("http://[::1", "not a URL"),
        ("http://example.com:99999/", "not a URL"),
        ("http://１２７.０.０.１/", "private network"),
    ],
)
def test_malformed_url_is_refused_with_reason(url: str, why: str) -> None:
    assert why in (check_url(url) or "")


def test_allowed_origins_match_exactly() -> None:
    allowed = ["http://127.0.0.1:8701", "https://media.local"]
    assert check_url("http://127.0.0.1:8701/media/1", allowed) is None
    assert check_url("https://media.local:443/1", allowed) is None
    others = ["https://127.0.0.1:8701/", "http://127.0.0.1:8702/", "http://127.0.0.1/", "http://localhost:8701/"]
    assert all(check_url(url, allowed) for url in [*others, "http://media.local/", "http://a@127.0.0.1:8701/"])


# --- Downloads and requests


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::1]"])
async def test_download_from_private_address_is_refused(outbound: OutboundHttp, serve: Serve, host: str) -> None:
    server = await serve(polite)
    with pytest.raises(UnsafeUrl) as raised:
        await outbound.open(timeout=SOON, visible=False).fetch(f"http://{host}:{server.port}/a.png", most=100)
    assert raised.value.field == "url"
    assert server.connections == 0


class Names(AbstractResolver):
    """Returns the next of its address lists for each lookup."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        result = self.answers.pop(0)
        return [
            ResolveResult(hostname=host, host=it, port=port, family=socket.AF_INET, proto=0, flags=0) for it in result
        ]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["10.0.0.1"]])
async def test_name_with_one_private_address_is_refused(serve: Serve, addresses: list[str]) -> None:
    server = await serve(polite)
    async with OutboundHttp(resolver=Names(addresses)) as outbound:
        with pytest.raises(UnsafeUrl, match=r"social\.test leads to") as raised:
            await outbound.open(timeout=SOON, visible=False).fetch(f"http://social.test:{server.port}/", most=100)
    assert server.connections == 0
    assert not any(address in str(raised.value) for address in addresses), "private DNS is not for customers"


@pytest.mark.parametrize("visible", [True, False])
@pytest.mark.parametrize("host", ["social.test", "127.0.0.1"])
async def test_private_account_server_needs_allow_private(serve: Serve, host: str, visible: bool) -> None:
    server = await serve(polite)
    url = f"http://{host}:{server.port}/"
    async with OutboundHttp(resolver=Names(["127.0.0.1"]), http_origins=[f"http://{host}:{server.port}"]) as outbound:
        with pytest.raises(NotSent, match=rf"Nothing was sent: {host} leads to this machine"):
            await outbound.open(timeout=SOON, visible=visible, public=True).request("POST", url)
    assert server.connections == 0
    async with OutboundHttp(
        resolver=Names(["127.0.0.1"]), allow_private=partial(is_allowed_origin, allowed_origins=[url])
    ) as outbound:
        assert (await outbound.open(timeout=SOON, visible=visible, public=True).request("POST", url)).ok


@pytest.mark.parametrize("visible", [True, False])
async def test_account_server_without_tls_is_refused(serve: Serve, visible: bool) -> None:
    server = await serve(polite)
    url, other = f"http://social.test:{server.port}", f"http://other.test:{server.port}"
    async with OutboundHttp(resolver=Names(), http_origins=[other]) as outbound:
        with pytest.raises(NotSent, match=r"Nothing was sent: everybody .* add http://social\.test:\d+ to the setting"):
            await outbound.open(timeout=SOON, visible=visible, public=True).request("POST", f"{url}/x")
    assert server.connections == 0


async def test_connected_address_is_the_checked_one() -> None:
    result = await PublicResolver(Names(["93.184.216.34"])).resolve("social.test", 80)
    assert [one["host"] for one in result] == ["93.184.216.34"]
    with pytest.raises(UnsafeUrl):
        create_public_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80)))
    create_public_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("93.184.216.34", 80))).close()


async def test_media_from_allowed_origin_is_downloaded(serve: Serve) -> None:
    async def show(visit: Visit) -> None:
        await visit.request()
        await visit.answer(200, b"picture", Content_Type="image/png")

    server = await serve(show)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        answer = await outbound.open(timeout=SOON, visible=False).fetch(f"{server.url}/media/1", most=7)
    assert (answer.body, answer.headers["content-type"]) == (b"picture", "image/png")


async def test_redirect_to_private_address_is_refused(serve: Serve) -> None:
    inside = await serve(polite)

    async def redirect(visit: Visit) -> None:
        await visit.request()
        await visit.answer(307, Location=f"{inside.url}/secrets")

    server = await serve(redirect)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        with pytest.raises(UnsafeUrl, match="leads to this machine"):
            await outbound.open(timeout=SOON, visible=False).fetch(server.url, most=100)
    assert inside.connections == 0


async def test_no_proxy_of_the_environment_is_used(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server, proxy = await serve(polite), await serve(polite)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        assert (await outbound.open(timeout=SOON, visible=False).fetch(server.url, most=100)).ok
        assert (await outbound.open(timeout=SOON, visible=True).request("GET", server.url)).ok
    assert proxy.connections == 0


async def test_redirect_loop_is_refused(serve: Serve) -> None:
    async def go_round(visit: Visit) -> None:
        while True:
            await visit.request()
            await visit.answer(302, Location="/again")

    server = await serve(go_round)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        with pytest.raises(UnsafeUrl, match="redirects"):
            await outbound.open(timeout=SOON, visible=False).fetch(server.url, most=100)
    assert len(server.requests) == MAX_REDIRECTS + 1


async def test_slow_download_may_exceed_response_timeout(serve: Serve) -> None:
    pause = asyncio.Event()

    async def dribble(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
        for _ in range(3):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(pause.wait(), 0.15)
            await visit.say(b"x")
        await pause.wait()

    server = await serve(dribble)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        passage = outbound.open(timeout=timedelta(seconds=0.3), visible=False)
        assert (await passage.fetch(server.url, most=3)).body == b"xxx"
        with pytest.raises(LostResponse):
            await passage.request("GET", server.url)


@pytest.mark.parametrize("head", [b"Content-Length: 101\r\n", b"", b"Transfer-Encoding: chunked\r\n"])
async def test_download_over_size_limit_is_refused(serve: Serve, head: bytes) -> None:
    async def show(visit: Visit) -> None:
        await visit.request()
        body = b"65\r\n" + b"x" * 101 + b"\r\n0\r\n\r\n" if b"chunked" in head else b"x" * 101
        await visit.say(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body)
        if not head:
            await asyncio.Event().wait()

    server = await serve(show)
    async with OutboundHttp(allowed_origins=[server.url]) as outbound:
        with pytest.raises(DownloadRefused, match="larger than the limit of 100 bytes"):
            await outbound.open(timeout=SOON, visible=False).fetch(server.url, most=100)
