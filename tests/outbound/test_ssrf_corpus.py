"""No URL of the corpus makes the outbound client connect to this machine or to a private network.

The attacker owns the DNS: every name leads to 127.0.0.1, or where `answers` says. A canary listens on the port that the
URLs name. The test also sees each socket before it connects, for addresses at which no canary can listen.
"""

from __future__ import annotations

import errno
import ipaddress
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from postino.outbound import http as outbound_http
from postino.outbound import ssrf
from postino.outbound.connector import create_socket
from postino.outbound.http import OutboundHttp
from postino.outbound.special_networks import is_public
from postino.outbound.ssrf import UnsafeUrl
from postino.values.provider import NotSent
from tests.outbound.conftest import Serve
from tests.outbound.raw_server import RawServer, Visit, polite

CORPUS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "ssrf_corpus.json").read_text())
TECHNIQUES = [entry["technique"] for entry in CORPUS]
SOON = timedelta(seconds=5)
LOCAL = [["127.0.0.1"]]


@dataclass
class Names(AbstractResolver):
    """The attacker's DNS: the same answer to each lookup, unless there are later ones."""

    answers: list[str] = field(default_factory=list)
    later: list[list[str]] = field(default_factory=list)

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        addresses, self.answers = self.answers, self.later.pop(0) if self.later else self.answers
        if not addresses:
            raise OSError(errno.ENOENT, "no such name")
        return [
            ResolveResult(
                hostname=host, host=it, port=port, family=socket.AF_INET6 if ":" in it else socket.AF_INET, proto=0,
                flags=0,
            )
            for it in addresses
        ]  # fmt: skip

    async def close(self) -> None:
        pass


@dataclass
class Attack:
    """An outbound client, the attacker's DNS and redirector, the canary, and the sockets that the client made."""

    outbound: OutboundHttp
    names: Names
    redirector: RawServer
    canary: RawServer
    location: str = ""
    status: int = 302
    sockets: list[str] = field(default_factory=list)

    async def fetch(self, url: str) -> None:
        """Download the URL as media."""
        with pytest.raises((UnsafeUrl, NotSent)):
            await self.outbound.open(timeout=SOON, visible=False).fetch(url, most=1000)

    async def request(self, url: str) -> None:
        """Call the URL as the server of an account, of which the settings allow to have no TLS."""
        self.outbound.http_origins = list_http_origins(url)
        for visible in (False, True):
            with pytest.raises(NotSent):
                await self.outbound.open(timeout=SOON, visible=visible, public=True).request("POST", url)

    def assert_nothing_was_reached(self, what: object) -> None:
        assert self.canary.connections == 0, what
        assert [one for one in self.sockets if not is_public(ipaddress.ip_address(one))] == [], what


def list_http_origins(url: str) -> list[str]:
    try:
        return [str(URL(url).origin())]
    except ValueError:
        return []


@pytest.fixture
async def attack(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Attack]:
    async def redirect(visit: Visit) -> None:
        while True:
            path = (await visit.request()).split(b" ", 2)[1]
            next_hop = {b"/3": "/2", b"/2": "/1"}.get(path, made.location)
            await visit.answer(made.status, Location=next_hop)

    def note_public(address: tuple[Any, ...]) -> socket.socket:
        made.sockets.append(address[4][0])
        raise OSError(errno.ENETUNREACH, "the test has no internet")

    def note_allowed(address: tuple[Any, ...]) -> socket.socket:
        if address[4][1] != made.redirector.port:
            made.sockets.append(address[4][0])
        return create_socket(address)

    monkeypatch.setattr(ssrf, "create_socket", note_public)
    monkeypatch.setattr(outbound_http, "create_socket", note_allowed)
    redirector, canary, names = await serve(redirect), await serve(polite), Names()
    async with OutboundHttp(allowed_origins=[redirector.url], resolver=names) as outbound:
        made = Attack(outbound, names, redirector, canary)

        yield made


@pytest.mark.parametrize("entry", CORPUS, ids=TECHNIQUES)
async def test_technique_reaches_neither_this_machine_nor_a_private_network(
    attack: Attack, entry: dict[str, Any]
) -> None:
    attack.status = entry.get("status", 302)
    answers = entry.get("answers", LOCAL)
    for template in entry["urls"]:
        url = template.replace("{port}", str(attack.canary.port))
        for addresses in answers if entry["via"] != "rebinding" else answers[:1]:
            attack.names.answers, attack.names.later = addresses, []
            match entry["via"]:
                case "redirect" | "chain":
                    attack.location = url
                    await attack.fetch(f"{attack.redirector.url}/{3 if entry['via'] == 'chain' else 1}")
                case "rebinding":
                    for act in (attack.fetch, attack.request):
                        attack.names.answers, attack.names.later = addresses, [*answers[1:]]
                        await act(url)
                        await act(url)
                case _:
                    await attack.fetch(url)
                    await attack.request(url)
            attack.assert_nothing_was_reached((url, addresses))


async def test_connections_to_canary_and_sockets_are_recorded(attack: Attack) -> None:
    """The test above proves nothing if a connection would go unnoticed."""
    attack.names.answers = ["93.184.216.34"]
    await attack.fetch("http://public.example/a.jpg")
    assert attack.sockets == ["93.184.216.34"]
    attack.outbound.allowed_origins = [attack.redirector.url, attack.canary.url]
    assert (await attack.outbound.open(timeout=SOON, visible=False).fetch(attack.canary.url, most=1000)).ok
    with pytest.raises(AssertionError):
        attack.assert_nothing_was_reached("this machine")


def test_corpus_is_large_and_has_no_duplicates() -> None:
    urls = [(entry["via"], entry.get("status"), url) for entry in CORPUS for url in entry["urls"]]
    assert len(urls) == len(set(urls)) >= 300
    assert len(TECHNIQUES) == len(set(TECHNIQUES)) >= 40
