"""Event streams and imports in progress are limited by key, brand and address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fastapi import Request

from postino.api.caller import Caller
from postino.api.concurrency_limits import CALLERS_PER_ADDRESS, ConcurrencyLimits, LimitReached
from postino.api.context import MAX_IMPORTS
from postino.publishing.imports import Importer
from postino.values.auth import Role
from tests.api.asgi import run_api
from tests.api.browser import with_key
from tests.api.processes import Client, Reply, Server, eventually
from tests.api.test_events import EventStreamClient

STREAMS = 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("streams") / "data", POSTINO_API_STREAMS=str(STREAMS)) as server:
        yield server


def can_listen(client: Client) -> bool:
    try:
        with EventStreamClient(client):
            return True
    except AssertionError:
        return False


def ask_refused(client: Client) -> Reply:
    reply = client.ask("GET", "/v1/events")
    assert (reply.status, reply.headers["retry-after"]) == (429, "10")
    return reply


def test_streams_of_a_key_a_brand_and_an_address_are_limited(server: Server) -> None:
    brand = {"brands": ["acme"]}
    keys = [with_key(server, "viewer", **fields) for fields in (brand, brand, {}, {}, {})]
    with ExitStack() as streams:
        for _ in range(STREAMS):
            streams.enter_context(EventStreamClient(keys[0]))
        assert "caller key:" in ask_refused(keys[0]).json["detail"]
        assert "brand acme" in ask_refused(keys[1]).json["detail"]
        for key in keys[2:]:
            for _ in range(STREAMS):
                streams.enter_context(EventStreamClient(key))
        assert "address 127.0.0.1" in ask_refused(server.api).json["detail"]
    eventually(lambda: can_listen(keys[1]))


def make_request(address: str) -> Request:
    return Request({"type": "http", "client": (address, 1), "headers": []})


def make_caller(name: str, *brands: str) -> Caller:
    return Caller(f"key:{name}", name, Role.EDITOR, frozenset(brands) or None)


def test_what_ended_counts_no_more_and_is_forgotten() -> None:
    limits = ConcurrencyLimits(1)
    with limits.enter(make_request("203.0.113.7"), make_caller("a", "acme", "other")):
        with pytest.raises(LimitReached), limits.enter(make_request("203.0.113.8"), make_caller("b", "acme")):
            pass
        with limits.enter(make_request("203.0.113.8"), make_caller("b", "third")):
            assert len(limits.counts) == 7
    assert not limits.counts


def test_address_may_have_more_than_one_caller() -> None:
    limits = ConcurrencyLimits(1)
    with ExitStack() as open_ones:
        for number in range(CALLERS_PER_ADDRESS):
            open_ones.enter_context(limits.enter(make_request(f"2001:db8::{number}"), make_caller(str(number))))
        with pytest.raises(LimitReached), limits.enter(make_request("2001:db8::ff"), make_caller("x")):
            pass


async def test_imports_in_progress_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[int] = []

    async with run_api(tmp_path) as api:
        check = Importer.check

        async def check_and_ask(self: Importer, *args: object) -> object:
            """While an import is in progress, send the next one."""
            reply = await api.ask("POST", "/v1/imports", b"text,accounts,at\n")
            if reply.status == 429:
                refused.append(int(reply.headers["retry-after"]))
            return await check(self, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(Importer, "check", check_and_ask)
        assert (await api.ask("POST", "/v1/imports", b"text,accounts,at\n")).status == 200
        assert refused == [5]
        monkeypatch.setattr(Importer, "check", check)
        reply = await api.ask("POST", "/v1/imports", b"text,accounts,at\n")
        assert json.loads(reply.body)["rows"] == 0
    assert MAX_IMPORTS > 1
