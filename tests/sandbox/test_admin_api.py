"""The admin API: responses, changes and refusals."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import apsw
import pytest

from postino.sandbox.accounts import list_seeded_accounts
from postino.sandbox.networks import default_settings, networks
from tests.sandbox.sandbox_client import SandboxClient, run_sandbox
from tests.sandbox.scripted_calls import SCRIPTED_CALLS, bearer


async def message(sandbox: SandboxClient, text: str = "hello", **account: Any) -> str:
    credentials = (account or await sandbox.account("telegram"))["credentials"]
    body = {"chat_id": credentials["chat_id"], "text": text}
    response = await sandbox.post(f"/telegram/bot{credentials['bot_token']}/sendMessage", body)
    return str(response.json["result"]["message_id"])


# The record


async def test_published_posts_are_listed_in_order_with_all_fields(sandbox: SandboxClient) -> None:
    account = await sandbox.account("telegram")
    numbers = [await message(sandbox, f"number {number}", **account) for number in range(5)]
    result = await sandbox.list_published()
    assert [(it["remote_id"], it["text"]) for it in result] == [
        (number, f"number {place}") for place, number in enumerate(numbers)
    ]
    assert {(it["network"], it["account"]) for it in result} == {("telegram", account["handle"])}
    assert set(result[0]) == {
        "number", "epoch", "network", "account", "remote_id", "kind", "title", "text", "media", "reply_to",
        "published_at",
    }  # fmt: skip
    assert await sandbox.list_published(f"?after={result[2]['number']}") == result[3:]
    assert await sandbox.list_published("?network=bluesky") == []


async def test_reset_deletes_everything_but_the_record(sandbox: SandboxClient) -> None:
    account = await sandbox.account("mastodon")
    auth = bearer(account["credentials"]["access_token"])
    posted = await sandbox.post("/mastodon/api/v1/statuses", {"status": "before"}, **auth)
    before = await sandbox.list_published()
    await sandbox.fault("*", "drop", times=100)
    await sandbox.post(f"/_sandbox/accounts/mastodon/{account['handle']}", {"blocked": True, "token_expired": True})
    await sandbox.post("/_sandbox/settings", {"mastodon_key_seconds": 1})
    assert (await sandbox.post("/_sandbox/reset")).json == {"epoch": 2}
    assert await sandbox.list_published() == []
    assert await sandbox.list_published("?all=1") == before
    assert (await sandbox.get("/_sandbox/faults?all=1")).json["data"] == []
    assert (await sandbox.get("/_sandbox/calls")).json["data"] == []
    assert (await sandbox.get("/_sandbox/settings")).json == default_settings()
    assert (await sandbox.get(f"/mastodon/api/v1/statuses/{posted.json['id']}", **auth)).status == 404
    again = await sandbox.post("/mastodon/api/v1/statuses", {"status": "after"}, **auth)
    assert again.json["id"] != posted.json["id"]
    assert [it["text"] for it in await sandbox.list_published("?all=true")] == ["before", "after"]


async def test_database_refuses_to_change_the_record(tmp_path: Path) -> None:
    async with run_sandbox(tmp_path / "sandbox.db") as sandbox:
        await message(sandbox)
        connection = apsw.Connection(str(tmp_path / "sandbox.db"))
        connection.set_busy_timeout(5_000)
        for forbidden in (
            "UPDATE published SET text = 'other'",
            "DELETE FROM published",
            "REPLACE INTO published SELECT * FROM published",
        ):
            with pytest.raises(apsw.ConstraintError, match="never"):
                connection.execute(forbidden)
        connection.close()
        assert [it["text"] for it in await sandbox.list_published()] == ["hello"]


# Faults


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"fault": "drop"}, "network"),
        ({"network": "myspace", "fault": "drop"}, "network"),
        ({"network": ["x"], "fault": "drop"}, "network"),
        ({"network": "x"}, "fault"),
        ({"network": "x", "fault": "sulk"}, "fault"),
        ({"network": "x", "fault": "drop", "endpoint": "putRecord"}, "endpoint"),
        ({"network": "x", "fault": "drop", "endpoint": 7}, "endpoint"),
        ({"network": "*", "fault": "drop", "endpoint": "nowhere"}, "endpoint"),
        ({"network": "x", "fault": "drop", "account": 7}, "account"),
        ({"network": "x", "fault": "drop", "times": 0}, "times"),
        ({"network": "x", "fault": "drop", "times": "many"}, "times"),
        ({"network": "x", "fault": "drop", "times": True}, "times"),
        ({"network": "x", "fault": "drop", "rate": 0}, "rate"),
        ({"network": "x", "fault": "drop", "rate": 1.5}, "rate"),
        ({"network": "x", "fault": "drop", "rate": "half"}, "rate"),
        ({"network": "x", "fault": "drop", "rate": 0.5, "times": 3}, "rate"),
        ({"network": "x", "fault": "drop", "params": []}, "params"),
        ({"network": "x", "fault": "drop", "params": {"seconds": 1}}, "params.seconds"),
        ({"network": "x", "fault": "slow", "params": {"seconds": -1}}, "params.seconds"),
        ({"network": "x", "fault": "slow", "params": {"seconds": "long"}}, "params.seconds"),
        ({"network": "x", "fault": "slow", "params": {"minutes": 1}}, "params.minutes"),
        ({"network": "x", "fault": "slow", "params": {"seconds": {"min": 2}}}, "params.seconds"),
        ({"network": "x", "fault": "slow", "params": {"seconds": {"min": 3, "max": 2}}}, "params.seconds"),
        ({"network": "x", "fault": "slow", "params": {"seconds": {"min": -1, "max": 2}}}, "params.seconds"),
        ({"network": "x", "fault": "slow", "params": {"seconds": {"min": "1", "max": 2}}}, "params.seconds"),
        ({"network": "x", "fault": "slow", "params": {"seconds": {"min": 1, "max": 2, "mean": 1}}}, "params.seconds"),
        ({"network": "x", "fault": "timeout", "params": {"seconds": {"min": 1, "max": 2}}}, "params.seconds"),
        ({"network": "x", "fault": "html", "params": {"status": 42}}, "params.status"),
        ({"network": "x", "fault": "timeout", "params": {"processed": 1}}, "params.processed"),
        ({"network": "x", "fault": "rate_limited", "params": {"seconds": 1, "none": True}}, "params"),
        ({"network": "x", "fault": "rate_limited", "params": {"everyone": 1, "seconds": 1}}, "params.everyone"),
        ({"network": "x", "fault": "rate_limited", "params": {"everyone": True}}, "params.everyone"),
        ({"network": "x", "fault": "rate_limited", "params": {"everyone": True, "none": True}}, "params.everyone"),
        ({"network": "telegram", "fault": "invisible"}, "fault"),
        ({"network": "bluesky", "fault": "session_gone"}, "fault"),
        ({"network": "mastodon", "fault": "lost_refresh"}, "fault"),
        ({"network": "bluesky", "fault": "error_but_published", "endpoint": "getRecord"}, "fault"),
        ({"network": "x", "fault": "drop", "colour": "red"}, "colour"),
    ],
)
async def test_invalid_fault_is_refused_with_its_field(
    sandbox: SandboxClient, body: dict[str, Any], field: str
) -> None:
    response = await sandbox.post("/_sandbox/faults", body)
    assert (response.status, response.json["field"]) == (422, field), response.text
    assert response.headers["Content-Type"].startswith("application/problem+json")
    assert response.json["detail"]
    assert (await sandbox.get("/_sandbox/faults")).json["data"] == []


async def test_faults_are_listed_and_removed_one_by_one_or_all(sandbox: SandboxClient) -> None:
    first = (await sandbox.post("/_sandbox/faults", {"network": "x", "fault": "drop"})).json
    assert first["times"] == 1
    second = (await sandbox.post("/_sandbox/faults", {"network": "*", "fault": "slow", "rate": 0.5})).json
    assert (await sandbox.get("/_sandbox/faults")).json["data"] == [first, second]
    assert (await sandbox.call("DELETE", f"/_sandbox/faults/{first['id']}")).status == 200
    assert (await sandbox.call("DELETE", f"/_sandbox/faults/{first['id']}")).status == 404
    assert (await sandbox.call("DELETE", "/_sandbox/faults/first")).json["field"] == "id"
    assert (await sandbox.call("DELETE", "/_sandbox/faults")).json == {"removed": 1}
    assert (await sandbox.get("/_sandbox/faults")).json["data"] == []


@pytest.mark.parametrize("body", [b"{", b"[]", b"7", b"\xff\xfe"])
async def test_body_that_is_no_object_is_refused(sandbox: SandboxClient, body: bytes) -> None:
    for path in ("faults", "accounts", "settings"):
        response = await sandbox.call("POST", f"/_sandbox/{path}", data=body)
        assert response.status == 422, response.text


@pytest.mark.parametrize("query", ["published?colour=red", "published?after=soon", "published?network=myspace",
                                   "faults?some=1", "calls?x=1", "accounts?x=1"])  # fmt: skip
async def test_unknown_query_parameter_is_refused(sandbox: SandboxClient, query: str) -> None:
    assert (await sandbox.get(f"/_sandbox/{query}")).status == 422


# Accounts


async def test_every_network_has_one_seeded_account_with_derived_credentials(
    sandbox: SandboxClient,
) -> None:
    rows = (await sandbox.get("/_sandbox/accounts")).json["data"]
    assert [(it["network"], it["handle"], it["remote_id"], it["credentials"]) for it in rows] == [
        tuple(account) for account in list_seeded_accounts()
    ]
    assert [it["network"] for it in rows] == list(networks())


async def test_account_is_opened_with_or_without_handle(sandbox: SandboxClient) -> None:
    first, second = [await sandbox.account("bluesky") for _ in range(2)]
    assert first["handle"] != second["handle"]
    assert first["credentials"] != second["credentials"]
    named = await sandbox.post("/_sandbox/accounts", {"network": "x", "handle": "bakery"})
    assert (named.status, named.json["handle"]) == (201, "bakery")
    assert (await sandbox.post("/_sandbox/accounts", {"network": "x", "handle": "bakery"})).status == 409


async def test_many_accounts_are_opened_at_once(sandbox: SandboxClient) -> None:
    await sandbox.post("/_sandbox/accounts", {"network": "x", "handle": "postcard3"})
    for network in ("bluesky", "instagram", "mastodon", "telegram", "x"):
        opened = await sandbox.post("/_sandbox/accounts", {"network": network, "count": 40})
        assert (opened.status, len(opened.json["data"])) == (201, 40)
        assert {it["network"] for it in opened.json["data"]} == {network}
        known = (await sandbox.get("/_sandbox/accounts")).json["data"]
        assert all(it in known for it in opened.json["data"])
        assert len({it["remote_id"] for it in known}) == len(known)
    [last] = (await sandbox.post("/_sandbox/accounts", {"network": "telegram", "count": 1})).json["data"]
    await message(sandbox, **last)
    assert [it["account"] for it in await sandbox.list_published()] == [last["handle"]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "network"), ({"network": "myspace"}, "network"), ({"network": "x", "handle": ""}, "handle"),
        ({"network": "x", "handle": "a/b"}, "handle"), ({"network": "x", "handle": "*"}, "handle"),
        ({"network": "x", "handle": 7}, "handle"), ({"network": "x", "handle": "\ud800"}, "handle"),
        ({"network": "x", "colour": "red"}, "colour"), ({"network": "x", "count": 0}, "count"),
        ({"network": "x", "count": 1001}, "count"), ({"network": "x", "count": True}, "count"),
        ({"network": "x", "count": "many"}, "count"), ({"network": "x", "count": 2, "handle": "bakery"}, "count"),
    ],
)  # fmt: skip
async def test_invalid_account_is_refused(sandbox: SandboxClient, body: dict[str, Any], field: str) -> None:
    response = await sandbox.post("/_sandbox/accounts", body)
    assert (response.status, response.json["field"]) == (422, field)


async def test_invalid_account_changes_are_refused(sandbox: SandboxClient) -> None:
    path = "/_sandbox/accounts/x/postcard"
    assert (await sandbox.post(path, {"blocked": "yes"})).json["field"] == "blocked"
    assert (await sandbox.post(path, {"colour": True})).json["field"] == "colour"
    assert (await sandbox.post("/_sandbox/accounts/x/nobody", {"blocked": True})).status == 404
    assert (await sandbox.post("/_sandbox/accounts/myspace/nobody", {"blocked": True})).status == 422


@pytest.mark.parametrize(
    ("network", "endpoint"),
    [("bluesky", "putRecord"), ("mastodon", "statuses"), ("telegram", "sendMessage"), ("instagram", "media_publish"),
     ("x", "tweets"), ("youtube", "videos_update")],
)  # fmt: skip
async def test_blocked_and_expired_accounts_cannot_publish(sandbox: SandboxClient, network: str, endpoint: str) -> None:
    scripted_call = await SCRIPTED_CALLS[network, endpoint](sandbox)
    handle = (await sandbox.get("/_sandbox/accounts")).json["data"]
    [path] = [f"/_sandbox/accounts/{network}/{it['handle']}" for it in handle if it["network"] == network
              and it["handle"].startswith("postcard2")]  # fmt: skip
    for change in ("blocked", "token_expired"):
        assert (await sandbox.post(path, {change: True})).status == 200
        assert (await scripted_call.send(sandbox)).status in (400, 401, 403)
        await sandbox.post(path, {change: False})
    assert await sandbox.list_published() == []
    assert (await scripted_call.send(sandbox)).status in (200, 201)


# Counting


async def test_calls_and_max_in_flight_are_counted(sandbox: SandboxClient) -> None:
    first, second = [await sandbox.account("telegram") for _ in range(2)]
    await sandbox.fault("telegram", "slow", times=3, params={"seconds": 0.5})
    await asyncio.gather(*(message(sandbox, **account) for account in (first, first, second)))
    await message(sandbox, **first)
    body = (await sandbox.get("/_sandbox/calls")).json
    counted = {it["account"]: (it["calls"], it["max_in_flight"], it["in_flight"]) for it in body["data"]}
    assert counted == {first["handle"]: (3, 2, 0), second["handle"]: (1, 1, 0)}
    assert body["data"][0]["endpoints"] == {"sendMessage": 3}
    assert body["networks"] == [{"network": "telegram", "calls": 4, "in_flight": 0, "max_in_flight": 3}]


async def test_unauthenticated_and_unknown_calls_are_counted_separately(sandbox: SandboxClient) -> None:
    assert (await sandbox.get("/telegram/botnobody/getMe")).status == 401
    assert (await sandbox.get("/telegram/botnobody/dance")).status == 404
    [body] = (await sandbox.get("/_sandbox/calls")).json["data"]
    assert (body["account"], body["endpoints"]) == (None, {"?": 1, "getMe": 1})
    assert (await sandbox.get("/myspace/")).status == 404


# Settings, samples and the rest


@pytest.mark.parametrize(("body", "field"), [({"colour": 1}, "colour"), ({"x_media_seconds": -1}, "x_media_seconds"),
                                             ({"x_media_seconds": "long"}, "x_media_seconds")])  # fmt: skip
async def test_invalid_settings_are_refused(sandbox: SandboxClient, body: dict[str, Any], field: str) -> None:
    response = await sandbox.post("/_sandbox/settings", body)
    assert (response.status, response.json["field"]) == (422, field)


async def test_setting_is_changed_and_restored(sandbox: SandboxClient) -> None:
    changed = await sandbox.post("/_sandbox/settings", {"instagram_container_seconds": 5})
    assert changed.json["instagram_container_seconds"] == 5
    back = await sandbox.post("/_sandbox/settings", {"instagram_container_seconds": None})
    assert back.json == default_settings()


@pytest.mark.parametrize(
    ("name", "mime", "start"),
    [("sample.jpg", "image/jpeg", b"\xff\xd8\xff"), ("sample.png", "image/png", b"\x89PNG"),
     ("sample.mp4", "video/mp4", b"\0\0\0")],
)  # fmt: skip
async def test_sample_media_are_served(sandbox: SandboxClient, name: str, mime: str, start: bytes) -> None:
    async with sandbox.client.get(f"{sandbox.url}/_sandbox/media/{name}") as response:
        assert response.content_type == mime
        assert (await response.read()).startswith(start)
    assert (await sandbox.get("/_sandbox/media/sample.exe")).status == 404


async def test_uploaded_html_is_never_served_as_a_page(sandbox: SandboxClient) -> None:
    credentials = (await sandbox.account("bluesky"))["credentials"]
    session = (await sandbox.post("/bluesky/xrpc/com.atproto.server.createSession", credentials)).json
    headers = {"Authorization": f"Bearer {session['accessJwt']}", "Content-Type": "text/html"}
    await sandbox.call("POST", "/bluesky/xrpc/com.atproto.repo.uploadBlob", data=b"<script>", headers=headers)
    name = hashlib.sha256(b"<script>").hexdigest()
    async with sandbox.client.get(f"{sandbox.url}/_sandbox/media/{name}") as response:
        assert response.content_type == "application/octet-stream"
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_networks_list_their_endpoints_and_possible_faults(sandbox: SandboxClient) -> None:
    body = (await sandbox.get("/_sandbox/networks")).json["data"]
    assert [it["network"] for it in body] == list(networks())
    [telegram] = [it for it in body if it["network"] == "telegram"]
    assert {it["name"] for it in telegram["endpoints"]} == {
        "sendMessage", "sendPhoto", "sendMediaGroup", "getMe", "getChat",
    }  # fmt: skip
