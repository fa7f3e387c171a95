"""Mastodon in the sandbox: idempotency keys, media processing and HTML texts."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.sandbox.sandbox_client import SandboxClient, SandboxResponse
from tests.sandbox.scripted_calls import bearer, make_image_form

V1 = "/mastodon/api/v1"


class Author:
    def __init__(self, sandbox: SandboxClient, account: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.account = account
        self.token = account["credentials"]["access_token"]

    def auth(self, key: str | None = None) -> dict[str, Any]:
        options = bearer(self.token)
        if key:
            options["headers"]["Idempotency-Key"] = key
        return options

    async def post(self, text: str = "hello", key: str | None = None, **rest: Any) -> SandboxResponse:
        return await self.sandbox.post(f"{V1}/statuses", {"status": text, **rest}, **self.auth(key))

    async def get(self, path: str) -> SandboxResponse:
        return await self.sandbox.get(f"{V1}/{path}", **self.auth())

    async def list_statuses(self, query: str = "") -> list[Any]:
        rows: list[Any] = (await self.get(f"accounts/{self.account['remote_id']}/statuses{query}")).json
        return rows

    async def upload(self) -> SandboxResponse:
        form = make_image_form("file", description="a view")()
        return await self.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **self.auth())


@pytest.fixture
async def author(sandbox: SandboxClient) -> Author:
    return Author(sandbox, await sandbox.account("mastodon"))


async def test_status_is_posted_read_and_listed(author: Author) -> None:
    response = await author.post("Ciao #Roma & <b>", spoiler_text="a city")
    assert response.status == 200
    [result] = await author.sandbox.list_published()
    assert (result["account"], result["remote_id"], result["text"]) == (
        author.account["handle"], response.json["id"], "Ciao #Roma & <b>",
    )  # fmt: skip
    assert (await author.get(f"statuses/{response.json['id']}")).json == response.json
    assert (await author.get(f"statuses/{response.json['id']}/source")).json == {
        "id": response.json["id"], "text": "Ciao #Roma & <b>", "spoiler_text": "a city",
    }  # fmt: skip
    assert await author.list_statuses() == [response.json]


async def test_text_is_returned_as_html(author: Author) -> None:
    text = 'One & "two"\nthree\n\nfour #five https://a.example/a-rather-long-path-that-is-cut-short?x=1&y=2.'
    content = (await author.post(text)).json["content"]
    assert content.startswith("<p>One &amp; &quot;two&quot;<br />three</p><p>four <a href=")
    assert "#<span>five</span></a>" in content
    assert 'href="https://a.example/a-rather-long-path-that-is-cut-short?x=1&amp;y=2"' in content
    assert content.endswith("</a>.</p>")


async def test_same_key_returns_the_same_status(author: Author) -> None:
    first = await author.post(key="one")
    again = await author.post("another text", key="one")
    assert again.json == first.json
    assert (await author.post(key="two")).json["id"] != first.json["id"]
    other = Author(author.sandbox, await author.sandbox.account("mastodon"))
    assert (await other.post(key="one")).json["id"] != first.json["id"]
    assert len(await author.sandbox.list_published()) == 3


async def test_key_expires(author: Author) -> None:
    first = await author.post(key="one")
    await author.sandbox.post("/_sandbox/settings", {"mastodon_key_seconds": 0})
    assert (await author.post(key="one")).json["id"] != first.json["id"]


async def test_key_is_stored_even_if_the_response_is_lost(author: Author) -> None:
    await author.sandbox.fault("mastodon", "process_then_drop", endpoint="statuses")
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await author.post(key="one")
    assert (await author.post(key="one")).status == 200
    assert len(await author.sandbox.list_published()) == 1


async def test_refused_status_stores_no_key(author: Author) -> None:
    assert (await author.post("x" * 501, key="one")).status == 422
    assert (await author.post("short", key="one")).status == 200


async def test_concurrent_calls_can_post_twice_with_one_key(author: Author) -> None:
    responses = await asyncio.gather(*(author.post(key="one") for _ in range(10)))
    assert {response.status for response in responses} == {200}
    assert len(await author.sandbox.list_published()) == len({response.json["id"] for response in responses}) >= 1


async def test_text_is_limited_to_500_characters_with_short_links(author: Author) -> None:
    link = "https://a.example/" + "x" * 400
    assert (await author.post(f"{link} " + "x" * 476)).status == 200
    assert (await author.post("👩‍👩‍👧" * 500)).status == 200
    assert (await author.post("@postcard@sandbox.test " + "x" * 490)).status == 200
    response = await author.post("x" * 501)
    assert (response.status, response.json["error"]) == (422, "Validation failed: Text character limit of 500 exceeded")
    assert (await author.post("x" * 490, spoiler_text="x" * 11)).status == 422


async def test_empty_and_invalid_statuses_are_refused(author: Author) -> None:
    assert (await author.post("  ")).status == 422
    assert (await author.post(visibility="secret")).status == 422
    assert (await author.post(in_reply_to_id="7")).status == 404
    assert (await author.post(media_ids=["7"])).status == 422
    assert (await author.post(colour="red")).status == 400
    assert (await author.get("statuses/7")).status == 404
    assert (await author.get("media/7")).status == 404
    assert (await author.get("accounts/7/statuses")).status == 404
    assert (await author.sandbox.get("/mastodon/api/v9/anything")).status == 404
    assert await author.sandbox.list_published() == []


async def test_media_is_processed_and_attached_once(author: Author) -> None:
    await author.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 600})
    uploaded = await author.upload()
    assert (uploaded.status, uploaded.json["url"]) == (202, None)
    name = uploaded.json["id"]
    assert (await author.get(f"media/{name}")).status == 206
    assert (await author.post(media_ids=[name])).status == 422
    await author.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 0})
    assert (await author.get(f"media/{name}")).status == 200
    response = await author.post("", media_ids=[name])
    assert [it["description"] for it in response.json["media_attachments"]] == ["a view"]
    assert (await author.post(media_ids=[name])).status == 422
    [result] = await author.sandbox.list_published()
    assert [(it["mime"], it["alt"]) for it in result["media"]] == [("image/jpeg", "a view")]


async def test_form_is_accepted_like_json(author: Author) -> None:
    await author.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 0})
    names = [(await author.upload()).json["id"] for _ in range(2)]
    form = [("status", "hello"), *(("media_ids[]", name) for name in names)]
    response = await author.sandbox.call("POST", f"{V1}/statuses", data=form, **author.auth())
    assert [it["id"] for it in response.json["media_attachments"]] == names


async def test_only_media_types_can_be_uploaded(author: Author) -> None:
    form = aiohttp.FormData({"description": "no file"})
    assert (await author.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **author.auth())).status == 422
    form = aiohttp.FormData()
    form.add_field("file", b"words", filename="a.txt", content_type="text/plain")
    assert (await author.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **author.auth())).status == 422


async def test_thread_consists_of_replies(author: Author) -> None:
    first = (await author.post("one")).json["id"]
    second = await author.post("two", in_reply_to_id=first)
    assert second.json["in_reply_to_id"] == first
    assert [it["reply_to"] for it in await author.sandbox.list_published()] == [None, first]
    assert [it["id"] for it in await author.list_statuses("?exclude_replies=1")] == [first]


async def test_statuses_are_listed_newest_first_from_a_cursor(author: Author) -> None:
    names = [(await author.post(f"{number}")).json["id"] for number in range(5)]
    assert [it["id"] for it in await author.list_statuses("?limit=2")] == [names[4], names[3]]
    assert [it["id"] for it in await author.list_statuses(f"?max_id={names[2]}")] == [names[1], names[0]]
    assert [it["id"] for it in await author.list_statuses(f"?since_id={names[2]}")] == [names[4], names[3]]
    assert [it["id"] for it in await author.list_statuses(f"?min_id={names[0]}&limit=2")] == [names[2], names[1]]


async def test_unknown_token_is_refused(author: Author) -> None:
    author.token = "guessed"
    response = await author.post()
    assert (response.status, response.json["error"]) == (401, "The access token is invalid")
    assert (await author.sandbox.post(f"{V1}/statuses", {"status": "x"})).status == 401


async def test_limits_are_in_every_response_and_enforced(author: Author) -> None:
    await author.sandbox.post("/_sandbox/settings", {"mastodon_calls_per_5_minutes": 2})
    left = [(await author.get("accounts/verify_credentials")).headers["X-RateLimit-Remaining"] for _ in range(2)]
    assert left == ["1", "0"]
    refused = await author.post()
    assert (refused.status, refused.json) == (429, {"error": "Too many requests"})
    assert refused.headers["X-RateLimit-Reset"].endswith("Z")


async def test_instance_reports_its_limits(sandbox: SandboxClient) -> None:
    body = (await sandbox.get("/mastodon/api/v2/instance")).json
    assert body["configuration"]["statuses"]["max_characters"] == 500
