"""Invalid requests are rejected with the name of the field, and nothing is queued."""

from __future__ import annotations

import asyncio
import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from postino import Postino
from postino.api.models import PostBody
from postino.config import load_config
from tests.api.processes import Client, Server

ACCOUNTS = {
    "bluesky": ("ada.example.org", {"identifier": "ada.example.org", "password": "abcd-efgh-ijkl-mnop"}, None),
    "mastodon": ("ada", {"access_token": "a-token"}, "https://social.example.org"),
    "telegram": ("ada", {"bot_token": "1:t", "chat_id": "-1"}, None),
}
BLUESKY, MASTODON, TELEGRAM = "bluesky:ada.example.org", "mastodon:ada", "telegram:ada"
GOOD = {"text": "Hello", "accounts": [BLUESKY]}


@pytest.fixture(scope="module", autouse=True)
def _accounts(server: Server) -> None:
    async def add(folder: Path) -> None:
        async with Postino(load_config(folder, environment={})) as app:
            for network, (handle, credentials, base_url) in ACCOUNTS.items():
                await app.accounts.add(network, handle, credentials, base_url=base_url)

    asyncio.run(add(server.folder))


@pytest.fixture(autouse=True)
def _check_nothing_queued(server: Server) -> Any:
    before = server.api.get("/v1/posts")["data"]
    yield
    assert server.api.get("/v1/posts")["data"] == before


def too_deep(levels: int) -> bytes:
    return b'{"text":' + b"[" * levels + b"]" * levels + b"}"


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"text": 7}, "text", "must be a text, not 7"),
    ({"text": "x" * 5001}, "text", "it has 5,001 characters, and the maximum is 5,000"),
    ({"text": "x" * 301}, "text", "1 character too long for Bluesky"),
    ({"text": ""}, "text", "is empty. Write a text."),
    ({"text": "half a \ud83d"}, "text", "unpaired surrogate"),
    ({"text": "a\0b"}, "text", "unpaired surrogate"),
    ({"text": "{{name}}"}, "text", "The placeholder {{name}} has no value"),
    ({"title": ["no"]}, "title", "must be a text"),
    ({"title": "x" * 501}, "title", "the maximum is 500"),
    ({"hashtags": "rome"}, "hashtags", "must be a list"),
    ({"hashtags": [1]}, "hashtags[0]", "must be a text"),
    ({"hashtags": [f"t{n}" for n in range(31)]}, "hashtags", "31 hashtags are too many"),
    ({"thread": "more"}, "thread", "must be a list"),
    ({"thread": ["", "x"]}, "thread[0]", "empty"),
    ({"media": {}}, "media", "must be a list"),
    ({"media": ["https://example.org/a.jpg"]}, "media[0]", "must be an object"),
    ({"media": [{}]}, "media[0].url", "is missing"),
    ({"media": [{"id": "7"}]}, "media[0].id", "does not store uploads yet"),
    ({"media": [{"url": "https://example.org/a.jpg", "alt": 7}]}, "media[0].alt", "must be a text"),
    ({"media": [{"url": "https://example.org/a.jpg", "kind": "poem"}]}, "media[0].kind", "'image' or 'video'"),
    ({"media": [{"ulr": "https://example.org/a.jpg"}]}, "media[0].ulr", "Did you mean url?"),
    ({"accounts": None}, "accounts", "must be a list"),
    ({"accounts": []}, "accounts", "name at least one account"),
    ({"accounts": BLUESKY}, "accounts", "must be a list"),
    ({"accounts": [7]}, "accounts[0]", "must be a text"),
    ({"accounts": ["bluesky:ada.example.com"]}, "accounts", f"Did you mean {BLUESKY}?"),
    ({"accounts": ["bluesky"]}, "accounts", f"Did you mean {BLUESKY}?"),
    ({"accounts": ["myspace"]}, "accounts", f"Use one of: {BLUESKY}"),
    ({"accounts": [BLUESKY] * 101}, "accounts", "100 are allowed"),
    ({"at": 1767225600}, "at", "must be a text"),
    ({"at": "tomorrow"}, "at", "is not a time"),
    ({"at": "2020-01-01T00:00:00Z"}, "at", "at: 2020-01-01T00:00:00Z has passed"),
    ({"at": "2030-02-30T00:00:00Z"}, "at", "is not a time"),
    ({"at": "2030-01-01T00:00:00"}, "timezone", "has no time zone"),
    ({"at": "2030-01-01T00:00:00", "timezone": "Europe/Rom"}, "timezone", "Did you mean Europe/Rome?"),
    ({"at": "2030-01-01T00:00:00", "timezone": 1}, "timezone", "must be a text"),
    ({"publish_until": "soon"}, "publish_until", "is not a time"),
    ({"publish_until": "2020-01-01T00:00:00Z"}, "publish_until", "not after the time"),
    ({"at": "2030-01-02T00:00:00Z", "publish_until": "2030-01-01T00:00:00Z"}, "publish_until", "not after the time"),
    ({"overrides": []}, "overrides", "must be an object"),
    ({"overrides": {"bluesk": {"text": "x"}}}, "overrides", "Did you mean bluesky?"),
    ({"overrides": {"bluesky": {"txt": "x"}}}, "overrides.bluesky.txt", "Did you mean text?"),
    ({"overrides": {"bluesky": {"text": "x" * 301}}}, "overrides.bluesky.text", "too long for Bluesky"),
    ({"overrides": {"bluesky": {"options": {"a": "\ud83d"}}}}, "overrides.bluesky.options.a", "unpaired surrogate"),
    ({"placeholders": {"name": 7}}, "placeholders.name", "must be a text"),
    ({"first_comment": "First!"}, "first_comment", "does not support first comments yet"),
    ({"preview": "yes"}, "preview", "must be true or false"),
    ({"allow_duplicate": 1}, "allow_duplicate", "must be true or false"),
    ({"allow_blackout": 1}, "allow_blackout", "must be true or false"),
    ({"acounts": []}, "acounts", "Did you mean accounts?"),
    ({"zebra": 1}, "zebra", "Use one of: text, thread"),
]


