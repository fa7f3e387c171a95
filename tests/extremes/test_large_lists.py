"""A list of large things reads and sends a bounded number of bytes; its pages together have everything."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from postino import Postino, Reject, State, Unknown
from postino.client.messages import ApiRequest
from postino.publishing.post_request import PostRequest
from postino.stores.records import JobFilter
from postino.values.content import Content, ContentOverride
from postino.values.networks import PLANNED_NETWORKS
from tests.engine.conftest import database_url, make_config, run_worker, wait_for
from tests.extremes.in_process import Api
from tests.publishing.mastodon_server import add_account

__all__ = ["database_url"]

COUNT, SIZE = 25, 900_000
MOST_SENT, MOST_HELD = 3_000_000, 16_000_000  # bytes; all things of one list have 22 MB, before anything copies them
LATER = datetime.now(UTC) + timedelta(days=30)
LISTS = {
    "/v1/jobs?type=wait&limit=200": COUNT,
    "/v1/jobs?type=wait&brand=acme&limit=200": COUNT,
    "/v1/jobs?state=uncertain&limit=200": COUNT,
    "/v1/dead-letters?limit=200": COUNT,
    "/v1/uncertain?limit=200": COUNT,
    "/v1/posts?limit=200": 2 * COUNT,
}
PREVIEW = {"scope": "brand", "brand": "acme", "start": "00:00", "end": "00:00", "timezone": "UTC"}


@pytest.fixture
async def api(database_url: str, tmp_path: Path) -> AsyncIterator[Api]:
    app = Postino(make_config(tmp_path, database_url))
    await app.store.migrate()
    async with app:
        app.handler("reject")(make_handler(Reject("no")))
        app.handler("doubt")(make_handler(Unknown("lost")))
        for type_, at in (("wait", LATER), ("reject", None), ("doubt", None)):
            payload = "x" * SIZE
            await app.enqueue_many([{"type": type_, "payload": payload, "brand": "acme", "at": at}] * COUNT)
        await create_posts(app)
        async with run_worker(app):
            await wait_for(lambda: have_ended(app))
        yield Api(app)


def make_handler(outcome: Any) -> Any:
    async def handle(job: Any) -> Any:
        return outcome

    return handle


async def have_ended(app: Postino) -> bool:
    failed = await app.store.jobs(JobFilter(states=(State.FAILED,), limit=COUNT))
    return len(failed) + len(await app.store.jobs(JobFilter(states=(State.UNCERTAIN,), limit=COUNT))) == 2 * COUNT


async def create_posts(app: Postino) -> None:
    """Create one large content for each post of an account, and one that posts on many accounts share."""
    accounts = [await add_account(app, f"anna{n}", "https://there.example", "acme") for n in range(COUNT)]
    networks = [name for name in PLANNED_NETWORKS if name != "mastodon"][:10]
    override = ContentOverride(body="x", thread=("x" * 5000,) * (SIZE // 5000 // len(networks)))
    requests = [(f"post {number}", accounts[:1]) for number in range(COUNT)] + [("shared", accounts)]
    for text, some in requests:
        content = Content(body=text, overrides=dict.fromkeys(networks, override))
        await app.posts.schedule(PostRequest(content=content, accounts=tuple(it.id for it in some), at=LATER))


async def ask_within_limits(api: Api, method: str, path: str, body: Any = None, **query: str) -> Any:
    """Send a request, and fail if its response is too large or needs too much memory."""
    path, _, given = path.partition("?")
    query |= dict(parse_qsl(given))
    content = None if body is None else json.dumps(body).encode()
    request: ApiRequest[Any] = ApiRequest(method, path, query, content)
    tracemalloc.start()
    try:
        response = await api.transport.call(request)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert response.status == 200, response
    assert len(response.body) < MOST_SENT, (path, query, len(response.body))
    assert held < MOST_HELD, (path, query, held)
    return json.loads(response.body)


async def list_things(api: Api, path: str) -> list[Any]:
    """Return what is on all pages of a list."""
    things: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = await ask_within_limits(api, "GET", path, **cursor)
        things += page["data"]
        if page["next_cursor"] is None:
            return things
        cursor = {"cursor": page["next_cursor"]}


async def test_lists_of_large_things_are_bounded_and_complete(api: Api) -> None:
    for path, count in LISTS.items():
        ids = [thing["id"] for thing in await list_things(api, path)]
        assert (len(ids), len({*ids})) == (count, count), path
    await ask_within_limits(api, "GET", "/v1/workers")


async def test_preview_of_a_blackout_over_large_jobs_is_bounded_and_complete(api: Api) -> None:
    preview = await ask_within_limits(api, "POST", "/v1/blackouts", PREVIEW, preview="true")
    assert len(preview["shifts"]) + preview["more"] == 3 * COUNT
    assert preview["complete"]


async def test_content_of_many_posts_is_held_once(api: Api) -> None:
    [post, *_] = (await ask_within_limits(api, "GET", "/v1/posts?text=shared&limit=1"))["data"]
    content = await ask_within_limits(api, "GET", f"/v1/contents/{post['content_id']}")
    assert len(content["posts"]) == COUNT


async def test_bulk_results_of_large_jobs_are_bounded(api: Api) -> None:
    ids = [job["id"] for job in await list_things(api, "/v1/jobs?type=wait&limit=200")]
    dead = [letter["id"] for letter in await list_things(api, "/v1/dead-letters?limit=200")]
    for path, body in (
        ("/v1/jobs/bulk", {"action": "cancel", "ids": ids}),
        ("/v1/dead-letters/discard", {"ids": dead[::2]}),
        ("/v1/dead-letters/replay", {"ids": dead[1::2], "force": True}),
    ):
        results = (await ask_within_limits(api, "POST", path, {"reason": "A test.", **body}))["data"]
        assert [result["done"] for result in results] == [True] * len(results), path
