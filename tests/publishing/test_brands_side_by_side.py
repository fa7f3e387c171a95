"""Two brands on one network: whatever the servers, the media and the jobs of one do, the posts of the other go out."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from postino import Postino, State
from postino.config import ChannelConfig
from postino.rules.circuit_breaker import CircuitState
from tests.engine.conftest import database_url, run_worker, wait_for, wait_for_end
from tests.outbound.raw_server import RawServer, Visit
from tests.publishing.mastodon_server import add_account, keep_silent, open_app, post, publish, reset

__all__ = ["database_url"]


async def fail(visit: Visit) -> None:
    while True:
        await visit.request()
        await visit.answer(500)


async def limit_rate(visit: Visit) -> None:
    while True:
        await visit.request()
        await visit.answer(429, retry_after="3600")


async def test_posts_go_out_beside_broken_servers_media_and_jobs(database_url: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        shared = await stack.enter_async_context(RawServer(publish))
        media = await stack.enter_async_context(RawServer(fail))
        broken = [await stack.enter_async_context(RawServer(it)) for it in (fail, keep_silent, reset, limit_rate)]
        servers = [shared, *broken]
        again = {
            "mastodon": ChannelConfig(max_attempts=20, retry_backoff={"base": 0.01, "factor": 1, "max": 0.01}, cap=10)
        }
        circuits: dict[str, Any] = {"failure_threshold": 3, "open_timeout": 3600.0, "max_open_timeout": 3600.0}
        app = await stack.enter_async_context(open_app(tmp_path, database_url, servers, media, again, **circuits))
        for number, server in enumerate(broken):
            for name in range(6):
                account = await add_account(app, f"m{number}-{name}", server.url, "mallory")
                for text in ("one", "two"):
                    await post(app, account, text)
        for name, picture in enumerate(("https://no-such-host.invalid/a.png", f"{media.url}/a.png")):
            account = await add_account(app, f"shared{name}", shared.url, "mallory")
            for text in ("one", "two", "three"):
                await post(app, account, text, picture)
        await app.enqueue_many([{"type": "nobody.handles", "brand": "mallory"}] * 10)
        victims = [await add_account(app, f"v{name}", shared.url, "victim") for name in range(3)]
        posts = [await post(app, account, text) for account in victims for text in ("one", "two", "three")]

        async with run_worker(app, concurrency=8):
            for job in posts:
                ended = await wait_for_end(app, job)
                assert (ended.state, ended.attempts, ended.deferrals) == (State.COMPLETED, 1, 0)
            for server in broken[:3]:
                await wait_for(partial(is_open, app, f"mastodon@127.0.0.1:{server.port}"))
            later = [await wait_for_end(app, await post(app, account, "later")) for account in victims]
            assert {(job.state, job.attempts) for job in later} == {(State.COMPLETED, 1)}
        states = {breaker.service: breaker.state for breaker in await app.store.circuits()}
        assert states == {f"mastodon@127.0.0.1:{server.port}": CircuitState.OPEN for server in broken[:3]}


async def is_open(app: Postino, service: str) -> bool:
    return (await app.store.circuit(service))[0].state is CircuitState.OPEN
