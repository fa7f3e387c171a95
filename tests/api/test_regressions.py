"""Bugs that fuzzing has found, each as a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.processes import Server

NOBODY = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
MAY_BE_LEFT_OUT = [
    "/v1/accounts/nobody/pause",
    "/v1/accounts/nobody/resume",
    f"/v1/jobs/{NOBODY}/cancel",
    f"/v1/jobs/{NOBODY}/replay",
    f"/v1/dead-letters/{NOBODY}/replay",
    f"/v1/drafts/{NOBODY}/schedule",
    f"/v1/posts/{NOBODY}/publish-now",
    f"/fp-publisher/v1/jobs/{NOBODY}/replay",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("fuzzed")
    with Server(folder) as server:
        yield server


@pytest.mark.parametrize("path", MAY_BE_LEFT_OUT)
def test_unknown_field_of_an_optional_body_is_rejected(server: Server, path: str) -> None:
    reply = server.api.ask("POST", path, {"reasn": "why"})
    assert (reply.status, reply.json["field"]) == (422, "reasn"), reply
    assert "reason" in reply.json["detail"] or "Use one of" in reply.json["detail"]


def test_replay_rate_has_a_minimum(server: Server) -> None:
    reply = server.api.ask("POST", "/v1/dead-letters/replay", {"ids": [NOBODY, NOBODY], "per_second": 5e-324})
    assert (reply.status, reply.json["field"]) == (422, "per_second"), reply


@pytest.mark.parametrize(
    ("method", "path", "taken"),
    [
        ("GET", "/v1/jobs/bulk", "POST"),
        ("GET", "/v1/jobs/test", "POST"),
        ("GET", "/v1/dead-letters/discard", "POST"),
        ("GET", "/v1/dead-letters/replay", "POST"),
        ("PATCH", "/v1/posts/validate", "POST"),
    ],
)
def test_fixed_path_beside_an_id_has_its_own_methods(server: Server, method: str, path: str, taken: str) -> None:
    reply = server.api.ask(method, path, None if method == "GET" else {})
    assert (reply.status, reply.headers["allow"]) == (405, taken), reply


def test_fixed_path_beside_an_id_validates_its_body(server: Server) -> None:
    reply = server.api.ask("POST", "/v1/jobs/bulk", {"ids": 7})
    assert reply.status == 422, reply


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("/v1/posts", "GET, POST"),
        (f"/v1/drafts/{NOBODY}", "DELETE, GET, PATCH"),
        ("/v1/sandbox/faults", "DELETE, GET, POST"),
        ("/v1/jobs/bulk", "POST"),
        ("/health/live", "GET"),
    ],
)
def test_405_lists_all_allowed_methods(server: Server, path: str, taken: str) -> None:
    reply = server.api.ask("OPTIONS", path)
    assert (reply.status, reply.headers["allow"]) == (405, taken), reply


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/me?who=7", "who"), ("/v1/blackouts?limit=1", "limit"), ("/v1/sandbox/faults?all=7", "all")],
)
def test_unknown_query_parameter_is_rejected(server: Server, path: str, field: str) -> None:
    reply = server.api.ask("GET", path)
    assert (reply.status, reply.json["field"]) == (422, field), reply


def test_validation_reports_a_post_without_accounts(server: Server) -> None:
    reply = server.api.ask("POST", "/v1/posts/validate", {"text": "Hello", "accounts": []})
    assert (reply.status, reply.json["valid"], reply.json["problems"][0]["field"]) == (200, False, "accounts"), reply


def test_account_that_is_named_often_is_validated_once(server: Server) -> None:
    account = {"network": "mastodon", "handle": "ada", "credentials": {"access_token": "x"}}
    account["base_url"] = "https://example.com"
    assert server.api.ask("POST", "/v1/accounts", account).status == 201
    reply = server.api.ask("POST", "/v1/posts/validate", {"text": "Hello", "accounts": ["mastodon:ada", "nobody"] * 50})
    assert [post["account"] for post in reply.json["posts"]] == ["mastodon:ada"]
    assert [problem["field"] for problem in reply.json["problems"]] == ["accounts"]
