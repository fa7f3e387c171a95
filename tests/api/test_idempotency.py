"""`Idempotency-Key`: one request, one answer, for ever, whoever dies in between."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.api.household import Client, Reply, Server, Up
from tests.contract.databases import PostgresDatabase

BLUESKY = "bluesky:ada.test"
LATER = "2035-06-01T12:00Z"
BODY: dict[str, Any] = {"text": "Once", "accounts": [BLUESKY], "at": LATER}


@pytest.fixture(scope="module")
def accounts(server: Server) -> Server:
    connect(server.api)
    return server


def connect(api: Client, brand: str | None = None) -> None:
    body = {"network": "bluesky", "handle": "ada.test", "credentials": {"password": "x"}, "brand": brand}
    assert api.ask("POST", "/v1/accounts", body).status == 201


def send(api: Client, key: str, body: Any = None, path: str = "/v1/posts") -> Reply:
    return api.ask("POST", path, BODY | (body or {}), Idempotency_Key=key)


def posts(api: Client, text: str) -> list[Any]:
    found: list[Any] = api.get(f"/v1/posts?text={text}")["data"]
    return found


def test_the_same_request_is_answered_the_same_word_for_word_whatever_happened_since(accounts: Server) -> None:
    first = send(accounts.api, "same", {"text": "Verbatim"})
    assert first.status == 201
    assert accounts.api.ask("POST", f"/v1/posts/{first.json['id']}/cancel", {}).status == 200
    for _ in range(2):
        again = send(accounts.api, "same", {"text": "Verbatim"})
        assert (again.status, again.body) == (201, first.body)
    assert len(posts(accounts.api, "Verbatim")) == 1


def test_another_body_with_the_key_is_refused_and_nothing_is_made(accounts: Server) -> None:
    assert send(accounts.api, "taken", {"text": "First"}).status == 201
    for reply in (
        send(accounts.api, "taken", {"text": "Second"}),
        send(accounts.api, "taken", {"text": "First", "hashtags": ["new"]}),
        accounts.api.ask("POST", "/v1/drafts", {"text": "Second"}, Idempotency_Key="taken"),
    ):
        assert reply.status == 409
        assert reply.json["detail"].count("with the body") == 2
    assert posts(accounts.api, "Second") == []


def test_what_is_refused_keeps_no_key(accounts: Server) -> None:
    refused = send(accounts.api, "again", {"accounts": ["nobody"]})
    assert refused.status == 422
    assert send(accounts.api, "again", {"text": "Right this time"}).status == 201


def test_a_preview_uses_no_key(accounts: Server) -> None:
    assert send(accounts.api, "seen", {"preview": True}).status == 200
    assert send(accounts.api, "seen", {"text": "Not a preview"}).status == 201


def test_with_keys_the_same_published_now_twice_is_meant(accounts: Server) -> None:
    replies = [send(accounts.api, f"now {number}", {"text": "Twice", "at": None}) for number in range(2)]
    assert [reply.status for reply in replies] == [202, 202]
    assert replies[0].json["id"] != replies[1].json["id"]


def test_keys_belong_to_the_api_key_they_come_with(accounts: Server) -> None:
    made = accounts.api.ask("POST", "/v1/api-keys", {"name": "another", "role": "editor"})
    assert made.status == 201
    another = Client(accounts.api.url, {"Authorization": f"Bearer {made.json['key']}"})
    first, second = send(accounts.api, "mine", {"text": "Mine"}), send(another, "mine", {"text": "Theirs"})
    assert (first.status, second.status) == (201, 201)
    assert first.json["id"] != second.json["id"]


def test_a_hundred_at_once_are_one_post_and_one_answer(accounts: Server) -> None:
    with ThreadPoolExecutor(25) as pool:
        replies = list(pool.map(lambda _: send(accounts.api, "hundred", {"text": "Hundredfold"}), range(100)))
    assert {reply.status for reply in replies} == {201}
    assert len({reply.body for reply in replies}) == 1
    assert len(posts(accounts.api, "Hundredfold")) == 1


def test_drafts_are_made_and_scheduled_once(accounts: Server) -> None:
    ask = accounts.api.ask
    drafts = [ask("POST", "/v1/drafts", {"text": "Draft", "accounts": [BLUESKY]}, Idempotency_Key="d") for _ in "12"]
    assert drafts[0].status == 201
    assert drafts[0].body == drafts[1].body
    path = f"/v1/drafts/{drafts[0].json['id']}/schedule"
    made = [ask("POST", path, {"at": LATER}, Idempotency_Key="s") for _ in "12"]
    assert made[0].status == 201
    assert made[0].body == made[1].body


@pytest.mark.slow
def test_a_server_killed_right_after_it_answered_answers_the_same_when_it_is_back(folder: Path) -> None:
    with Server(folder) as server:
        connect(server.api)
        first = send(server.api, "killed", {"text": "Survivor"})
        draft = server.api.ask("POST", "/v1/drafts", {"text": "Survivor, too"})
        server.kill_group()
    assert (first.status, draft.status) == (201, 201)
    with Server(folder) as server:
        again = send(server.api, "killed", {"text": "Survivor"})
        assert (again.status, again.body) == (first.status, first.body)
        assert server.api.get(f"/v1/posts/{first.json['id']}")["status"] == "scheduled"
        assert server.api.get(f"/v1/drafts/{draft.json['id']}")["text"] == "Survivor, too"


@pytest.mark.slow
@pytest.mark.postgres
def test_on_postgresql_a_hundred_at_once_are_one_post_too(folder: Path, postgres_url: str) -> None:
    asyncio.run(PostgresDatabase(postgres_url).store().migrate())
    with Server(folder, POSTINO_DATABASE_URL=postgres_url) as server:
        connect(server.api)
        with ThreadPoolExecutor(25) as pool:
            replies = list(pool.map(lambda _: send(server.api, "hundred", {"text": "Hundredfold"}), range(100)))
        assert {reply.status for reply in replies} == {201}
        assert len({reply.body for reply in replies}) == 1
        assert len(posts(server.api, "Hundredfold")) == 1


@pytest.mark.slow
def test_what_was_asked_for_once_is_published_once(up: Up) -> None:
    body = {"text": "Out once", "accounts": ["bluesky:postcard.test"]}
    replies = [up.api.ask("POST", "/v1/posts", body, Idempotency_Key="out") for _ in range(3)]
    assert {reply.status for reply in replies} == {202}
    up.settled(replies[0].json["id"])
    assert up.api.ask("POST", "/v1/posts", body, Idempotency_Key="out").body == replies[0].body
    assert up.texts().count("Out once") == 1
