"""`Idempotency-Key`: one request, one stored response, whichever process dies in between."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.api.processes import Client, Reply, Server
from tests.contract.databases import PostgresDatabase

BLUESKY = "bluesky:ada.test"
LATER = "2035-06-01T12:00Z"
BODY: dict[str, Any] = {"text": "Once", "accounts": [BLUESKY], "at": LATER}
JOB: dict[str, Any] = {"type": "once", "run_at": LATER}
HUNDREDFOLD: dict[str, dict[str, Any]] = {
    "/v1/posts": {"text": "Hundredfold"},
    "/v1/jobs": {"type": "hundredfold"},
    "/fp-publisher/v1/jobs": {"type": "former"},
}
MIDDLE = {
    "sqlite": {"create_posts.before": "/v1/posts", "create_posts.after": "/v1/posts", "enqueue.after": "/v1/jobs"},
    "postgres": {"create_posts.after": "/v1/posts", "enqueue.after": "/v1/jobs"},
}


@pytest.fixture(scope="module")
def accounts(server: Server) -> Server:
    connect(server.api)
    return server


def connect(api: Client, brand: str | None = None) -> None:
    body = {"network": "bluesky", "handle": "ada.test", "credentials": {"password": "x"}, "brand": brand}
    assert api.ask("POST", "/v1/accounts", body).status in (201, 409)


def send(api: Client, key: str, body: Any = None, path: str = "/v1/posts") -> Reply:
    usual = JOB if path.endswith("/jobs") else BODY
    return api.ask("POST", path, usual | (body or {}), Idempotency_Key=key)


def posts(api: Client, text: str) -> list[Any]:
    response: list[Any] = api.get(f"/v1/posts?text={text}")["data"]
    return response


def test_repeated_request_gets_the_stored_response(accounts: Server) -> None:
    first = send(accounts.api, "same", {"text": "Verbatim"})
    assert first.status == 201
    assert accounts.api.ask("POST", f"/v1/posts/{first.json['id']}/cancel", {}).status == 200
    for _ in range(2):
        again = send(accounts.api, "same", {"text": "Verbatim"})
        assert (again.status, again.body) == (201, first.body)
    assert len(posts(accounts.api, "Verbatim")) == 1


def test_another_body_with_the_key_gets_409(accounts: Server) -> None:
    assert send(accounts.api, "taken", {"text": "First"}).status == 201
    for reply in (
        send(accounts.api, "taken", {"text": "Second"}),
        send(accounts.api, "taken", {"text": "First", "hashtags": ["new"]}),
        accounts.api.ask("POST", "/v1/drafts", {"text": "Second"}, Idempotency_Key="taken"),
    ):
        assert reply.status == 409
        assert reply.json["detail"].count("(request ") == 2
    assert posts(accounts.api, "Second") == []


def test_rejected_request_does_not_use_the_key(accounts: Server) -> None:
    refused = send(accounts.api, "again", {"accounts": ["nobody"]})
    assert refused.status == 422
    assert send(accounts.api, "again", {"text": "Right this time"}).status == 201


def test_preview_does_not_use_the_key(accounts: Server) -> None:
    assert send(accounts.api, "seen", {"preview": True}).status == 200
    assert send(accounts.api, "seen", {"text": "Not a preview"}).status == 201


def test_same_post_published_now_with_another_key_is_a_duplicate(accounts: Server) -> None:
    fields: dict[str, Any] = {"text": "Twice", "at": None}
    first, again = (send(accounts.api, f"now {number}", fields) for number in range(2))
    meant = send(accounts.api, "now 2", fields | {"allow_duplicate": True})
    assert [reply.status for reply in (first, again, meant)] == [202, 409, 202]
    assert first.json["id"] in again.json["detail"]
    assert send(accounts.api, "now 0", fields).json == first.json


def test_idempotency_keys_are_scoped_to_the_api_key(accounts: Server) -> None:
    made = accounts.api.ask("POST", "/v1/api-keys", {"name": "another", "role": "editor"})
    assert made.status == 201
    another = Client(accounts.api.url, {"Authorization": f"Bearer {made.json['key']}"})
    first, second = send(accounts.api, "mine", {"text": "Mine"}), send(another, "mine", {"text": "Theirs"})
    assert (first.status, second.status) == (201, 201)
    assert first.json["id"] != second.json["id"]


@pytest.mark.parametrize("path", HUNDREDFOLD)
def test_hundred_concurrent_requests_create_one_post(accounts: Server, path: str) -> None:
    check_hundred([accounts.api], path, HUNDREDFOLD[path])


def check_hundred(servers: Sequence[Client], path: str, body: dict[str, Any], most: int = 100) -> bytes:
    """Send requests with one key concurrently: one thing is created, and all responses are equal."""
    with ThreadPoolExecutor(25) as pool:
        replies = list(pool.map(lambda n: send(servers[n % len(servers)], f"hundred {path}", body, path), range(most)))
    assert {reply.status for reply in replies} == {201}, replies[0]
    assert len({reply.body for reply in replies}) == 1
    api = servers[0]
    made = posts(api, body["text"]) if "text" in body else api.get(f"{path}?type={body['type']}")["data"]
    assert [one["id"] for one in made] == [replies[0].json["id"]]
    return replies[0].body


def test_another_job_body_with_the_key_gets_409(accounts: Server) -> None:
    first = send(accounts.api, "a job", {"type": "first", "run_at": LATER}, "/v1/jobs")
    assert first.status == 201
    for path in ("/v1/jobs", "/fp-publisher/v1/jobs", "/v1/posts"):
        refused = send(accounts.api, "a job", {"type": "second"} if path.endswith("/jobs") else {}, path)
        assert refused.status == 409, refused
    assert accounts.api.get("/v1/jobs?type=second")["data"] == []
    again = send(accounts.api, "a job", {"type": "first", "run_at": LATER}, "/v1/jobs")
    assert (again.status, again.body) == (201, first.body)


def test_stored_job_response_outlives_its_time_and_key(accounts: Server) -> None:
    soon = (datetime.now(UTC) - timedelta(seconds=30)).isoformat()
    fields = {"type": "keyed", "idempotency_key": "its own", "run_at": soon}
    first = send(accounts.api, "twofold", fields, "/v1/jobs")
    assert first.status == 201, first
    assert send(accounts.api, "twofold", fields, "/v1/jobs").body == first.body
    other = send(accounts.api, "threefold", fields, "/v1/jobs")
    assert (other.status, other.json["id"]) == (200, first.json["id"])


def test_draft_is_created_and_scheduled_once(accounts: Server) -> None:
    ask = accounts.api.ask
    drafts = [ask("POST", "/v1/drafts", {"text": "Draft", "accounts": [BLUESKY]}, Idempotency_Key="d") for _ in "12"]
    assert drafts[0].status == 201
    assert drafts[0].body == drafts[1].body
    path = f"/v1/drafts/{drafts[0].json['id']}/schedule"
    made = [ask("POST", path, {"at": LATER}, Idempotency_Key="s") for _ in "12"]
    assert made[0].status == 201
    assert made[0].body == made[1].body


@pytest.mark.slow
@pytest.mark.postgres
def test_two_servers_create_one_post_of_a_hundred_requests(folder: Path, postgres_url: str) -> None:
    asyncio.run(PostgresDatabase(postgres_url).store().migrate())
    settings = {"POSTINO_DATABASE_URL": postgres_url}
    with Server(folder, **settings) as one, Server(folder, **settings) as two:
        connect(one.api)
        for path, body in HUNDREDFOLD.items():
            check_hundred([one.api, two.api], path, body)
        refused = send(two.api, "hundred /v1/posts", {"text": "Another"})
        assert refused.status == 409, refused


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_request_repeated_after_a_kill_creates_one_post(
    folder: Path, store: str, request: pytest.FixtureRequest
) -> None:
    settings: dict[str, str] = {}
    if store == "postgres":
        settings["POSTINO_DATABASE_URL"] = request.getfixturevalue("postgres_url")
        asyncio.run(PostgresDatabase(settings["POSTINO_DATABASE_URL"]).store().migrate())
    result: set[bytes] = set()
    for point, path in MIDDLE[store].items():
        with Server(folder, **settings, POSTINO_CRASH=f"{point}:1") as server, ThreadPoolExecutor(10) as pool:
            connect(server.api)
            tries = [pool.submit(send, server.api, f"hundred {path}", HUNDREDFOLD[path], path) for _ in range(10)]
            lost = [one for one in tries if isinstance(one.exception(), OSError | HTTPException)]
            assert lost, point
            result |= {one.result().body for one in tries if one not in lost}  # by others, before the end
            server.end()
            assert server.process.returncode == -signal.SIGKILL
    with Server(folder, **settings) as server:
        known = {check_hundred([server.api], path, HUNDREDFOLD[path], most=20) for path in MIDDLE[store].values()}
        assert result <= known
