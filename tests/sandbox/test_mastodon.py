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

    async def own(self, query: str = "") -> list[Any]:
        rows: list[Any] = (await self.get(f"accounts/{self.account['remote_id']}/statuses{query}")).json
        return rows

    async def upload(self) -> SandboxResponse:
        form = make_image_form("file", description="a view")()
        return await self.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **self.auth())


@pytest.fixture
async def ours(sandbox: SandboxClient) -> Author:
    return Author(sandbox, await sandbox.account("mastodon"))


async def test_status_is_posted_read_and_listed(ours: Author) -> None:
    response = await ours.post("Ciao #Roma & <b>", spoiler_text="a city")
    assert response.status == 200
    [result] = await ours.sandbox.published()
    assert (result["account"], result["remote_id"], result["text"]) == (
        ours.account["handle"], response.json["id"], "Ciao #Roma & <b>",
    )  # fmt: skip
    assert (await ours.get(f"statuses/{response.json['id']}")).json == response.json
    assert (await ours.get(f"statuses/{response.json['id']}/source")).json == {
        "id": response.json["id"], "text": "Ciao #Roma & <b>", "spoiler_text": "a city",
    }  # fmt: skip
    assert await ours.own() == [response.json]


async def test_text_is_returned_as_html(ours: Author) -> None:
    text = 'One & "two"\nthree\n\nfour #five https://a.example/a-rather-long-path-that-is-cut-short?x=1&y=2.'
    content = (await ours.post(text)).json["content"]
    assert content.startswith("<p>One &amp; &quot;two&quot;<br />three</p><p>four <a href=")
    assert "#<span>five</span></a>" in content
    assert 'href="https://a.example/a-rather-long-path-that-is-cut-short?x=1&amp;y=2"' in content
    assert content.endswith("</a>.</p>")


async def test_same_key_returns_the_same_status(ours: Author) -> None:
    first = await ours.post(key="one")
    again = await ours.post("another text", key="one")
    assert again.json == first.json
    assert (await ours.post(key="two")).json["id"] != first.json["id"]
    other = Author(ours.sandbox, await ours.sandbox.account("mastodon"))
    assert (await other.post(key="one")).json["id"] != first.json["id"]
    assert len(await ours.sandbox.published()) == 3


async def test_key_expires(ours: Author) -> None:
    first = await ours.post(key="one")
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_key_seconds": 0})
    assert (await ours.post(key="one")).json["id"] != first.json["id"]


async def test_key_is_stored_even_if_the_response_is_lost(ours: Author) -> None:
    await ours.sandbox.fault("mastodon", "process_then_drop", endpoint="statuses")
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await ours.post(key="one")
    assert (await ours.post(key="one")).status == 200
    assert len(await ours.sandbox.published()) == 1


async def test_refused_status_stores_no_key(ours: Author) -> None:
    assert (await ours.post("x" * 501, key="one")).status == 422
    assert (await ours.post("short", key="one")).status == 200


async def test_concurrent_calls_can_post_twice_with_one_key(ours: Author) -> None:
    responses = await asyncio.gather(*(ours.post(key="one") for _ in range(10)))
    assert {response.status for response in responses} == {200}
    assert len(await ours.sandbox.published()) == len({response.json["id"] for response in responses}) >= 1


async def test_text_is_limited_to_500_characters_with_short_links(ours: Author) -> None:
    link = "https://a.example/" + "x" * 400
    assert (await ours.post(f"{link} " + "x" * 476)).status == 200
    assert (await ours.post("👩‍👩‍👧" * 500)).status == 200
    assert (await ours.post("@postcard@sandbox.test " + "x" * 490)).status == 200
    response = await ours.post("x" * 501)
    assert (response.status, response.json["error"]) == (422, "Validation failed: Text character limit of 500 exceeded")
    assert (await ours.post("x" * 490, spoiler_text="x" * 11)).status == 422


