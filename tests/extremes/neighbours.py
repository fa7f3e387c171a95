"""An app with a server that works and neighbours who publish on it, whatever else was created beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from postino import Postino
from postino.config import ChannelConfig
from tests.engine.conftest import WITHIN, run_worker, wait_for
from tests.extremes.in_process import Api, quote_name
from tests.outbound.raw_server import RawServer
from tests.publishing.mastodon_server import add_account, open_app, publish

NEIGHBOURS = ("mastodon:anna", "mastodon:bruno")
AT_ONCE = {"base": 0, "factor": 1, "max": 0}
WHOLE_LISTS = (
    "/v1/posts", "/v1/drafts", "/v1/jobs", "/v1/accounts", "/v1/blackouts", "/v1/dead-letters", "/v1/uncertain",
    "/v1/queues", "/v1/workers", "/v1/stats", "/v1/circuits", "/v1/quotas", "/v1/brands", "/v1/audit",
    "/v1/dead-letters/groups",
)  # fmt: skip
ATTACKERS_WAIT = {"lag", "no_worker", "lane"}  # what only keeps a job waiting until a worker has time
NUMBERS = count(1)


@dataclass
class Neighbourhood:
    app: Postino
    api: Api
    server: RawServer

    async def check_neighbours(self, **fields: Any) -> None:
        """Publish a post of each neighbour and expect each to go out at the first attempt."""
        for account in NEIGHBOURS:
            body = {"text": f"from {account} {next(NUMBERS)}", "accounts": [account], **fields}
            status, answer = await self.api.ask("POST", "/v1/posts", body)
            assert status == 202, answer
            await self.wait_for_post(self.is_published, answer["posts"][0]["id"])

    async def wait_for_post(self, is_there: Callable[[str], Awaitable[bool]], post_id: str) -> None:
        try:
            await wait_for(lambda: is_there(post_id))
        except TimeoutError:
            raise AssertionError(await self.api.get(f"/v1/posts/{post_id}/explain")) from None

    async def is_published(self, post_id: str) -> bool:
        post = await self.api.get(f"/v1/posts/{post_id}")
        assert post["status"] in ("scheduled", "publishing", "published"), post
        if post["status"] != "published":
            return False
        assert (post["attempts"], post["flags"]) == (1, []), post
        return True

    async def wait_for_all(self, job_ids: Sequence[str]) -> None:
        """Wait until each job was attempted, or something else than a delay keeps it from starting."""
        for job_id in job_ids:
            await self.wait_for_post(self.has_run_or_waits, job_id)

    async def has_run_or_waits(self, job_id: str) -> bool:
        job = await self.api.get(f"/v1/jobs/{job_id}")
        if job["state"] != "pending" or job["attempts"] or job["history"]:
            return True
        blockers = (await self.api.get(f"/v1/posts/{job_id}/explain"))["blockers"]
        return bool({blocker["kind"] for blocker in blockers} - ATTACKERS_WAIT)

    async def read_everything(self, post_ids: Sequence[str]) -> None:
        """Read every list, and every page about these posts."""
        for path in WHOLE_LISTS:
            await self.api.get(path, **({"verify": "true"} if path == "/v1/audit" else {}))
        for first, last in (("2031-03-25", "2031-04-10"), ("8999-12-20", "8999-12-31")):
            for zone in ("UTC", "Pacific/Apia", "Australia/Lord_Howe"):
                await self.api.get("/v1/calendar", **{"from": first, "to": last, "timezone": zone})
        listed = {post["id"] for post in await self.api.list_all("/v1/posts", limit="200")}
        by_time = await self.api.list_all("/v1/posts", limit="200", **{"from": "2031-01-01T00:00:00Z"})
        assert {*post_ids} <= listed, {*post_ids} - listed
        assert {post["id"] for post in by_time} <= listed
        for post_id in post_ids:
            post = await self.api.get(f"/v1/posts/{post_id}")
            await self.api.get(f"/v1/posts/{post_id}/explain")
            await self.api.get(f"/v1/contents/{post['content_id']}")
            await self.api.get(f"/v1/jobs/{post_id}/explain")
            await self.api.get(f"/v1/accounts/{quote_name(post['account'])}")
        until = (datetime.now(UTC) + timedelta(365)).isoformat()
        status, forecast = await self.api.ask("POST", "/v1/forecast", {"until": until, "picture": True})
        assert status == 200, forecast

    async def settle_all(self, post_ids: Sequence[str]) -> None:
        """End each post: cancel what waits, discard what failed, decide what is uncertain."""
        for post_id in post_ids:
            await self.wait_for_post(self.is_settled, post_id)

    async def is_settled(self, post_id: str) -> bool:
        post = await self.api.get(f"/v1/posts/{post_id}")
        reason = {"reason": "\x01'\u202e\U0001f600"}
        match post["status"]:
            case "published" | "cancelled":
                return True
            case "failed":
                status, answer = await self.api.ask("POST", f"/v1/dead-letters/{post_id}/discard", reason)
                assert status in (200, 409), answer
                return True
            case "uncertain":
                verdict = {"verdict": "give_up", **reason}
                await self.api.ask("POST", f"/v1/posts/{post_id}/resolve", verdict)
            case _:
                await self.api.ask("POST", f"/v1/posts/{post_id}/cancel", reason)
        return False


@asynccontextmanager
async def open_neighbourhood(url: str, folder: Path) -> AsyncIterator[Neighbourhood]:
    channels = {"mastodon": ChannelConfig(max_attempts=2, retry_backoff=AT_ONCE, cap=10)}
    async with RawServer(publish) as server, open_app(folder, url, [server], channels=channels) as app:
        await app.apply_settings()
        for account in NEIGHBOURS:
            await add_account(app, account.partition(":")[2], server.url, "neighbour")
        yield Neighbourhood(app, Api(app), server)


@asynccontextmanager
async def open_and_work(url: str, folder: Path) -> AsyncIterator[Neighbourhood]:
    """Open the neighbourhood with a worker, and expect every claim of the worker to succeed."""
    async with asyncio.timeout(WITHIN * 4), open_neighbourhood(url, folder) as hood, run_worker(hood.app):
        yield hood


def list_post_ids(answers: Sequence[Any]) -> list[str]:
    """Return the ids of the posts in responses to `POST /v1/posts`; a preview has none."""
    return [post["id"] for answer in answers for post in answer["posts"] if "id" in post]
