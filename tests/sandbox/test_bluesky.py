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


class Writer:
    """A client with a session."""

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


async def create_writer(sandbox: SandboxClient) -> Writer:
    credentials = (await sandbox.account("bluesky"))["credentials"]
    response = await sandbox.post("/bluesky/xrpc/com.atproto.server.createSession", credentials)
    assert response.status == 200, response.text
    return Writer(sandbox, response.json)


@pytest.fixture
async def writer(sandbox: SandboxClient) -> Writer:
    return await create_writer(sandbox)


async def test_record_is_published_and_found_by_its_key(writer: Writer) -> None:
    response = await writer.put(record("Ciao 👋"), swapRecord=None)
    assert response.status == 200
    uri = f"at://{writer.did}/{POST}/{TID}"
    assert response.json["uri"] == uri
    assert response.json["commit"]["rev"]
    [result] = await writer.sandbox.list_published()
    assert (result["network"], result["account"], result["remote_id"], result["text"]) == (
        "bluesky", writer.session["handle"], uri, "Ciao 👋",
    )  # fmt: skip
    first_response = await writer.query("getRecord", rkey=TID)
    assert first_response.json == {"uri": uri, "cid": response.json["cid"], "value": record("Ciao 👋")}
    assert (await writer.query("listRecords")).json["records"] == [first_response.json]


async def test_same_record_again_changes_nothing(writer: Writer) -> None:
    first = await writer.put(record(), swapRecord=None)
    for swap in ({"swapRecord": None}, {}, {"swapRecord": first.json["cid"]}):
        again = await writer.put(record(), **swap)
        assert again.status == 200
        assert again.json["cid"] == first.json["cid"]
        assert "commit" not in again.json
    assert len(await writer.sandbox.list_published()) == 1


async def test_different_record_under_the_key_is_refused_with_swap_null(writer: Writer) -> None:
    first = await writer.put(record(), swapRecord=None)
    other = await writer.put(record("edited"), swapRecord=None)
    assert (other.status, other.json["error"]) == (400, "InvalidSwap")
    assert other.json["message"] == f"Record was at {first.json['cid']}"
    assert len(await writer.sandbox.list_published()) == 1


async def test_different_record_under_the_key_replaces_it_without_swap(writer: Writer) -> None:
    await writer.put(record())
    response = await writer.put(record("edited"))
    assert "commit" in response.json
    assert (await writer.query("getRecord", rkey=TID)).json["value"]["text"] == "edited"
    assert [(result["kind"], result["text"]) for result in await writer.sandbox.list_published()] == [
        ("post", "hello"), ("edit", "edited"),
    ]  # fmt: skip


async def test_concurrent_puts_create_one_record(writer: Writer) -> None:
    responses = await asyncio.gather(*(writer.put(record(), swapRecord=None) for _ in range(20)))
    assert {response.status for response in responses} == {200}
    assert len([response for response in responses if "commit" in response.json]) == 1
    assert len(await writer.sandbox.list_published()) == 1


@pytest.mark.parametrize("rkey", ["", "hello", "3LQ2ABCDEFG2H", "zlq2abcdefg2h", "3lq2abcdefg2h1", "3lq2abcdefg01"])
async def test_record_key_must_be_a_tid(writer: Writer, rkey: str) -> None:
    response = await writer.put(record(), rkey=rkey)
    assert (response.status, response.json["error"]) == (400, "InvalidRequest")
    assert "Invalid TID string" in response.json["message"]


async def test_creating_a_record_twice_is_an_internal_error(writer: Writer) -> None:
    body = {"repo": writer.did, "collection": POST, "rkey": TID, "record": record()}
    assert (await writer.call("repo.createRecord", body)).status == 200
    again = await writer.call("repo.createRecord", body)
    assert (again.status, again.json["error"]) == (500, "InternalServerError")
    without = await writer.call("repo.createRecord", {"repo": writer.did, "collection": POST, "record": record()})
    assert len(without.json["uri"].rpartition("/")[2]) == 13
    assert len(await writer.sandbox.list_published()) == 2


async def test_missing_record_is_a_bad_request(writer: Writer) -> None:
    response = await writer.query("getRecord", rkey=TID)
    assert (response.status, response.json["error"]) == (400, "RecordNotFound")


async def test_text_is_limited_to_300_graphemes(writer: Writer) -> None:
    family = "👩‍👩‍👧"
    assert (await writer.put(record(family * 100 + "x" * 200))).status == 200
    response = await writer.put(record("x" * 301), rkey=OTHER_TID)
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
async def test_invalid_records_are_refused(writer: Writer, content: dict[str, Any], says: str) -> None:
    response = await writer.put(content)
    assert (response.status, response.json["error"]) == (400, "InvalidRequest")
    assert says in response.json["message"]
    assert await writer.sandbox.list_published() == []


