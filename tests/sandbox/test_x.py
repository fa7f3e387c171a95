"""X in the sandbox: duplicates are refused, refresh tokens work once, images are uploaded in segments."""

from __future__ import annotations

import base64
from typing import Any

import aiohttp
import pytest

from tests.sandbox.sandbox_client import SandboxClient, SandboxResponse
from tests.sandbox.scripted_calls import IMAGE, bearer, make_image_form


class User:
    def __init__(self, sandbox: SandboxClient, account: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.account = account
        self.credentials = account["credentials"]

    @property
    def auth(self) -> dict[str, Any]:
        return bearer(self.credentials["access_token"])

    async def tweet(self, text: str = "hello", **rest: Any) -> SandboxResponse:
        return await self.sandbox.post("/x/2/tweets", {"text": text, **rest}, **self.auth)

    async def tweets(self, **query: Any) -> SandboxResponse:
        return await self.sandbox.get(f"/x/2/users/{self.account['remote_id']}/tweets", params=query, **self.auth)

    async def media(self, path: str, body: Any = None) -> SandboxResponse:
        return await self.sandbox.post(f"/x/2/media/upload/{path}", body, **self.auth)

    async def refresh(self) -> SandboxResponse:
        form = {name: self.credentials[name] for name in ("refresh_token", "client_id")}
        return await self.sandbox.call("POST", "/x/2/oauth2/token", data=form | {"grant_type": "refresh_token"})


@pytest.fixture
async def user(sandbox: SandboxClient) -> User:
    await sandbox.post("/_sandbox/settings", {"x_media_seconds": 0})
    return User(sandbox, await sandbox.account("x"))


async def test_post_is_created_and_listed(user: User) -> None:
    response = await user.tweet("Ciao")
    assert (response.status, response.json["data"]["text"]) == (201, "Ciao")
    listed = (await user.tweets(**{"tweet.fields": "created_at", "max_results": 5})).json
    assert listed["meta"]["result_count"] == 1
    [result] = listed["data"]
    assert (result["id"], result["text"]) == (response.json["data"]["id"], "Ciao")
    assert result["created_at"].endswith("Z")
    assert (await user.sandbox.list_published())[0]["text"] == "Ciao"


async def test_same_text_is_refused_for_hours(user: User) -> None:
    assert (await user.tweet()).status == 201
    again = await user.tweet()
    assert again.status == 403
    assert again.json["detail"] == "You are not allowed to create a Tweet with duplicate content."
    assert (await user.tweet("other")).status == 201
    await user.sandbox.post("/_sandbox/settings", {"x_duplicate_seconds": 0})
    assert (await user.tweet()).status == 201
    assert len(await user.sandbox.list_published()) == 3


async def test_duplicate_rule_includes_invisible_posts(user: User) -> None:
    await user.sandbox.fault("x", "invisible", params={"seconds": 60})
    assert (await user.tweet()).status == 201
    assert "data" not in (await user.tweets()).json
    assert (await user.tweet()).status == 403


async def test_returned_text_differs_from_the_sent_text(user: User) -> None:
    response = await user.tweet("Fish & chips https://a.example/menu.")
    text = response.json["data"]["text"]
    assert text.startswith("Fish &amp; chips https://t.co/")
    [result] = (await user.tweets(**{"tweet.fields": "entities"})).json["data"]
    assert result["entities"]["urls"][0]["expanded_url"] == "https://a.example/menu"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("x" * 280, 201), ("x" * 281, 400), ("日" * 140, 201), ("日" * 141, 400), ("👩‍👩‍👧" * 140, 201),
        ("https://a.example/" + "x" * 400 + " " + "x" * 256, 201), ("", 400),
    ],
)  # fmt: skip
async def test_weighted_length_is_limited_to_280(user: User, text: str, status: int) -> None:
    assert (await user.tweet(text)).status == status


async def test_thread_consists_of_replies(user: User) -> None:
    first = (await user.tweet("one")).json["data"]["id"]
    assert (await user.tweet("two", reply={"in_reply_to_tweet_id": first})).status == 201
    assert [it["reply_to"] for it in await user.sandbox.list_published()] == [None, first]
    assert (await user.tweet("three", reply={"in_reply_to_tweet_id": "7"})).status == 403
    assert [it["text"] for it in (await user.tweets(exclude="replies")).json["data"]] == ["one"]


