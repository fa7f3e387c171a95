"""Bluesky, as it was tried on a real server: a record under a key is created once."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from tests.sandbox.running import Answered, Sandbox

POST = "app.bsky.feed.post"
TID = "3lq2abcdefg2h"
OTHER_TID = "3lq2abcdefg2i"
PICTURE = b"\xff\xd8 a picture"


def record(text: str = "hello", **rest: Any) -> dict[str, Any]:
    return {"$type": POST, "text": text, "createdAt": "2026-11-16T08:00:00.000Z", **rest}


class Speaker:
    """Somebody with a session."""

    def __init__(self, sandbox: Sandbox, session: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.session = session
        self.did = session["did"]

    async def call(self, name: str, body: Any = None, token: str = "accessJwt", **options: Any) -> Answered:
        headers = {"Authorization": f"Bearer {self.session[token]}"} | options.pop("headers", {})
        return await self.sandbox.post(f"/bluesky/xrpc/com.atproto.{name}", body, headers=headers, **options)

    async def query(self, name: str, **query: Any) -> Answered:
        return await self.sandbox.get(
            f"/bluesky/xrpc/com.atproto.repo.{name}", params={"repo": self.did, "collection": POST, **query}
        )

    async def put(self, content: dict[str, Any], rkey: str = TID, **rest: Any) -> Answered:
        body = {"repo": self.did, "collection": POST, "rkey": rkey, "record": content, **rest}
        return await self.call("repo.putRecord", body)

    async def upload(self, data: bytes = PICTURE, mime: str = "image/jpeg") -> dict[str, Any]:
        answer = await self.call("repo.uploadBlob", data=data, headers={"Content-Type": mime})
        found: dict[str, Any] = answer.json["blob"]
        return found


async def speaker(sandbox: Sandbox) -> Speaker:
    credentials = (await sandbox.account("bluesky"))["credentials"]
    answer = await sandbox.post("/bluesky/xrpc/com.atproto.server.createSession", credentials)
    assert answer.status == 200, answer.text
    return Speaker(sandbox, answer.json)


@pytest.fixture
async def ours(sandbox: Sandbox) -> Speaker:
    return await speaker(sandbox)


async def test_a_record_is_published_and_can_be_asked_for_by_its_key(ours: Speaker) -> None:
    answer = await ours.put(record("Ciao 👋"), swapRecord=None)
    assert answer.status == 200
    uri = f"at://{ours.did}/{POST}/{TID}"
    assert answer.json["uri"] == uri
    assert answer.json["commit"]["rev"]
    [seen] = await ours.sandbox.published()
    assert (seen["network"], seen["account"], seen["remote_id"], seen["text"]) == (
        "bluesky", ours.session["handle"], uri, "Ciao 👋",
    )  # fmt: skip
    asked = await ours.query("getRecord", rkey=TID)
    assert asked.json == {"uri": uri, "cid": answer.json["cid"], "value": record("Ciao 👋")}
    assert (await ours.query("listRecords")).json["records"] == [asked.json]


async def test_the_same_record_again_changes_nothing_and_has_no_commit(ours: Speaker) -> None:
    first = await ours.put(record(), swapRecord=None)
    for swap in ({"swapRecord": None}, {}, {"swapRecord": first.json["cid"]}):
        again = await ours.put(record(), **swap)
        assert again.status == 200
        assert again.json["cid"] == first.json["cid"]
        assert "commit" not in again.json
    assert len(await ours.sandbox.published()) == 1


async def test_another_record_under_the_same_key_is_refused_if_there_must_be_none(ours: Speaker) -> None:
    first = await ours.put(record(), swapRecord=None)
    other = await ours.put(record("edited"), swapRecord=None)
    assert (other.status, other.json["error"]) == (400, "InvalidSwap")
    assert other.json["message"] == f"Record was at {first.json['cid']}"
    assert len(await ours.sandbox.published()) == 1


async def test_another_record_under_the_same_key_replaces_it_if_nothing_was_said(ours: Speaker) -> None:
    await ours.put(record())
    answer = await ours.put(record("edited"))
    assert "commit" in answer.json
    assert (await ours.query("getRecord", rkey=TID)).json["value"]["text"] == "edited"
    assert [(seen["kind"], seen["text"]) for seen in await ours.sandbox.published()] == [
        ("post", "hello"), ("edit", "edited"),
    ]  # fmt: skip


async def test_of_many_at_the_same_time_one_creates_the_record(ours: Speaker) -> None:
    answers = await asyncio.gather(*(ours.put(record(), swapRecord=None) for _ in range(20)))
    assert {answer.status for answer in answers} == {200}
    assert len([answer for answer in answers if "commit" in answer.json]) == 1
    assert len(await ours.sandbox.published()) == 1


@pytest.mark.parametrize("rkey", ["", "hello", "3LQ2ABCDEFG2H", "zlq2abcdefg2h", "3lq2abcdefg2h1", "3lq2abcdefg01"])
async def test_a_key_must_be_a_tid(ours: Speaker, rkey: str) -> None:
    answer = await ours.put(record(), rkey=rkey)
    assert (answer.status, answer.json["error"]) == (400, "InvalidRequest")
    assert "Invalid TID string" in answer.json["message"]


async def test_creating_twice_under_one_key_is_an_internal_error(ours: Speaker) -> None:
    body = {"repo": ours.did, "collection": POST, "rkey": TID, "record": record()}
    assert (await ours.call("repo.createRecord", body)).status == 200
    again = await ours.call("repo.createRecord", body)
    assert (again.status, again.json["error"]) == (500, "InternalServerError")
    without = await ours.call("repo.createRecord", {"repo": ours.did, "collection": POST, "record": record()})
    assert len(without.json["uri"].rpartition("/")[2]) == 13
    assert len(await ours.sandbox.published()) == 2


async def test_what_is_missing_is_a_bad_request(ours: Speaker) -> None:
    answer = await ours.query("getRecord", rkey=TID)
    assert (answer.status, answer.json["error"]) == (400, "RecordNotFound")


async def test_no_more_than_three_hundred_graphemes(ours: Speaker) -> None:
    family = "👩‍👩‍👧"
    assert (await ours.put(record(family * 100 + "x" * 200))).status == 200
    answer = await ours.put(record("x" * 301), rkey=OTHER_TID)
    assert answer.status == 400
    assert "300 graphemes" in answer.json["message"]


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
async def test_records_that_are_wrong_are_refused(ours: Speaker, content: dict[str, Any], says: str) -> None:
    answer = await ours.put(content)
    assert (answer.status, answer.json["error"]) == (400, "InvalidRequest")
    assert says in answer.json["message"]
    assert await ours.sandbox.published() == []


async def test_the_same_bytes_are_the_same_blob_and_show_in_the_record(ours: Speaker) -> None:
    blob = await ours.upload()
    assert await ours.upload() == blob
    assert blob["size"] == len(PICTURE)
    embed = {"$type": "app.bsky.embed.images", "images": [{"alt": "a view", "image": blob}]}
    assert (await ours.put(record(embed=embed))).status == 200
    [seen] = await ours.sandbox.published()
    [picture] = seen["media"]
    assert picture["alt"] == "a view"
    assert (await ours.sandbox.get(picture["url"])).text.encode("utf-8", "replace")


async def test_a_picture_must_be_uploaded_first(ours: Speaker) -> None:
    blob = {"$type": "blob", "ref": {"$link": "bafkreinowhere"}, "mimeType": "image/jpeg", "size": 1}
    answer = await ours.put(record(embed={"$type": "app.bsky.embed.images", "images": [{"alt": "", "image": blob}]}))
    assert (answer.status, answer.json["error"]) == (400, "BlobNotFound")


async def test_a_thread_is_a_chain_of_references(ours: Speaker) -> None:
    first = (await ours.put(record())).json
    reference = {"uri": first["uri"], "cid": first["cid"]}
    answer = await ours.put(record("and on", reply={"root": reference, "parent": reference}), rkey=OTHER_TID)
    assert answer.status == 200
    assert [seen["reply_to"] for seen in await ours.sandbox.published()] == [None, first["uri"]]
    wrong = reference | {"cid": "bafyreiother"}
    assert (await ours.put(record("x", reply={"root": wrong, "parent": wrong}), rkey="3lq2abcdefg2j")).status == 400


async def test_records_are_listed_in_pages_the_newest_key_first(ours: Speaker) -> None:
    keys = [f"3lq2abcdefg2{letter}" for letter in "abcde"]
    for key in keys:
        await ours.put(record(key), rkey=key)
    first = (await ours.query("listRecords", limit=2)).json
    assert [it["value"]["text"] for it in first["records"]] == keys[:-3:-1]
    rest = (await ours.query("listRecords", limit=100, cursor=first["cursor"])).json
    assert [it["value"]["text"] for it in rest["records"]] == keys[-3::-1]
    assert (await ours.query("listRecords", limit=101)).status == 400


async def test_refused_tokens_are_bad_requests(ours: Speaker) -> None:
    handle = ours.session["handle"]
    await ours.sandbox.post(f"/_sandbox/accounts/bluesky/{handle}", {"token_expired": True})
    assert (await ours.put(record())).json["error"] == "ExpiredToken"
    ours.session["accessJwt"] = "nonsense"
    answer = await ours.put(record())
    assert (answer.status, answer.json["error"]) == (400, "InvalidToken")
    assert (await ours.call("repo.putRecord", {}, token="refreshJwt")).json["error"] == "InvalidToken"
    assert (await ours.sandbox.post("/bluesky/xrpc/com.atproto.repo.putRecord", {})).status == 401


async def test_the_old_refresh_token_dies_with_the_refresh(ours: Speaker) -> None:
    answer = await ours.call("server.refreshSession", token="refreshJwt")
    assert answer.status == 200
    again = await ours.call("server.refreshSession", token="refreshJwt")
    assert (again.status, again.json["error"]) == (400, "ExpiredToken")
    ours.session = answer.json
    assert (await ours.put(record())).status == 200
    assert (await ours.call("server.refreshSession", token="accessJwt")).json["error"] == "InvalidToken"


async def test_a_token_says_itself_when_it_ends(ours: Speaker) -> None:
    claims = json.loads(base64.urlsafe_b64decode(ours.session["accessJwt"].split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] == 7200


async def test_a_session_needs_the_password(sandbox: Sandbox) -> None:
    account = await sandbox.account("bluesky")
    told = account["credentials"] | {"password": "guessed"}
    answer = await sandbox.post("/bluesky/xrpc/com.atproto.server.createSession", told)
    assert (answer.status, answer.json["error"]) == (401, "AuthenticationRequired")


async def test_one_cannot_write_into_somebody_elses_repository(ours: Speaker) -> None:
    other = await speaker(ours.sandbox)
    ours.did = other.did
    assert (await ours.put(record())).status == 401


async def test_a_blocked_account_and_unknown_parameters_are_refused(ours: Speaker) -> None:
    assert (await ours.put(record(), colour="red")).json["error"] == "InvalidRequest"
    await ours.sandbox.post(f"/_sandbox/accounts/bluesky/{ours.session['handle']}", {"blocked": True})
    assert (await ours.put(record())).json["error"] == "AccountTakedown"