@pytest.mark.parametrize(("change", "field", "words"), WRONG, ids=lambda it: it if isinstance(it, str) else "")
def test_invalid_field_is_named(server: Server, change: dict[str, Any], field: str, words: str) -> None:
    reply = server.api.ask("POST", "/v1/posts", GOOD | change)
    assert reply.status == 422, reply
    assert reply.headers["content-type"] == "application/problem+json"
    assert (reply.json["status"], reply.json["field"]) == (422, field)
    assert words in reply.json["detail"]


def test_every_field_of_a_post_is_tested() -> None:
    tried = {name for change, _, _ in WRONG for name in change}
    assert set(PostBody.model_fields) <= tried


def test_all_problems_are_listed_at_once(server: Server) -> None:
    reply = server.api.ask("POST", "/v1/posts", {"txt": "x", "accounts": [7], "preview": 3})
    assert {it["field"] for it in reply.json["problems"]} == {"txt", "accounts[0]", "preview"}
    wrong = {"text": "x" * 501, "accounts": [BLUESKY, MASTODON, TELEGRAM]}
    refused = server.api.ask("POST", "/v1/posts", wrong).json
    assert [(it["account"], it["severity"], it["field"]) for it in refused["problems"]] == [
        (BLUESKY, "error", "text"),
        (MASTODON, "error", "text"),
    ]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 422, "The body is missing: send a JSON object with accounts; it may have text, thread"),
        (b"Hello", 400, "not JSON"),
        (b'{"text": "x", "accounts": ["a"]', 400, "not JSON"),
        (b'{"text": "caf\xe9"}', 400, "not UTF-8 text (byte 13)"),
        (b'{"text": NaN}', 400, "NaN is not a JSON number"),
        (b"[]", 422, "must be an object"),
        (b'"Hello"', 422, "must be an object"),
        (b"null", 422, "The body"),
        (too_deep(100_000), 400, "nested too deeply"),
        (json.dumps(GOOD | {"text": "x" * 2_000_000}).encode(), 413, "larger than 1,000,000 bytes"),
    ],
    ids=["empty", "words", "cut off", "latin-1", "nan", "list", "text", "null", "deep", "two megabytes"],
)
def test_unreadable_body_is_rejected(server: Server, body: bytes, status: int, words: str) -> None:
    reply = server.api.ask("POST", "/v1/posts", body)
    assert reply.status == status, reply
    assert words in reply.json["detail"]
    assert "Traceback" not in reply.body.decode()


