"""Which failures count for a circuit: only what the service itself answers, or fails to answer."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from postino import Job, Outcome, Postino, Reject, State
from postino.config import ChannelConfig
from postino.engine.call import Call
from tests.engine.conftest import run_worker, wait_for
from tests.outbound.raw_server import Behaviour, RawServer, Visit
from tests.publishing.mastodon_server import add_account, keep_silent, open_app, post, publish, reset, send_half

MANY: dict[str, Any] = {"failure_threshold": 1000}
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 100


async def answer(status: int, visit: Visit, body: bytes = b"{}", **headers: str) -> None:
    while True:
        await visit.request()
        await visit.answer(status, body, **headers)


SERVERS: dict[str, tuple[Behaviour, bool]] = {
    **{f"status {status}": (partial(answer, status), True) for status in (408, 423, 425, 500, 502, 503, 504, 599)},
    **{
        f"status {status}": (partial(answer, status), False) for status in (302, 400, 401, 403, 404, 409, 413, 422, 429)
    },
    "status 429 with a time": (partial(answer, 429, retry_after="2"), False),
    "no JSON": (partial(answer, 200, body=b"<html>"), False),
    "JSON without an id": (partial(answer, 200, body=b"[]"), False),
    "more than Postino reads": (partial(answer, 200, body=b"[" * 2_000_001), False),
    "silence": (keep_silent, True),
    "a reset": (reset, True),
    "half a response": (send_half, True),
}
MEDIA = {
    "/404": 404, "/403": 403, "/410": 410, "/429": 429, "/500": 500, "/503": 503, "/302": 302, "/page": 200,
    "/silent": 0, "/reset": 0, "/half": 0,
}  # fmt: skip


async def serve_media(visit: Visit) -> None:
    path = (await visit.request()).split()[1].decode()
    if path in ("/silent", "/reset", "/half"):
        await {"/silent": keep_silent, "/reset": reset, "/half": send_half}[path](Replay(visit))
    elif path == "/image.png":
        await visit.answer(body=PNG)
    else:
        await visit.answer(MEDIA[path], b"<html>", content_type="text/html")


class Replay(Visit):
    """A connection whose request has been read."""

    def __init__(self, visit: Visit) -> None:
        super().__init__(visit.reader, visit.writer, visit.server)

    async def request(self) -> bytes:
        return b""


async def has_ended_an_attempt(app: Postino, job: Job) -> bool:
    now_is = await app.store.job(job.id)
    return now_is.state is not State.RUNNING and bool(now_is.attempts or now_is.deferral_reason)


async def test_failures_of_the_server_count_and_refusals_do_not(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(RawServer(behave)) for name, (behave, _) in SERVERS.items()}
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            servers["a closed port"] = RawServer(publish)
            servers["a closed port"].port = closed.getsockname()[1]
        once = {"mastodon": ChannelConfig(max_attempts=1)}
        url = f"sqlite:///{tmp_path}/postino.db"
        app = await stack.enter_async_context(open_app(tmp_path, url, [*servers.values()], channels=once, **MANY))
        accounts = {name: await add_account(app, f"a{n}", it.url) for n, (name, it) in enumerate(servers.items())}
        async with run_worker(app, concurrency=50):
            for account in accounts.values():
                job = await post(app, account, "hello")
                await wait_for(partial(has_ended_an_attempt, app, job))
        counted = {name: bool((await app.store.circuit(it.service))[0].failures) for name, it in accounts.items()}
        assert counted == {name: counts for name, (_, counts) in SERVERS.items()} | {"a closed port": True}
        assert all("@" in breaker.service for breaker in await app.store.circuits())


async def test_no_failure_of_a_media_host_counts(tmp_path: Path) -> None:
    async with RawServer(publish) as server, RawServer(serve_media) as media:
        url = f"sqlite:///{tmp_path}/postino.db"
        once = {"mastodon": ChannelConfig(max_attempts=1)}
        async with open_app(tmp_path, url, [server], media, once, failure_threshold=1) as app:
            pictures = [
                "https://no-such-host.invalid/image.png",
                *(f"{media.url}{path}" for path in MEDIA),
            ]
            accounts = [await add_account(app, f"a{number}", server.url) for number in range(len(pictures) + 1)]
            async with run_worker(app, concurrency=50):
                for account, picture in zip(accounts, pictures, strict=False):
                    job = await post(app, account, "hello", picture)
                    await wait_for(partial(has_ended_an_attempt, app, job))
                    assert (await app.store.job(job.id)).state is not State.COMPLETED, picture
                well = await post(app, accounts[-1], "hello", f"{media.url}/image.png")
                await wait_for(partial(has_ended_an_attempt, app, well))
            assert (await app.store.job(well.id)).state is State.COMPLETED
            assert await app.store.circuits() == []


@dataclass
class Order:
    number: int


async def test_only_failures_of_handlers_count_among_jobs_without_a_call(tmp_path: Path) -> None:
    """Jobs of the caller's own, on channels with a circuit."""
    circuit = ChannelConfig(max_attempts=1, circuit={"failure_threshold": 1000})
    kinds = {
        "fails": True, "calls": True, "rejects": False, "unreadable": False, "downloads": False, "unknown": False,
    }  # fmt: skip
    async with RawServer(partial(answer, 500)) as server, RawServer(serve_media) as media:
        url = f"sqlite:///{tmp_path}/postino.db"
        async with open_app(tmp_path, url, [server], media, dict.fromkeys(kinds, circuit)) as app:

            @app.handler("fails")
            async def fail() -> None:
                raise RuntimeError("broken")

            @app.handler("calls")
            async def ask(job: Job, payload: Any, call: Call) -> None:
                await call.http.request("GET", server.url)

            @app.handler("rejects")
            async def reject() -> Outcome:
                return Reject("never")

            @app.handler("unreadable")
            async def read(job: Job, payload: Order) -> None:
                raise AssertionError("it cannot be read")

            @app.handler("downloads")
            async def download(job: Job, payload: Any, call: Call) -> None:
                await call.http.fetch("https://no-such-host.invalid/image.png", most=1000)

            async with run_worker(app):
                for kind in kinds:
                    job = await app.enqueue(kind, b"\xff" if kind == "unreadable" else None)
                    if kind != "unknown":
                        await wait_for(partial(has_ended_an_attempt, app, job))
                last = await app.enqueue("rejects")  # claimed after the job of an unknown type
                await wait_for(partial(has_ended_an_attempt, app, last))
            assert {kind: bool((await app.store.circuit(kind))[0].failures) for kind in kinds} == kinds
