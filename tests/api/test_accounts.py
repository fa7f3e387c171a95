"""`/v1/accounts`: create, check, reconnect, pause, and move between brands."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.fake_worker import key_for, same_refusal
from tests.api.processes import Client, Server, Up

SECRET = "hunter2-and-more"
MASTODON = {
    "network": "mastodon", "handle": "ada@social.example", "base_url": "https://social.example",
    "credentials": {"access_token": SECRET},
}  # fmt: skip


def add(client: Client, handle: str, **change: Any) -> Any:
    reply = client.ask("POST", "/v1/accounts", MASTODON | {"handle": handle} | change)
    assert reply.status == 201, reply
    return reply.json


def test_created_account_never_shows_its_credentials(server: Server) -> None:
    reply = server.api.ask("POST", "/v1/accounts", MASTODON | {"reason": "we are there now"})
    assert (reply.status, reply.json["id"], reply.json["state"]) == (201, "mastodon:ada@social.example", "active")
    everything = [
        reply.body,
        server.api.ask("GET", "/v1/accounts").body,
        server.api.ask("GET", "/v1/accounts/mastodon:ada@social.example").body,
        server.api.ask("GET", "/v1/audit").body,
        (server.folder / "postino.db").read_bytes(),
    ]
    assert not any(SECRET.encode() in item for item in everything)
    again = server.api.ask("POST", "/v1/accounts", MASTODON)
    assert again.status == 409
    assert "Reconnect" in again.json["detail"]
    [entry] = [one for one in server.api.get("/v1/audit")["data"] if one["action"] == "account.added"]
    assert (entry["subject"], entry["reason"]) == ("account:mastodon:ada@social.example", "we are there now")


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"network": "friendster"}, "network", "friendster"),
        ({"network": "instagram"}, "network", "does not publish to Instagram yet. It publishes to: bluesky"),
        ({"network": "facebook", "credentials": {}}, "network", "does not publish to Facebook yet"),
        ({"credentials": {}}, "credentials", "An account on Mastodon needs: access_token."),
        ({"credentials": {"token": SECRET}}, "credentials", "access_token is missing"),
        ({"credentials": {"access_token": 7}}, "credentials.access_token", "must be a text"),
        ({"credentials": SECRET}, "credentials", "must be an object"),
        ({"base_url": "ftp://x"}, "base_url", "must begin with"),
        ({"base_url": "http://127.0.0.1:1"}, "base_url", "cannot be used"),
        ({"base_url": "http://[::1]/"}, "base_url", "cannot be used"),
        ({"base_url": "http://social.example"}, "base_url", "add http://social.example to the setting"),
        ({"base_url": f"https://ada:{SECRET}@social.example"}, "base_url", "cannot contain a user name"),
        ({"base_url": "sandbox:/mastodon"}, "base_url", "must begin with"),
        ({"base_url": "sandbox:/_sandbox/reset#"}, "base_url", "in the sandbox has sandbox:/mastodon"),
        ({"base_url": None}, "base_url", "give the server"),
        ({"handle": ""}, "handle", "at least 1"),
        ({"brand": 3}, "brand", "must be a text"),
    ],
)
def test_invalid_field_is_named_without_secrets(server: Server, change: dict[str, Any], field: str, words: str) -> None:
    reply = server.api.ask("POST", "/v1/accounts", MASTODON | {"handle": "wrong"} | change)
    assert (reply.status, reply.json["field"]) == (422, field), reply
    assert words in reply.json["detail"]
    assert SECRET not in reply.body.decode()
    assert server.api.ask("GET", "/v1/accounts/mastodon:wrong").status == 404


def test_account_is_paused_with_a_reason_and_resumed(server: Server) -> None:
    name = add(server.api, "pause@social.example")["id"]
    paused = server.api.ask("POST", f"/v1/accounts/{name}/pause", {"reason": "on holiday"})
    assert (paused.json["state"], paused.json["reason"]) == ("paused", "on holiday")
    assert server.api.get("/v1/accounts?state=paused")["data"] == [paused.json]
    resumed = server.api.ask("POST", f"/v1/accounts/{name}/resume")
    assert (resumed.status, resumed.json["state"]) == (200, "active")
    refused = server.api.ask("POST", f"/v1/accounts/{name}/resume")
    assert refused.status == 409
    assert "is not paused" in refused.json["detail"]


def test_encoded_slash_belongs_to_the_account_name(server: Server) -> None:
    name = add(server.api, "ada/work@social.example")["id"]
    path = f"/v1/accounts/{quote(name, safe='')}"
    assert server.api.get(path)["id"] == name
    assert server.api.ask("POST", f"{path}/pause").json["state"] == "paused"
    missing = server.api.ask("GET", "/v1/accounts/nobody%2fnowhere")
    assert (missing.status, "Account nobody/nowhere does not exist." in missing.json["detail"]) == (404, True)
    assert server.api.ask("GET", "/v1/accounts/nobody/nowhere").json["detail"] == "There is nothing at this URL."
    assert server.api.ask("GET", "/v1%2Faccounts").status == 404


def test_accounts_of_other_brands_are_missing(server: Server) -> None:
    acme, other = key_for(server, "acme"), key_for(server, "other")
    mine = add(acme, "acme@social.example", brand="acme")["id"]
    assert [one["id"] for one in acme.get("/v1/accounts")["data"]] == [mine]
    assert other.get("/v1/accounts")["data"] == []
    for path in ("check", "reconnect", "pause", "resume"):
        body = {"credentials": {"access_token": "x"}} if path == "reconnect" else None
        foreign = other.ask("POST", f"/v1/accounts/{mine}/{path}", body)
        assert same_refusal(foreign, other.ask("POST", f"/v1/accounts/nobody/{path}", body), mine, "nobody")
    foreign = other.ask("GET", f"/v1/accounts/{mine}")
    assert same_refusal(foreign, other.ask("GET", "/v1/accounts/nobody"), mine, "nobody")
    for brand in (None, "acme"):
        reply = other.ask("POST", "/v1/accounts", MASTODON | {"handle": "thief@social.example", "brand": brand})
        assert (reply.status, reply.json["field"]) == (422, "brand")


@pytest.mark.slow
def test_check_asks_the_network_and_reconnect_releases_posts(up: Up) -> None:
    """Wrong credentials: found out by a check, seen in the account; the right ones let the post go out."""
    [known] = [one for one in up.sandbox.get("/_sandbox/accounts")["data"] if one["network"] == "mastodon"][:1]
    right = known["credentials"]
    account = next(one for one in up.api.get("/v1/accounts")["data"] if one["network"] == "mastodon")
    name = account["id"]
    assert up.api.ask("POST", f"/v1/accounts/{name}/check").json["works"] is True
    wrong = {"credentials": {"access_token": "wrong"}, "reason": "a slip"}
    assert up.api.ask("POST", f"/v1/accounts/{name}/reconnect", wrong).status == 200
    checked = up.api.ask("POST", f"/v1/accounts/{name}/check").json
    assert (checked["works"], checked["account"]["state"]) == (False, "token_expired")
    post = up.post("Waits for its key", name)
    assert up.api.ask("POST", f"/v1/accounts/{name}/pause").status == 409
    again = up.api.ask("POST", f"/v1/accounts/{name}/reconnect", {"credentials": right, "reason": "the right one"})
    assert (again.status, again.json["state"]) == (200, "active")
    up.wait_for_status(post["id"])
    assert up.texts().count("Waits for its key") == 1
    up.fault("mastodon", "drop", times=1)
    unsure = up.api.ask("POST", f"/v1/accounts/{name}/check").json
    assert (unsure["works"], unsure["account"]["state"]) == (None, "active")


def test_check_of_credentials_that_no_key_opens_is_409_and_says_what_to_do(server: Server) -> None:
    name = add(server.api, "sealed@social.example")["id"]
    with closing(sqlite3.connect(server.folder / "postino.db")) as database, database:
        database.execute("UPDATE postino_accounts SET sealed = ? WHERE id = ?", (b"\x01damaged", name))
    reply = server.api.ask("POST", f"/v1/accounts/{name}/check")
    assert (reply.status, "or reconnect the account" in reply.json["detail"]) == (409, True), reply
    assert server.api.get(f"/v1/accounts/{name}")["state"] == "locked"


def test_two_brands_adding_one_account_have_one_winner(server: Server) -> None:
    keys = [key_for(server, "first"), key_for(server, "second")] * 3
    bodies = [MASTODON | {"handle": "contested@social.example", "brand": brand} for brand in ("first", "second")] * 3
    with ThreadPoolExecutor(len(keys)) as pool:
        replies = [*pool.map(lambda key, body: key.ask("POST", "/v1/accounts", body), keys, bodies)]
    assert sorted(reply.status for reply in replies) == [201] + [409] * 5
    [added] = [reply.json for reply in replies if reply.status == 201]
    assert server.api.get(f"/v1/accounts/{added['id']}") == added