def test_chunked_body_is_limited_too(server: Server) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.api.url).netloc, timeout=10)
    many = (b"x" * 100_000 for _ in range(20))
    try:
        connection.request("POST", "/v1/posts", many, dict(server.api.headers), encode_chunked=True)
        status = connection.getresponse().status
    except ConnectionError:  # it hung up while we were still sending
        status = 413
    finally:
        connection.close()
    assert status == 413


def test_error_of_a_read_does_not_mention_changes(server: Server) -> None:
    results = [
        server.api.ask("GET", path) for path in ("/v1/posts/7", f"/v1/posts/{NOBODY}", "/v1/calendar?from=x&to=y")
    ]
    assert [reply.status for reply in results] == [422, 404, 422]
    for reply in results:
        assert "Nothing was changed" not in reply.json["detail"]
        assert "`postino" not in reply.json["detail"]
    assert "Nothing was changed" in server.api.ask("POST", "/v1/posts", {}).json["detail"]


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_idempotency_key_of_wrong_length_is_named(server: Server, key: str) -> None:
    reply = server.api.ask("POST", "/v1/posts", GOOD, Idempotency_Key=key)
    assert (reply.status, reply.json["field"]) == (422, "Idempotency-Key")


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", "Basic cG9zdGlubzp4", "bearer postino_\xe9"]
)
def test_request_without_key_gets_401(server: Server, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    stranger = Client(server.api.url, headers)
    for method, path in (("GET", "/v1/posts"), ("GET", "/v1/accounts"), ("POST", "/v1/posts")):
        reply = stranger.ask(method, path, GOOD if method == "POST" else None)
        assert reply.status == 401, reply
        assert reply.headers["www-authenticate"].startswith("Bearer")
        assert "api.key" in reply.json["detail"]


@pytest.mark.parametrize(
    ("path", "field", "words"),
    [
        ("/v1/posts?limit=0", "limit", "from 1 to 200"),
        ("/v1/posts?limit=many", "limit", "from 1 to 200"),
        ("/v1/posts?cursor=7", "cursor", "next_cursor"),
        ("/v1/posts?status=publishd", "status", "Did you mean published?"),
        ("/v1/posts?netwrk=x", "netwrk", "Did you mean network?"),
        ("/v1/posts/7", "post_id", "an id such as"),
    ],
)
def test_invalid_query_parameter_is_named(server: Server, path: str, field: str, words: str) -> None:
    reply = server.api.ask("GET", path)
    assert (reply.status, reply.json["field"]) == (422, field)
    assert words in reply.json["detail"]


NOBODY = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/v1/posts/{NOBODY}", None),
        ("GET", f"/v1/contents/{NOBODY}", None),
        ("PATCH", f"/v1/posts/{NOBODY}", {"text": "x"}),
        ("POST", f"/v1/posts/{NOBODY}/cancel", None),
        ("POST", f"/v1/posts/{NOBODY}/publish-now", None),
        ("POST", f"/v1/posts/{NOBODY}/replay", None),
        ("POST", f"/v1/posts/{NOBODY}/resolve", {"verdict": "give_up", "reason": "x"}),
        ("GET", "/v1/nothing", None),
        ("GET", "/nothing", None),
    ],
)
def test_missing_things_get_404(server: Server, method: str, path: str, body: Any) -> None:
    reply = server.api.ask(method, path, body)
    assert reply.status == 404, reply
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("", {}, None),
        ("", {"at": None}, "at"),
        ("", {"text": "x", "at": "2030-01-01T00:00:00Z"}, "at"),
        ("", {"acounts": []}, "acounts"),
        ("", {"text": 7}, "text"),
        ("/cancel", {"reason": 7}, "reason"),
        ("/cancel", {"reason": "x" * 2001}, "reason"),
        ("/replay", {"force": "yes"}, "force"),
        ("/resolve", None, None),
        ("/resolve", {"verdict": "maybe", "reason": "x"}, "verdict"),
        ("/resolve", {"verdict": "live", "reason": "x"}, "remote_id"),
        ("/resolve", {"verdict": "give_up"}, "reason"),
        ("/resolve", {"verdict": "give_up", "reason": " "}, "reason"),
    ],
)
def test_invalid_action_is_named(server: Server, path: str, body: Any, field: str | None) -> None:
    reply = server.api.ask("POST" if path else "PATCH", f"/v1/posts/{NOBODY}{path}", body)
    assert reply.status in (404, 422), reply
    if reply.status == 422:
        assert reply.json.get("field") == field