async def test_same_bytes_get_the_same_blob(writer: Writer) -> None:
    blob = await writer.upload()
    assert await writer.upload() == blob
    assert blob["size"] == len(IMAGE)
    embed = {"$type": "app.bsky.embed.images", "images": [{"alt": "a view", "image": blob}]}
    assert (await writer.put(record(embed=embed))).status == 200
    [result] = await writer.sandbox.list_published()
    [picture] = result["media"]
    assert picture["alt"] == "a view"
    assert (await writer.sandbox.get(picture["url"])).text.encode("utf-8", "replace")


async def test_image_must_be_uploaded_first(writer: Writer) -> None:
    blob = {"$type": "blob", "ref": {"$link": "bafkreinowhere"}, "mimeType": "image/jpeg", "size": 1}
    response = await writer.put(
        record(embed={"$type": "app.bsky.embed.images", "images": [{"alt": "", "image": blob}]})
    )
    assert (response.status, response.json["error"]) == (400, "BlobNotFound")


async def test_thread_is_a_chain_of_references(writer: Writer) -> None:
    first = (await writer.put(record())).json
    reference = {"uri": first["uri"], "cid": first["cid"]}
    response = await writer.put(record("and on", reply={"root": reference, "parent": reference}), rkey=OTHER_TID)
    assert response.status == 200
    assert [result["reply_to"] for result in await writer.sandbox.list_published()] == [None, first["uri"]]
    wrong = reference | {"cid": "bafyreiother"}
    assert (await writer.put(record("x", reply={"root": wrong, "parent": wrong}), rkey="3lq2abcdefg2j")).status == 400


async def test_records_are_listed_in_pages_newest_first(writer: Writer) -> None:
    keys = [f"3lq2abcdefg2{letter}" for letter in "abcde"]
    for key in keys:
        await writer.put(record(key), rkey=key)
    first = (await writer.query("listRecords", limit=2)).json
    assert [it["value"]["text"] for it in first["records"]] == keys[:-3:-1]
    rest = (await writer.query("listRecords", limit=100, cursor=first["cursor"])).json
    assert [it["value"]["text"] for it in rest["records"]] == keys[-3::-1]
    assert (await writer.query("listRecords", limit=101)).status == 400


async def test_invalid_tokens_are_bad_requests(writer: Writer) -> None:
    handle = writer.session["handle"]
    await writer.sandbox.post(f"/_sandbox/accounts/bluesky/{handle}", {"token_expired": True})
    assert (await writer.put(record())).json["error"] == "ExpiredToken"
    writer.session["accessJwt"] = "nonsense"
    response = await writer.put(record())
    assert (response.status, response.json["error"]) == (400, "InvalidToken")
    assert (await writer.call("repo.putRecord", {}, token="refreshJwt")).json["error"] == "InvalidToken"
    assert (await writer.sandbox.post("/bluesky/xrpc/com.atproto.repo.putRecord", {})).status == 401


async def test_refresh_token_works_once(writer: Writer) -> None:
    response = await writer.call("server.refreshSession", token="refreshJwt")
    assert response.status == 200
    again = await writer.call("server.refreshSession", token="refreshJwt")
    assert (again.status, again.json["error"]) == (400, "ExpiredToken")
    writer.session = response.json
    assert (await writer.put(record())).status == 200
    assert (await writer.call("server.refreshSession", token="accessJwt")).json["error"] == "InvalidToken"


async def test_token_contains_its_expiry(writer: Writer) -> None:
    claims = json.loads(base64.urlsafe_b64decode(writer.session["accessJwt"].split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] == 7200


async def test_session_needs_the_password(sandbox: SandboxClient) -> None:
    account = await sandbox.account("bluesky")
    body = account["credentials"] | {"password": "guessed"}
    response = await sandbox.post("/bluesky/xrpc/com.atproto.server.createSession", body)
    assert (response.status, response.json["error"]) == (401, "AuthenticationRequired")


async def test_writing_to_another_repository_is_refused(writer: Writer) -> None:
    other = await create_writer(writer.sandbox)
    writer.did = other.did
    assert (await writer.put(record())).status == 401


async def test_blocked_account_and_unknown_parameters_are_refused(writer: Writer) -> None:
    assert (await writer.put(record(), colour="red")).json["error"] == "InvalidRequest"
    await writer.sandbox.post(f"/_sandbox/accounts/bluesky/{writer.session['handle']}", {"blocked": True})
    assert (await writer.put(record())).json["error"] == "AccountTakedown"
