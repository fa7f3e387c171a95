"""Bodies are read only where a route takes one, and large ones do not hold up other requests."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postino.api import body_limits
from postino.api.beside_loop import LARGE
from postino.api.body_limits import MAX_LARGE_BODIES
from postino.api.server import ROUTES
from tests.api.asgi import AsgiClient, run_api
from tests.api.bad_values import Document
from tests.api.test_authorization import fill_in
from tests.documents import ROOT

MEGABYTE = b"[" + b"0," * 499_000 + b"0]"
LARGE_JOB = json.dumps({"type": "x", "payload": "a" * (LARGE + 1), "preview": True}).encode()
BODILESS = [route for route in ROUTES if not route.takes_body]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[AsgiClient]:
    async with run_api(tmp_path) as api:
        yield api


@pytest.mark.parametrize(("method", "path"), [("POST", "/health/live"), ("PUT", "/health/live"), ("POST", "/")])
async def test_body_of_a_stranger_is_never_read(api: AsgiClient, method: str, path: str) -> None:
    reply = await api.ask(method, path, MEGABYTE, authorization="")
    assert (reply.status, reply.reads) == (405, 0)


async def test_every_route_without_a_body_rejects_one_unread(api: AsgiClient) -> None:
    assert len(BODILESS) > 40
    for route in BODILESS:
        reply = await api.ask(route.method, fill_in(route.path), MEGABYTE)
        assert (reply.status, reply.reads) == (413, 0), (route.path, reply)
        assert "takes no body" in reply.json["detail"]


async def test_body_is_never_read_for_a_method_that_a_path_does_not_have(api: AsgiClient) -> None:
    known = {(route.method, fill_in(route.path)) for route in ROUTES}
    for path in sorted({path for _, path in known}):
        for method in ("POST", "PATCH", "PUT"):
            if (method, path) not in known:
                reply = await api.ask(method, path, MEGABYTE)
                assert (reply.status, reply.reads) == (405, 0), (method, path)


async def test_body_behind_a_path_with_a_line_break_is_never_read(api: AsgiClient) -> None:
    """The router takes a path with a line break at its end for the path without."""
    paths = [route.path for route in ROUTES if route.takes_body and "{" not in route.path]
    for path in paths:
        assert (await api.ask("POST", f"{path}\n", MEGABYTE)).reads == 0, path
    assert len(paths) > 10


async def test_chunked_body_where_none_is_taken_is_rejected_unread(api: AsgiClient) -> None:
    reply = await api.ask("GET", "/v1/jobs", transfer_encoding="chunked")
    assert (reply.status, reply.reads) == (413, 0)


async def test_body_of_a_wrong_key_is_never_read(api: AsgiClient) -> None:
    taking = [route for route in ROUTES if route.takes_body and route.role is not None]
    for route in taking:
        reply = await api.ask(route.method, fill_in(route.path), MEGABYTE, authorization="Bearer wrong")
        assert (reply.status, reply.reads) == (401, 0), route.path
    assert len(taking) > 20


def test_document_agrees_which_routes_take_a_body() -> None:
    document = Document(json.loads((ROOT / "openapi.json").read_text()))
    taking = {(method, path) for method, path, operation in document.operations() if "requestBody" in operation}
    assert taking == {(it.method, it.path) for it in ROUTES if it.takes_body and it.in_schema}


async def test_large_body_is_parsed_beside_the_loop(api: AsgiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, leave = threading.Event(), threading.Event()

    def check_slowly(body: bytes, most: int) -> Any:
        entered.set()
        assert leave.wait(30)
        return json.loads(body)

    monkeypatch.setattr(body_limits, "check_body", check_slowly)
    slow = asyncio.create_task(api.ask("POST", "/v1/jobs", LARGE_JOB))
    await asyncio.to_thread(entered.wait, 30)
    assert (await api.ask("GET", "/health/live")).status == 200
    assert (await api.ask("GET", "/v1/jobs")).status == 200
    assert not slow.done()
    leave.set()
    assert (await slow).status == 200


async def test_body_is_parsed_once(api: AsgiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    loads = json.loads

    def count_and_load(text: Any, **options: Any) -> Any:
        parsed.append(len(text))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", count_and_load)
    assert (await api.ask("POST", "/v1/jobs", LARGE_JOB)).status == 200
    assert len([size for size in parsed if size > LARGE]) == 1


async def test_large_bodies_of_one_caller_are_limited(api: AsgiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    other_key = json.dumps({"name": "other", "role": "owner"}).encode()
    key = (await api.ask("POST", "/v1/api-keys", other_key)).json["key"]
    leave = threading.Event()
    monkeypatch.setattr(body_limits, "check_body", lambda body, most: leave.wait(30) and json.loads(body))
    first = [asyncio.create_task(api.ask("POST", "/v1/jobs", LARGE_JOB)) for _ in range(MAX_LARGE_BODIES)]
    for _ in range(100):
        await asyncio.sleep(0)
    refused = await api.ask("POST", "/v1/jobs", LARGE_JOB)
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    other = asyncio.create_task(AsgiClient(api.app, key).ask("POST", "/v1/jobs", LARGE_JOB))
    leave.set()
    assert [one.status for one in await asyncio.gather(*first, other)] == [200] * (MAX_LARGE_BODIES + 1)
    assert (await api.ask("POST", "/v1/jobs", LARGE_JOB)).status == 200


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 100_000, "[" * 500 + "]" * 500, '{"payload":' + "[" * 900])
async def test_deep_body_is_rejected_at_every_route(api: AsgiClient, body: str) -> None:
    for route in ROUTES:
        if route.takes_body and not route.body.is_file:
            reply = await api.ask(route.method, fill_in(route.path), body.encode())
            assert reply.status in (400, 413), (route.path, reply)


async def test_page_with_large_payloads_is_shorter_and_the_next_one_continues(api: AsgiClient) -> None:
    for size in (900_000, 10, 900_000, 900_000, 10):
        body = json.dumps({"type": "x", "payload": "a" * size, "run_at": "2099-01-01T00:00:00Z"}).encode()
        assert (await api.ask("POST", "/v1/jobs", body)).status == 201
    sizes: list[list[int]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api.ask("GET", f"/v1/jobs?limit=5{cursor and f'&cursor={cursor}'}")).json
        sizes.append([len(job["payload"]) for job in page["data"]])
        cursor = page["next_cursor"]
    assert sizes == [[10, 900_000, 900_000, 10], [900_000]]


async def test_page_with_large_drafts_is_shorter_and_the_next_one_continues(api: AsgiClient) -> None:
    for size in (900_000, 10, 900_000, 900_000, 10):
        options = {"tag": "a" * size}
        body = json.dumps({"text": "x", "overrides": {"mastodon": {"options": options}}}).encode()
        assert (await api.ask("POST", "/v1/drafts", body)).status == 201
    sizes: list[list[int]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api.ask("GET", f"/v1/drafts?limit=5{cursor and f'&cursor={cursor}'}")).json
        sizes.append([len(draft["overrides"]["mastodon"]["options"]["tag"]) for draft in page["data"]])
        cursor = page["next_cursor"]
    assert sizes == [[10, 900_000, 900_000, 10], [900_000]]
