"""Which software a server runs, by nodeinfo: only known software is sent a post again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino.outbound.http import OutboundHttp
from postino.providers.mastodon_software import ASK_AGAIN, Software, SoftwareByServer, find_link
from postino.values.provider import Answer, UnreadableResponse
from tests.outbound.raw_server import RawServer, Visit

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
REL = "http://nodeinfo.diaspora.software/ns/schema/2.1"
INDEX, PAGE = b"/.well-known/nodeinfo", b"/description"


class Server:
    """Answers like a server with nodeinfo, whose responses a test may replace."""

    def __init__(self, **software: Any) -> None:
        self.software = software
        self.responses: dict[bytes, tuple[int, bytes]] = {}

    async def __call__(self, visit: Visit) -> None:
        while True:
            path = (await visit.request()).split(b" ")[1]
            links = {"links": [{"rel": REL, "href": f"http://127.0.0.1:{visit.server.port}/description"}]}
            page = {INDEX: links, PAGE: {"software": self.software}}[path]
            status, body = self.responses.get(path, (200, json.dumps(page).encode()))
            await visit.answer(status, body)


async def identify(
    outbound: OutboundHttp, server: RawServer, known: SoftwareByServer, now: datetime = NOW
) -> Software | Answer:
    return await known.identify(outbound.open(timeout=timedelta(seconds=5), visible=False), server.url, now)


@pytest.mark.parametrize(
    ("name", "version", "honours"),
    [
        ("mastodon", "4.5.0", True),
        ("Mastodon", "4.4.0-nightly.2025-03-01+glitch", True),
        ("mastodon", "1.9.0", False),
        ("mastodon", "2.7.2 (compatible; Pleroma 2.4.1)", False),
        ("mastodon", None, False),
        ("pleroma", "4.5.0", False),
        ("<b>mastodon", "4.5.0", False),
        (None, "4.5.0", False),
    ],
)
async def test_only_known_software_and_versions_honour_the_key(
    outbound: OutboundHttp, name: str | None, version: str | None, honours: bool
) -> None:
    async with RawServer(Server(name=name, version=version)) as server:
        software = await identify(outbound, server, SoftwareByServer())
    assert isinstance(software, Software)
    assert software.honours_key() is honours


async def test_software_is_remembered_for_a_day(outbound: OutboundHttp) -> None:
    program, known = Server(name="mastodon", version="4.5.0"), SoftwareByServer()
    async with RawServer(program) as server:
        for minutes in (0, 1, 60):
            assert str(await identify(outbound, server, known, NOW + timedelta(minutes=minutes))) == "mastodon 4.5.0"
        assert len(server.requests) == 2
        program.software = {"name": "gotosocial", "version": "0.17.0"}
        assert str(await identify(outbound, server, known, NOW + ASK_AGAIN)) == "gotosocial 0.17.0"


@pytest.mark.parametrize("path", [INDEX, PAGE])
@pytest.mark.parametrize("status", [301, 401, 403, 404, 410, 418])
async def test_server_that_refuses_to_tell_has_unknown_software(
    outbound: OutboundHttp, path: bytes, status: int
) -> None:
    """A refusal of this page says nothing about the account. It is not remembered."""
    program, known = Server(name="mastodon", version="4.5.0"), SoftwareByServer()
    async with RawServer(program) as server:
        program.responses[path] = (status, b'{"error": "Your login is currently disabled"}')
        assert await identify(outbound, server, known) == Software()
        program.responses.clear()
        assert await identify(outbound, server, known) == Software("mastodon", "4.5.0")
    assert all(b"Authorization" not in request for request in server.requests)


@pytest.mark.parametrize("path", [INDEX, PAGE])
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_server_that_is_busy_is_asked_later(outbound: OutboundHttp, path: bytes, status: int) -> None:
    program = Server(name="mastodon", version="4.5.0")
    program.responses[path] = (status, b"busy")
    async with RawServer(program) as server:
        answer = await identify(outbound, server, SoftwareByServer())
    assert isinstance(answer, Answer)
    assert answer.status == status


@pytest.mark.parametrize("body", [b"[]", b'{"links": 1}', b'{"links": [1, {"rel": 2}]}', b'{"software": 1}'])
@pytest.mark.parametrize("path", [INDEX, PAGE])
async def test_unreadable_description_is_unknown_software(outbound: OutboundHttp, path: bytes, body: bytes) -> None:
    program = Server(name="mastodon", version="4.5.0")
    program.responses[path] = (200, body)
    async with RawServer(program) as server:
        assert await identify(outbound, server, SoftwareByServer()) == Software()
        program.responses[path] = (200, body[:-1])
        with pytest.raises(UnreadableResponse):
            await identify(outbound, server, SoftwareByServer())


@pytest.mark.parametrize(
    ("href", "same"),
    [
        ("https://social.test/nodeinfo/2.0", True),
        ("http://social.test/nodeinfo/2.0", False),
        ("https://social.test:8443/nodeinfo/2.0", False),
        ("https://other.test/nodeinfo/2.0", False),
        ("https://social.test@other.test/", False),
        ("https://me@social.test/", False),
        ("/nodeinfo/2.0", False),
        ("https://[::1", False),
        ("https://social.test:99999999/", False),
    ],
)
def test_description_is_read_from_the_server_itself_only(href: str, same: bool) -> None:
    links = {"links": [{"rel": "https://elsewhere", "href": "https://social.test/"}, {"rel": REL, "href": href}]}
    assert find_link("https://social.test", links) == (href if same else None)