async def test_lists_are_paginated_within_bounds(user: User) -> None:
    names = [(await user.tweet(f"number {number}")).json["data"]["id"] for number in range(7)]
    first = (await user.tweets(max_results=5)).json
    assert [it["id"] for it in first["data"]] == names[:1:-1]
    rest = (await user.tweets(max_results=5, pagination_token=first["meta"]["next_token"])).json
    assert [it["id"] for it in rest["data"]] == names[1::-1]
    assert [it["id"] for it in (await user.tweets(since_id=names[5])).json["data"]] == [names[6]]
    assert [it["id"] for it in (await user.tweets(until_id=names[1])).json["data"]] == [names[0]]
    assert (await user.tweets(start_time="2999-01-01T00:00:00Z")).json == {"meta": {"result_count": 0}}
    for wrong in ({"max_results": 4}, {"start_time": "soon"}, {"since_id": "x"}, {"colour": "red"}):
        assert (await user.tweets(**wrong)).status == 400


async def test_image_is_uploaded_in_segments_and_attached(user: User) -> None:
    start = {"media_type": "image/jpeg", "total_bytes": len(IMAGE) + 3, "media_category": "tweet_image"}
    number = (await user.media("initialize", start)).json["data"]["id"]
    path = f"/x/2/media/upload/{number}/append"
    form = make_image_form("media", segment_index="0")()
    assert (await user.sandbox.call("POST", path, data=form, **user.auth)).status == 200
    assert (await user.media(f"{number}/finalize")).status == 400
    end = {"segment_index": 1, "media": base64.b64encode(b"end").decode()}
    assert (await user.media(f"{number}/append", end)).status == 200
    body = (await user.media(f"{number}/finalize")).json["data"]
    assert body["processing_info"]["state"] == "succeeded"
    assert (await user.tweet("with a view", media={"media_ids": [number]})).status == 201
    assert [it["mime"] for it in (await user.sandbox.list_published())[0]["media"]] == ["image/jpeg"]


async def test_missing_or_unprocessed_image_is_refused(user: User) -> None:
    assert (await user.tweet(media={"media_ids": ["7"]})).status == 400
    number = (await user.media("initialize", {"media_type": "image/jpeg", "total_bytes": 3})).json["data"]["id"]
    assert (await user.tweet(media={"media_ids": [number]})).status == 400
    assert (await user.media("7/append", {"segment_index": 0, "media": "eA=="})).status == 400
    assert (await user.media(f"{number}/append", {"segment_index": 0, "media": "?"})).status == 400
    assert (await user.media(f"{number}/append", {"segment_index": "x", "media": "eA=="})).status == 400
    assert (await user.media("initialize", {"media_type": "image/jpeg"})).status == 400
    assert await user.sandbox.list_published() == []


async def test_refresh_token_works_once(user: User) -> None:
    response = await user.refresh()
    assert (response.status, response.json["expires_in"]) == (200, 7200)
    again = await user.refresh()
    assert (again.status, again.json["error"]) == (400, "invalid_request")
    assert (await user.tweet("with the old token")).status == 201
    user.credentials |= {name: response.json[name] for name in ("access_token", "refresh_token")}
    assert (await user.tweet("with the new token")).status == 201
    assert (await user.refresh()).status == 200


async def test_lost_refresh_response_still_uses_up_the_token(user: User) -> None:
    await user.sandbox.fault("x", "lost_refresh")
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await user.refresh()
    assert (await user.refresh()).status == 400


async def test_unauthenticated_calls_are_refused(user: User) -> None:
    user.credentials = user.credentials | {"access_token": "guessed", "client_id": "guessed"}
    assert (await user.tweet()).json["status"] == 401
    assert (await user.refresh()).json["error"] == "unauthorized_client"
    assert (await user.sandbox.call("POST", "/x/2/oauth2/token", data={"grant_type": "guess"})).status == 400


async def test_own_account_can_be_read(user: User) -> None:
    body = await user.sandbox.get("/x/2/users/me", **user.auth)
    assert body.json["data"]["id"] == user.account["remote_id"]
