"""Bluesky in the sandbox behaves as the real server did in tests: a record under a key is created once."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from tests.sandbox.sandbox_client import SandboxClient, SandboxResponse

POST = "app.bsky.feed.post"
TID = "3lq2abcdefg2h"
OTHER_TID = "3lq2abcdefg2i"
IMAGE = b"\xff\xd8 a picture"


def record(text: str = "hello", **rest: Any) -> dict[str, Any]:
    return {"$type": POST, "text": text, "createdAt": "2026-11-16T08:00:00.000Z", **rest}


class Speaker:
    """Somebody with a session."""

    def __init__(self, sandbox: SandboxClient, session: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.session = session
        self.did = session["did"]

    async def call(self, name: str, body: Any = None, token: str = "accessJwt", **options: Any) -> SandboxResponse:
        headers = {"Authorization": f"Bearer {self.session[token]}"} | options.pop("headers", {})
        return await self.sandbox.post(f"/bluesky/xrpc/com.atproto.{name}", body, headers=headers, **options)

    async def query(self, name: str, **query: Any) -> SandboxResponse:
        return await self.sandbox.get(
            f"/bluesky/xrpc/com.atproto.repo.{name}", params={"repo": self.did, "collection": POST, **query}
        )

    async def put(self, content: dict[str, Any], rkey: str = TID, **rest: Any) -> SandboxResponse:
        body = {"repo": self.did, "collection": POST, "rkey": rkey, "record": content, **rest}
        return await self.call("repo.putRecord", body)

    async def upload(self, data: bytes = IMAGE, mime: str = "image/jpeg") -> dict[str, Any]:
        response = await self.call("repo.uploadBlob", data=data, headers={"Content-Type": mime})
        rows: dict[str, Any] = response.json["blob"]
        return rows


async def speaker(sandbox: SandboxClient) -> Speaker:
    credentials = (await sandbox.account("bluesky"))["credentials"]
    response = await sandbox.post("/bluesky/xrpc/com.atproto.server.createSession", credentials)
    assert response.status == 200, response.text
    return Speaker(sandbox, response.json)


@pytest.fixture
async def ours(sandbox: SandboxClient) -> Speaker:
    return await speaker(sandbox)


async def test_record_is_published_and_found_by_its_key(ours: Speaker) -> None:
    response = await ours.put(record("Ciao 👋"), swapRecord=None)
    assert response.status == 200
    uri = f"at://{ours.did}/{POST}/{TID}"
    assert response.json["uri"] == uri
    assert response.json["commit"]["rev"]
    [result] = await ours.sandbox.published()
    assert (result["network"], result["account"], result["remote_id"], result["text"]) == (
        "bluesky", ours.session["handle"], uri, "Ciao 👋",
    )  # fmt: skip
    first_response = await ours.query("getRecord", rkey=TID)
    assert first_response.json == {"uri": uri, "cid": response.json["cid"], "value": record("Ciao 👋")}
    assert (await ours.query("listRecords")).json["records"] == [first_response.json]


async def test_same_record_again_changes_nothing(ours: Speaker) -> None:
    first = await ours.put(record(), swapRecord=None)
    for swap in ({"swapRecord": None}, {}, {"swapRecord": first.json["cid"]}):
        again = await ours.put(record(), **swap)
        assert again.status == 200
        assert again.json["cid"] == first.json["cid"]
        assert "commit" not in again.json
    assert len(await ours.sandbox.published()) == 1


async def test_different_record_under_the_key_is_refused_with_swap_null(ours: Speaker) -> None:
    first = await ours.put(record(), swapRecord=None)
    other = await ours.put(record("edited"), swapRecord=None)
    assert (other.status, other.json["error"]) == (400, "InvalidSwap")
    assert other.json["message"] == f"Record was at {first.json['cid']}"
    assert len(await ours.sandbox.published()) == 1


async def test_different_record_under_the_key_replaces_it_without_swap(ours: Speaker) -> None:
    await ours.put(record())
    response = await ours.put(record("edited"))
    assert "commit" in response.json
    assert (await ours.query("getRecord", rkey=TID)).json["value"]["text"] == "edited"
    assert [(result["kind"], result["text"]) for result in await ours.sandbox.published()] == [
        ("post", "hello"), ("edit", "edited"),
    ]  # fmt: skip


async def test_concurrent_puts_create_one_record(ours: Speaker) -> None:
    responses = await asyncio.gather(*(ours.put(record(), swapRecord=None) for _ in range(20)))
    assert {response.status for response in responses} == {200}
    assert len([response for response in responses if "commit" in response.json]) == 1
    assert len(await ours.sandbox.published()) == 1


@pytest.mark.parametrize("rkey", ["", "hello", "3LQ2ABCDEFG2H", "zlq2abcdefg2h", "3lq2abcdefg2h1", "3lq2abcdefg01"])
async def test_record_key_must_be_a_tid(ours: Speaker, rkey: str) -> None:
    response = await ours.put(record(), rkey=rkey)
    assert (response.status, response.json["error"]) == (400, "InvalidRequest")
    assert "Invalid TID string" in response.json["message"]


async def test_creating_a_record_twice_is_an_internal_error(ours: Speaker) -> None:
    body = {"repo": ours.did, "collection": POST, "rkey": TID, "record": record()}
    assert (await ours.call("repo.createRecord", body)).status == 200
    again = await ours.call("repo.createRecord", body)
    assert (again.status, again.json["error"]) == (500, "InternalServerError")
    without = await ours.call("repo.createRecord", {"repo": ours.did, "collection": POST, "record": record()})
    assert len(without.json["uri"].rpartition("/")[2]) == 13
    assert len(await ours.sandbox.published()) == 2


async def test_missing_record_is_a_bad_request(ours: Speaker) -> None:
    response = await ours.query("getRecord", rkey=TID)
    assert (response.status, response.json["error"]) == (400, "RecordNotFound")


async def test_text_is_limited_to_300_graphemes(ours: Speaker) -> None:
    family = "👩‍👩‍👧"
    assert (await ours.put(record(family * 100 + "x" * 200))).status == 200
    response = await ours.put(record("x" * 301), rkey=OTHER_TID)
    assert response.status == 400
    assert "300 graphemes" in response.json["message"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({}, "$type"),
        (record() | {"text": 7}, "text"),
        (record() | {"createdAt": "yesterday"}, "createdAt"),
        (record(colour="red"), "colour"),
        (record(reply={"root": {"uri": "nowhere", "cid": "c"}}), "reply"),
        (record(embed={"$type": "app.bsky.embed.images", "images": [{"alt": "no picture"}]}), "image"),
    ],
)
async def test_invalid_records_are_refused(ours: Speaker, content: dict[str, Any], says: str) -> None:
    response = await ours.put(content)
    assert (response.status, response.json["error"]) == (400, "InvalidRequest")
    assert says in response.json["message"]
    assert await ours.sandbox.published() == []


async def test_same_bytes_get_the_same_blob(ours: Speaker) -> None:
    blob = await ours.upload()
    assert await ours.upload() == blob
    assert blob["size"] == len(IMAGE)
    embed = {"$type": "app.bsky.embed.images", "images": [{"alt": "a view", "image": blob}]}
    assert (await ours.put(record(embed=embed))).status == 200
    [result] = await ours.sandbox.published()
    [picture] = result["media"]
    assert picture["alt"] == "a view"
    assert (await ours.sandbox.get(picture["url"])).text.encode("utf-8", "replace")


async def test_image_must_be_uploaded_first(ours: Speaker) -> None:
    blob = {"$type": "blob", "ref": {"$link": "bafkreinowhere"}, "mimeType": "image/jpeg", "size": 1}
    response = await ours.put(record(embed={"$type": "app.bsky.embed.images", "images": [{"alt": "", "image": blob}]}))
    assert (response.status, response.json["error"]) == (400, "BlobNotFound")


async def test_thread_is_a_chain_of_references(ours: Speaker) -> None:
    first = (await ours.put(record())).json
    reference = {"uri": first["uri"], "cid": first["cid"]}
    response = await ours.put(record("and on", reply={"root": reference, "parent": reference}), rkey=OTHER_TID)
    assert response.status == 200
    assert [result["reply_to"] for result in await ours.sandbox.published()] == [None, first["uri"]]
    wrong = reference | {"cid": "bafyreiother"}
    assert (await ours.put(record("x", reply={"root": wrong, "parent": wrong}), rkey="3lq2abcdefg2j")).status == 400


async def test_records_are_listed_in_pages_newest_first(ours: Speaker) -> None:
    keys = [f"3lq2abcdefg2{letter}" for letter in "abcde"]
    for key in keys:
        await ours.put(record(key), rkey=key)
    first = (await ours.query("listRecords", limit=2)).json
    assert [it["value"]["text"] for it in first["records"]] == keys[:-3:-1]
    rest = (await ours.query("listRecords", limit=100, cursor=first["cursor"])).json
    assert [it["value"]["text"] for it in rest["records"]] == keys[-3::-1]
    assert (await ours.query("listRecords", limit=101)).status == 400


async def test_invalid_tokens_are_bad_requests(ours: Speaker) -> None:
    handle = ours.session["handle"]
    await ours.sandbox.post(f"/_sandbox/accounts/bluesky/{handle}", {"token_expired": True})
    assert (await ours.put(record())).json["error"] == "ExpiredToken"
    ours.session["accessJwt"] = "nonsense"
    response = await ours.put(record())
    assert (response.status, response.json["error"]) == (400, "InvalidToken")
    assert (await ours.call("repo.putRecord", {}, token="refreshJwt")).json["error"] == "InvalidToken"
    assert (await ours.sandbox.post("/bluesky/xrpc/com.atproto.repo.putRecord", {})).status == 401


async def test_refresh_token_works_once(ours: Speaker) -> None:
    response = await ours.call("server.refreshSession", token="refreshJwt")
    assert response.status == 200
    again = await ours.call("server.refreshSession", token="refreshJwt")
    assert (again.status, again.json["error"]) == (400, "ExpiredToken")
    ours.session = response.json
    assert (await ours.put(record())).status == 200
    assert (await ours.call("server.refreshSession", token="accessJwt")).json["error"] == "InvalidToken"


async def test_token_contains_its_expiry(ours: Speaker) -> None:
    claims = json.loads(base64.urlsafe_b64decode(ours.session["accessJwt"].split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] == 7200


async def test_session_needs_the_password(sandbox: SandboxClient) -> None:
    account = await sandbox.account("bluesky")
    body = account["credentials"] | {"password": "guessed"}
    response = await sandbox.post("/bluesky/xrpc/com.atproto.server.createSession", body)
    assert (response.status, response.json["error"]) == (401, "AuthenticationRequired")


async def test_writing_to_another_repository_is_refused(ours: Speaker) -> None:
    other = await speaker(ours.sandbox)
    ours.did = other.did
    assert (await ours.put(record())).status == 401


async def test_blocked_account_and_unknown_parameters_are_refused(ours: Speaker) -> None:
    assert (await ours.put(record(), colour="red")).json["error"] == "InvalidRequest"
    await ours.sandbox.post(f"/_sandbox/accounts/bluesky/{ours.session['handle']}", {"blocked": True})
    assert (await ours.put(record())).json["error"] == "AccountTakedown"
