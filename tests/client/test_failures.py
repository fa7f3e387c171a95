"""Lost answers, busy servers and dead ones: one post in the end, and never a second send of what has no key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from postino.client import ApiUnavailable, NotAllowed, RetryOptions
from postino.errors import Conflict, NotFound, PostinoError, StoreUnreachable, WrongUse
from tests.api.processes import Server
from tests.client.conftest import KEY, Kind
from tests.outbound.raw_server import RawServer, Visit

LATER = "2031-03-01T10:00:00Z"
PROBLEM = "application/problem+json"


def heads(server: RawServer) -> list[str]:
    return [request.split(b"\r\n")[0].decode() for request in server.requests]


def keys(server: RawServer) -> list[str]:
    lines = [line for request in server.requests for line in request.decode().split("\r\n")]
    return [line.partition(": ")[2] for line in lines if line.lower().startswith("idempotency-key:")]


def in_turn(*behaviours: Callable[[Visit], Awaitable[None]]) -> Callable[[Visit], Awaitable[None]]:
    """Give each connection the next behaviour, and the last one to all others."""

    async def behave(visit: Visit) -> None:
        await behaviours[min(visit.server.connections, len(behaviours)) - 1](visit)

    return behave


def respond_with(status: int, body: Any = None, **headers: str) -> Callable[[Visit], Awaitable[None]]:
    async def say(visit: Visit) -> None:
        await visit.request()
        result = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
        await visit.answer(status, result, **headers)

    return say


async def break_connection(visit: Visit) -> None:
    await visit.request()
    visit.reset()


@asynccontextmanager
async def drop_responses(process: Server, lost: int) -> AsyncIterator[RawServer]:
    """Proxy the server, forwarding every request and dropping the first `lost` responses."""
    place = urlsplit(process.ready["url"])

    async def pass_on(visit: Visit) -> None:
        request = await visit.request()
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        try:
            writer.write(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            answer = await reader.read(-1)
        finally:
            writer.close()
        if visit.server.connections <= lost:
            visit.reset()
            return
        await visit.say(answer)

    async with RawServer(pass_on) as proxy:
        yield proxy


def add_account(process: Server) -> str:
    body = {
        "network": "mastodon", "handle": f"{uuid4().hex[:6]}@social.example", "base_url": "sandbox:/mastodon",
        "credentials": {"access_token": "x"},
    }  # fmt: skip
    reply = process.api.ask("POST", "/v1/accounts", body)
    assert reply.status == 201, reply
    return str(reply.json["id"])


def list_posts(process: Server, account: str) -> list[Any]:
    response: list[Any] = process.api.get(f"/v1/posts?account={account}")["data"]
    return response


async def test_response_lost_twice_leaves_one_post(kind: Kind, server: Server) -> None:
    who, key = add_account(server), (server.folder / "api.key").read_text().strip()
    async with drop_responses(server, 2) as proxy, kind.open_caller(proxy.url, key) as ask:
        made = await ask(lambda c: c.posts.create(text="Once", accounts=[who], at=LATER))
        assert len(proxy.requests) == 3
        assert len(set(keys(proxy))) == 1
    assert [one["id"] for one in list_posts(server, who)] == [made["posts"][0]["id"]]


async def test_lost_response_queues_job_once(kind: Kind, server: Server) -> None:
    channel, key = uuid4().hex, (server.folder / "api.key").read_text().strip()
    async with drop_responses(server, 1) as proxy, kind.open_caller(proxy.url, key) as ask:
        job = await ask(lambda c: c.jobs.create("report", channel=channel, run_at=LATER))
    [result] = server.api.get(f"/v1/jobs?channel={channel}")["data"]
    assert result["id"] == job["id"]


async def test_two_calls_create_two_posts_and_one_key_creates_one(kind: Kind, server: Server) -> None:
    who = add_account(server)
    async with kind.of(server) as ask:
        fields = {"text": "Again", "accounts": [who], "at": LATER, "key": str(uuid4())}
        first, second = [await ask(lambda c: c.posts.create(**fields)) for _ in range(2)]
        assert first == second
        with pytest.raises(Conflict):
            await ask(lambda c: c.posts.create(**fields | {"text": "Another"}))
    assert len(list_posts(server, who)) == 1


async def test_request_without_key_is_sent_once(kind: Kind, server: Server) -> None:
    who, key = add_account(server), (server.folder / "api.key").read_text().strip()
    post = server.api.ask("POST", "/v1/posts", {"text": "x", "accounts": [who], "at": LATER}).json["id"]
    async with drop_responses(server, 9) as proxy, kind.open_caller(proxy.url, key) as ask:
        with pytest.raises(ApiUnavailable, match="check before you send it again"):
            await ask(lambda c: c.posts.cancel(post))
        with pytest.raises(ApiUnavailable, match="check before"):
            await ask(lambda c: c.posts.edit(post, text="y"))
        with pytest.raises(ApiUnavailable, match="check before"):
            await ask(lambda c: c.blackouts.remove(uuid4()))
        assert len(proxy.requests) == 3
    assert server.api.get(f"/v1/posts/{post}")["status"] == "cancelled"


@pytest.mark.slow
async def test_server_killed_during_create_has_one_post_after_restart(kind: Kind, tmp_path: Path) -> None:
    """The server dies before or after it stores the request; another server receives the retry."""
    first = Server(tmp_path / "data", POSTINO_SANDBOX_URL="http://127.0.0.1:9")
    who, key = add_account(first), (first.folder / "api.key").read_text().strip()
    place = {"url": first.ready["url"]}
    second: list[Server] = []

    async def pass_on(visit: Visit) -> None:
        request = await visit.request()
        where = urlsplit(place["url"])
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
        if not second:
            await writer.drain()
            await asyncio.to_thread(first.kill_group)
            second.append(await asyncio.to_thread(Server, tmp_path / "data"))
            place["url"] = second[0].ready["url"]
            visit.reset()
        else:
            await visit.say(await reader.read(-1))
        writer.close()

    try:
        async with RawServer(pass_on) as proxy, kind.open_caller(proxy.url, key) as ask:
            made = await ask(lambda c: c.posts.create(text="Once", accounts=[who], at=LATER))
        assert [one["id"] for one in list_posts(second[0], who)] == [made["posts"][0]["id"]]
    finally:
        for process in (first, *second):
            process.__exit__()


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_waits_for_retry_after(kind: Kind, status: int) -> None:
    behaviour = in_turn(respond_with(status, Retry_After="3"), respond_with(200, {"name": "ada"}))
    async with RawServer(behaviour) as raw, kind.open_caller(raw.url, naps=False, jitter=lambda: 0.5) as ask:
        assert (await ask(lambda c: c.me()))["name"] == "ada"
        assert ask.slept == [3.01]
        assert heads(raw) == ["GET /v1/me HTTP/1.1"] * 2


@pytest.mark.parametrize(("status", "error"), [(429, PostinoError), (503, StoreUnreachable)])
async def test_retries_end_with_the_servers_message(kind: Kind, status: int, error: type[PostinoError]) -> None:
    problem = {"detail": "Not now.", "request_id": "r-1"}
    async with RawServer(respond_with(status, problem)) as raw, kind.open_caller(raw.url, naps=False) as ask:
        with pytest.raises(error, match=r"Not now\.") as context:
            await ask(lambda c: c.posts.create(text="x", accounts=["a"]))
        assert context.value.__notes__ == ["request id: r-1"]
        assert (len(raw.requests), len(ask.slept), len(set(keys(raw)))) == (4, 3, 1)


async def test_long_retry_after_is_not_waited_for(kind: Kind) -> None:
    behaviour = respond_with(429, {"detail": "In an hour."}, Retry_After="3600")
    async with RawServer(behaviour) as raw, kind.open_caller(raw.url, naps=False) as ask:
        with pytest.raises(PostinoError, match="In an hour"):
            await ask(lambda c: c.me())
        assert (len(raw.requests), ask.slept) == (1, [])


async def test_unreachable_server_raises_with_idempotency_key(kind: Kind) -> None:
    async with RawServer(break_connection) as raw:
        url = raw.url
    async with kind.open_caller(url, retry=RetryOptions(attempts=2, first_delay=timedelta(milliseconds=1))) as ask:
        with pytest.raises(ApiUnavailable, match=r"POST /v1/posts.*key='mine'.*takes effect once"):
            await ask(lambda c: c.posts.create(text="x", accounts=["a"], key="mine"))
        with pytest.raises(ApiUnavailable, match=r"GET /v1/me.*Nothing was changed"):
            await ask(lambda c: c.me())


async def test_silent_server_times_out(kind: Kind) -> None:
    async def silent(visit: Visit) -> None:
        await visit.request()
        await asyncio.Event().wait()

    retry = RetryOptions(attempts=1)
    async with RawServer(silent) as raw, kind.open_caller(raw.url, timeout=timedelta(seconds=0.05), retry=retry) as ask:
        with pytest.raises(ApiUnavailable, match=r"no data within 0\.05 s"):
            await ask(lambda c: c.me())


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (respond_with(200, b"<html>"), "not JSON"),
        (respond_with(404, b"<html>"), "no reason"),
        (respond_with(302, Location="http://127.0.0.1:1/"), "no reason"),
        (respond_with(500, b"[1]"), "no reason"),
    ],
)
async def test_response_of_another_server_raises(
    kind: Kind, behaviour: Callable[[Visit], Awaitable[None]], words: str
) -> None:
    async with RawServer(behaviour) as raw, kind.open_caller(raw.url) as ask:
        with pytest.raises(ApiUnavailable, match=words):
            await ask(lambda c: c.me())
        assert len(raw.requests) == 1


async def test_error_responses_raise_with_the_servers_message(kind: Kind, server: Server) -> None:
    nobody = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
    who = add_account(server)
    async with kind.of(server) as ask:
        with pytest.raises(WrongUse, match=r"tex: there is no such field\. Did you mean text") as wrong:
            await ask(lambda c: c.posts.create(tex="x", accounts=[who]))
        assert wrong.value.field == "tex"
        with pytest.raises(WrongUse) as wrong:
            await ask(lambda c: c.posts.list(limit=1000))
        assert wrong.value.field == "limit"
        with pytest.raises(NotFound, match=nobody):
            await ask(lambda c: c.posts.get(nobody))
        made = await ask(lambda c: c.posts.create(text="x", accounts=[who], at=LATER))
        await ask(lambda c: c.posts.cancel(made["posts"][0]["id"]))
        with pytest.raises(Conflict, match="cancelled"):
            await ask(lambda c: c.posts.publish_now(made["posts"][0]["id"]))
        with pytest.raises(WrongUse, match="is not a valid id"):
            await ask(lambda c: c.posts.get(""))
    async with kind.open_caller(server.ready["url"], "postino_wrong") as ask:
        with pytest.raises(NotAllowed, match="API key is invalid"):
            await ask(lambda c: c.me())


async def test_errors_and_reprs_contain_no_secrets(kind: Kind) -> None:
    async def echo(visit: Visit) -> None:
        text = (await visit.request()).decode()
        problems = [{"field": "x", "message": text}]
        await visit.answer(422, json.dumps({"detail": text, "problems": problems}).encode())

    async with RawServer(echo) as raw, kind.open_caller(raw.url) as ask:
        with pytest.raises(WrongUse) as error:
            await ask(lambda c: c.me())
        shown = [repr(ask.client), repr(ask.client.session), str(error.value), *error.value.__notes__]
        assert KEY not in " ".join(shown)
    async with RawServer(break_connection) as raw, kind.open_caller(raw.url) as ask:
        with pytest.raises(ApiUnavailable) as lost:
            await ask(lambda c: c.accounts.add("x", "y", {"password": "hunter2"}))
        assert "hunter2" not in repr(lost.value)
        assert (KEY in repr(lost.value), len(raw.requests)) == (False, 1)


@pytest.mark.parametrize(
    ("url", "key", "field"),
    [
        ("127.0.0.1:8700", None, "url"),
        ("ftp://x", None, "url"),
        ("http://", None, "url"),
        ("http://ada:hunter2@x", None, "url"),
        ("http://x:99999", None, "url"),
        ("http://x\r\nHost: y", None, "url"),
        ("http://x/?a=b", None, "url"),
        ("http://x", "two words", "key"),
        ("http://x", "hunter2\r\nX: y", "key"),
        ("http://x", "", "key"),
    ],
)
async def test_invalid_url_or_key_is_rejected_and_not_shown(kind: Kind, url: str, key: str | None, field: str) -> None:
    with pytest.raises(WrongUse) as error:
        async with kind.open_caller(url, key):
            pass
    assert error.value.field == field
    assert "hunter2" not in str(error.value)
