"""Mastodon: keys that hold for an hour, pictures that take a moment, and texts that come back as HTML."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.sandbox.running import Answered, Sandbox
from tests.sandbox.scripts import bearer, picture_form

V1 = "/mastodon/api/v1"


class Author:
    def __init__(self, sandbox: Sandbox, account: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.account = account
        self.token = account["credentials"]["access_token"]

    def auth(self, key: str | None = None) -> dict[str, Any]:
        options = bearer(self.token)
        if key:
            options["headers"]["Idempotency-Key"] = key
        return options

    async def post(self, text: str = "hello", key: str | None = None, **rest: Any) -> Answered:
        return await self.sandbox.post(f"{V1}/statuses", {"status": text, **rest}, **self.auth(key))

    async def get(self, path: str) -> Answered:
        return await self.sandbox.get(f"{V1}/{path}", **self.auth())

    async def own(self, query: str = "") -> list[Any]:
        found: list[Any] = (await self.get(f"accounts/{self.account['remote_id']}/statuses{query}")).json
        return found

    async def upload(self) -> Answered:
        form = picture_form("file", description="a view")()
        return await self.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **self.auth())


@pytest.fixture
async def ours(sandbox: Sandbox) -> Author:
    return Author(sandbox, await sandbox.account("mastodon"))


async def test_a_status_is_posted_read_and_listed(ours: Author) -> None:
    answer = await ours.post("Ciao #Roma & <b>", spoiler_text="a city")
    assert answer.status == 200
    [seen] = await ours.sandbox.published()
    assert (seen["account"], seen["remote_id"], seen["text"]) == (
        ours.account["handle"], answer.json["id"], "Ciao #Roma & <b>",
    )  # fmt: skip
    assert (await ours.get(f"statuses/{answer.json['id']}")).json == answer.json
    assert (await ours.get(f"statuses/{answer.json['id']}/source")).json == {
        "id": answer.json["id"], "text": "Ciao #Roma & <b>", "spoiler_text": "a city",
    }  # fmt: skip
    assert await ours.own() == [answer.json]


async def test_a_text_comes_back_as_html(ours: Author) -> None:
    text = 'One & "two"\nthree\n\nfour #five https://a.example/a-rather-long-path-that-is-cut-short?x=1&y=2.'
    content = (await ours.post(text)).json["content"]
    assert content.startswith("<p>One &amp; &quot;two&quot;<br />three</p><p>four <a href=")
    assert "#<span>five</span></a>" in content
    assert 'href="https://a.example/a-rather-long-path-that-is-cut-short?x=1&amp;y=2"' in content
    assert content.endswith("</a>.</p>")


async def test_the_same_key_gives_the_same_status(ours: Author) -> None:
    first = await ours.post(key="one")
    again = await ours.post("another text", key="one")
    assert again.json == first.json
    assert (await ours.post(key="two")).json["id"] != first.json["id"]
    other = Author(ours.sandbox, await ours.sandbox.account("mastodon"))
    assert (await other.post(key="one")).json["id"] != first.json["id"]
    assert len(await ours.sandbox.published()) == 3


async def test_a_key_is_forgotten_after_its_time(ours: Author) -> None:
    first = await ours.post(key="one")
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_key_seconds": 0})
    assert (await ours.post(key="one")).json["id"] != first.json["id"]


async def test_a_key_is_remembered_even_if_the_answer_is_lost(ours: Author) -> None:
    await ours.sandbox.fault("mastodon", "process_then_drop", endpoint="statuses")
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await ours.post(key="one")
    assert (await ours.post(key="one")).status == 200
    assert len(await ours.sandbox.published()) == 1


async def test_a_refused_status_leaves_no_key_behind(ours: Author) -> None:
    assert (await ours.post("x" * 501, key="one")).status == 422
    assert (await ours.post("short", key="one")).status == 200


async def test_calls_at_the_same_time_find_no_key_because_it_is_written_after_the_status(ours: Author) -> None:
    answers = await asyncio.gather(*(ours.post(key="one") for _ in range(10)))
    assert {answer.status for answer in answers} == {200}
    assert len(await ours.sandbox.published()) == len({answer.json["id"] for answer in answers}) >= 1


async def test_five_hundred_characters_where_links_and_mentions_count_little(ours: Author) -> None:
    link = "https://a.example/" + "x" * 400
    assert (await ours.post(f"{link} " + "x" * 476)).status == 200
    assert (await ours.post("👩‍👩‍👧" * 500)).status == 200
    assert (await ours.post("@postcard@sandbox.test " + "x" * 490)).status == 200
    answer = await ours.post("x" * 501)
    assert (answer.status, answer.json["error"]) == (422, "Validation failed: Text character limit of 500 exceeded")
    assert (await ours.post("x" * 490, spoiler_text="x" * 11)).status == 422


async def test_an_empty_status_and_other_nonsense_is_refused(ours: Author) -> None:
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


async def test_a_picture_takes_a_moment_and_can_be_attached_once(ours: Author) -> None:
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 600})
    uploaded = await ours.upload()
    assert (uploaded.status, uploaded.json["url"]) == (202, None)
    name = uploaded.json["id"]
    assert (await ours.get(f"media/{name}")).status == 206
    assert (await ours.post(media_ids=[name])).status == 422
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 0})
    assert (await ours.get(f"media/{name}")).status == 200
    answer = await ours.post("", media_ids=[name])
    assert [it["description"] for it in answer.json["media_attachments"]] == ["a view"]
    assert (await ours.post(media_ids=[name])).status == 422
    [seen] = await ours.sandbox.published()
    assert [(it["mime"], it["alt"]) for it in seen["media"]] == [("image/jpeg", "a view")]


async def test_a_form_will_do_as_well_as_json(ours: Author) -> None:
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_media_seconds": 0})
    names = [(await ours.upload()).json["id"] for _ in range(2)]
    form = [("status", "hello"), *(("media_ids[]", name) for name in names)]
    answer = await ours.sandbox.call("POST", f"{V1}/statuses", data=form, **ours.auth())
    assert [it["id"] for it in answer.json["media_attachments"]] == names


async def test_only_pictures_and_films_can_be_uploaded(ours: Author) -> None:
    form = aiohttp.FormData({"description": "no file"})
    assert (await ours.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **ours.auth())).status == 422
    form = aiohttp.FormData()
    form.add_field("file", b"words", filename="a.txt", content_type="text/plain")
    assert (await ours.sandbox.call("POST", "/mastodon/api/v2/media", data=form, **ours.auth())).status == 422


async def test_a_thread_is_made_of_replies(ours: Author) -> None:
    first = (await ours.post("one")).json["id"]
    second = await ours.post("two", in_reply_to_id=first)
    assert second.json["in_reply_to_id"] == first
    assert [it["reply_to"] for it in await ours.sandbox.published()] == [None, first]
    assert [it["id"] for it in await ours.own("?exclude_replies=1")] == [first]


async def test_statuses_are_listed_the_newest_first_and_from_where_one_asks(ours: Author) -> None:
    names = [(await ours.post(f"{number}")).json["id"] for number in range(5)]
    assert [it["id"] for it in await ours.own("?limit=2")] == [names[4], names[3]]
    assert [it["id"] for it in await ours.own(f"?max_id={names[2]}")] == [names[1], names[0]]
    assert [it["id"] for it in await ours.own(f"?since_id={names[2]}")] == [names[4], names[3]]
    assert [it["id"] for it in await ours.own(f"?min_id={names[0]}&limit=2")] == [names[2], names[1]]


async def test_who_is_not_known_is_refused(ours: Author) -> None:
    ours.token = "guessed"
    answer = await ours.post()
    assert (answer.status, answer.json["error"]) == (401, "The access token is invalid")
    assert (await ours.sandbox.post(f"{V1}/statuses", {"status": "x"})).status == 401


async def test_limits_are_told_with_every_answer_and_kept(ours: Author) -> None:
    await ours.sandbox.post("/_sandbox/settings", {"mastodon_calls_per_5_minutes": 2})
    left = [(await ours.get("accounts/verify_credentials")).headers["X-RateLimit-Remaining"] for _ in range(2)]
    assert left == ["1", "0"]
    refused = await ours.post()
    assert (refused.status, refused.json) == (429, {"error": "Too many requests"})
    assert refused.headers["X-RateLimit-Reset"].endswith("Z")


async def test_the_instance_tells_its_limits(sandbox: Sandbox) -> None:
    told = (await sandbox.get("/mastodon/api/v2/instance")).json
    assert told["configuration"]["statuses"]["max_characters"] == 500