async def test_empty_and_invalid_statuses_are_refused(ours: Author) -> None:
    assert (await ours.post("  ")).status == 422
    assert (await ours.post(visibility="secret")).status == 422
    assert (await ours.post(in_reply_to_id="7")).status == 404
    assert (await ours.post(media_ids=["7"])).status == 422
    assert (await ours.post(colour="red")).status == 400
    assert (await ours.get("statuses/7")).status == 404
    assert (await ours.get("media/7")).status == 404
    assert (await ours.get("accounts/7/statuses")).status == 404
    assert (await ours.sandbox.get("/mastodon/api/v9/anything")).status == 404
    assert await ours.sandbox.published() == []


async def test_media_is_processed_and_attached_once(ours: Author) -> None:
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 600})
    uploaded = await ours.upload()
    assert (uploaded.status, uploaded.json["url"]) == (202, None)
    name = uploaded.json["id"]
    assert (await ours.get(f"media/{name}")).status == 206
    assert (await ours.post(media_ids=[name])).status == 422
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 0})
    assert (await ours.get(f"media/{name}")).status == 200
    response = await ours.post("", media_ids=[name])
    assert [it["description"] for it in response.json["media_attachments"]] == ["a view"]
    assert (await ours.post(media_ids=[name])).status == 422
    [result] = await ours.sandbox.published()
    assert [(it["mime"], it["alt"]) for it in result["media"]] == [("image/jpeg", "a view")]


async def test_form_is_accepted_like_json(ours: Author) -> None:
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 0})
    names = [(await ours.upload()).json["id"] for _ in range(2)]
    form = [("status", "hello"), *(("media_ids[]", name) for name in names)]
    response = await ours.sandbox.call("POST", f"{V1}/statuses", data=form, **ours.auth())
    assert [it["id"] for it in response.json["media_attachments"]] == names


async def test_only_media_types_can_be_uploaded(ours: Author) -> None:
    form = aiohttp.FormData({"description": "no file"})
    assert (await ours.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **ours.auth())).status == 422
    form = aiohttp.FormData()
    form.add_field("file", b"words", filename="a.txt", content_type="text/plain")
    assert (await ours.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **ours.auth())).status == 422


async def test_thread_consists_of_replies(ours: Author) -> None:
    first = (await ours.post("one")).json["id"]
    second = await ours.post("two", in_reply_to_id=first)
    assert second.json["in_reply_to_id"] == first
    assert [it["reply_to"] for it in await ours.sandbox.published()] == [None, first]
    assert [it["id"] for it in await ours.own("?exclude_replies=1")] == [first]


async def test_statuses_are_listed_newest_first_from_a_cursor(ours: Author) -> None:
    names = [(await ours.post(f"{number}")).json["id"] for number in range(5)]
    assert [it["id"] for it in await ours.own("?limit=2")] == [names[4], names[3]]
    assert [it["id"] for it in await ours.own(f"?max_id={names[2]}")] == [names[1], names[0]]
    assert [it["id"] for it in await ours.own(f"?since_id={names[2]}")] == [names[4], names[3]]
    assert [it["id"] for it in await ours.own(f"?min_id={names[0]}&limit=2")] == [names[2], names[1]]


async def test_unknown_token_is_refused(ours: Author) -> None:
    ours.token = "guessed"
    response = await ours.post()
    assert (response.status, response.json["error"]) == (401, "The access token is invalid")
    assert (await ours.sandbox.post(f"{V1}/statuses", {"status": "x"})).status == 401


async def test_limits_are_in_every_response_and_enforced(ours: Author) -> None:
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_calls_per_5_minutes": 2})
    left = [(await ours.get("accounts/verify_credentials")).headers["X-RateLimit-Remaining"] for _ in range(2)]
    assert left == ["1", "0"]
    refused = await ours.post()
    assert (refused.status, refused.json) == (429, {"error": "Too many requests"})
    assert refused.headers["X-RateLimit-Reset"].endswith("Z")


async def test_instance_reports_its_limits(sandbox: SandboxClient) -> None:
    body = (await sandbox.get("/mastodon/api/v2/instance")).json
    assert body["configuration"]["statuses"]["max_characters"] == 500
