"""Authentication, and that secrets are not in responses, logs or the audit trail."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import apsw
import pytest

from postino.api import authentication
from postino.auth import api_keys, sign_in
from postino.stores.statement import get_statement, load_queries
from postino.vault import digests
from tests.api.browser import PASSWORD, add_user, browser, get_cookie, log_in, with_key
from tests.api.processes import Client, Server

UNKNOWN = "postino_" + "A" * 43


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer wrong", f"Bearer {UNKNOWN}", "Bearer \u00e9", UNKNOWN]
)
def test_invalid_authorization_header_gets_401(server: Server, header: str) -> None:
    refused = Client(server.api.url, {"Authorization": header.encode("latin-1").decode("latin-1")}).ask("GET", "/v1/me")
    assert refused.status == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert UNKNOWN not in refused.body.decode()


def test_first_key_has_the_role_owner(server: Server) -> None:
    assert server.api.get("/v1/me") == {"name": "api", "role": "owner", "brands": None, "job_types": None}


def test_key_has_precedence_over_cookie(server: Server) -> None:
    add_user(server, "both", "viewer")
    reply = log_in(server, "both")
    assert server.api.ask("GET", "/v1/me", Cookie=get_cookie(reply)).json["name"] == "api"
    assert browser(server, reply).ask("GET", "/v1/me", Authorization=f"Bearer {UNKNOWN}").status == 401


def test_secrets_are_compared_in_constant_time() -> None:
    """Lookups use no secret, and secrets are compared by one function."""
    assert "compare_digest" in inspect.getsource(authentication.KeyAuthenticator.check_key)
    assert "compare_digest" in inspect.getsource(authentication.KeyAuthenticator.check_cookie)
    assert "compare_digest" in inspect.getsource(digests.SecretDigests.matches)
    for function in (
        api_keys.KeyService.authenticate,
        sign_in.SignInService.find_session,
        sign_in.SignInService.follow_link,
    ):
        source = inspect.getsource(function)
        assert "self.digests.matches(" in source
        assert "digest ==" not in source
        assert "== digest" not in source


def test_queries_do_not_search_for_secrets() -> None:
    for dialect in ("postgres", "sqlite"):
        conditions = {name: get_statement(dialect, name).text.partition("WHERE")[2] for name in load_queries(dialect)}
        assert any(conditions.values())
        assert [name for name, condition in conditions.items() if "digest" in condition] == []


@pytest.mark.slow
def test_secrets_are_not_in_logs_responses_files_or_audit_trail(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Server(folder) as server:
        made = server.api.ask("POST", "/v1/api-keys", {"name": "secretive", "role": "owner"}).json["key"]
        add_user(server, "ada")
        reply = log_in(server, "ada")
        log_in(server, "ada", "a wrong password")
        log_in(server, "a password typed as a name", PASSWORD)
        ours = browser(server, reply)
        ours.ask("PATCH", "/v1/users/nobody", {"password": PASSWORD})
        Client(server.api.url).ask("GET", f"/sign-in?token={reply.json['csrf_token']}")
        answers = [server.api.ask("GET", path).body.decode() for path in ("/v1/api-keys", "/v1/users", "/v1/audit")]
        secret = [made, PASSWORD, get_cookie(reply).partition(".")[2], reply.json["csrf_token"], "a wrong password"]
        secret += ["a password typed as a name"]
        server.process.terminate()
        result = server.end()
    refused = [json.loads(line) for line in result.splitlines() if "sign_in.refused" in line]
    assert [(line["user"], line["address"], line["wait"]) for line in refused] == [
        ("ada", "127.0.0.1", None),
        (None, "127.0.0.1", None),
        (None, "127.0.0.1", None),  # by a link that is none
    ]
    stored = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file()).decode("latin-1")
    for word in secret:
        assert word not in result
        assert word not in "".join(answers)
        assert word not in stored


@pytest.mark.slow
def test_wrong_keys_and_403s_are_logged_without_secrets(tmp_path: Path) -> None:
    wrong, other = f"postino_{'W' * 43}", "not-a-key-but-a-password"
    with Server(tmp_path / "data") as server:
        reader = with_key(server, "viewer", name="reader")
        add_user(server, "ada")
        for key in (wrong, other):
            stranger = Client(server.api.url, {"Authorization": f"Bearer {key}"})
            assert stranger.ask("GET", "/v1/posts/01932c07-5b1e-7cc3-98c4-dc0c0c07398f").status == 401
            assert stranger.ask("POST", "/v1/jobs", {"type": "x"}).status == 401
        assert Client(server.api.url).ask("GET", "/v1/posts").status == 401  # without any key: not logged
        assert reader.ask("POST", "/v1/jobs", {"type": "x"}).status == 403
        assert reader.ask("GET", "/v1/audit").status == 403
        assert with_key(server, "editor", name="writer").ask("POST", "/v1/jobs", {"type": "x"}).status == 403
        thief = browser(server, log_in(server, "ada"), token=False)
        assert thief.ask("POST", "/v1/posts", {}).status == 403
        secret = [wrong[17:], other, reader.headers["Authorization"].removeprefix("Bearer ")[17:]]
        server.process.terminate()
        result = server.end()
    lines = [json.loads(line) for line in result.splitlines() if '"api.refused"' in line]
    assert [(line["status"], line["method"], line["route"], line["caller"], line["key"]) for line in lines] == [
        (401, "GET", "/v1/posts/{post_id}", None, "postino_WWWWWWWW"),
        (401, "POST", "/v1/jobs", None, "postino_WWWWWWWW"),
        (401, "GET", "/v1/posts/{post_id}", None, None),
        (401, "POST", "/v1/jobs", None, None),
        (403, "POST", "/v1/jobs", "key:reader", None),
        (403, "GET", "/v1/audit", "key:reader", None),
        (403, "POST", "/v1/jobs", "key:writer", None),
        (403, "POST", "/v1/posts", None, None),
    ]
    assert {line["address"] for line in lines} == {"127.0.0.1"}
    assert all(line["reason"] and line["request_id"] for line in lines)
    for text in secret:
        assert text not in result


def test_deleted_user_and_changed_role_take_effect_immediately(server: Server) -> None:
    user_id = add_user(server, "shortlived", "owner")
    ours = browser(server, log_in(server, "shortlived"))
    assert ours.ask("GET", "/v1/users").status == 200
    assert server.api.ask("PATCH", f"/v1/users/{user_id}", {"role": "viewer"}).status == 200
    assert ours.ask("GET", "/v1/users").status == 403
    assert server.api.ask("DELETE", f"/v1/users/{user_id}").status == 200
    assert ours.ask("GET", "/v1/me").status == 401


def test_brand_limited_key_may_not_use_routes_for_all_brands(server: Server) -> None:
    program = with_key(server, "owner", brands=["b1"])
    assert program.get("/v1/me")["brands"] == ["b1"]
    refused = program.ask("GET", "/v1/queues")
    assert (refused.status, "access to all brands" in refused.json["detail"]) == (403, True)
    assert program.ask("POST", "/v1/api-keys", {"name": "wider", "role": "owner"}).status == 403


@pytest.mark.slow
def test_audit_trail_is_paginated_and_detects_changes(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        for number in range(5):
            with_key(server, "viewer", name=f"key {number}")
        first = server.api.get("/v1/audit?limit=2")
        second = server.api.get(f"/v1/audit?limit=2&cursor={first['next_cursor']}")
        assert [line["seq"] for line in first["data"] + second["data"]] == [5, 4, 3, 2]
        assert "verified" not in first
        whole = server.api.get("/v1/audit?verify=true")
        assert (whole["verified"], whole["first_broken_entry"], whole["next_cursor"]) == (True, None, None)
        assert json.loads(whole["data"][0]["detail"])["name"] == "key 4"
        database = apsw.Connection(str(tmp_path / "data" / "postino.db"))
        database.set_busy_timeout(5000)
        database.execute("UPDATE postino_audit SET actor = 'nobody' WHERE seq = 3")
        broken = server.api.get("/v1/audit?verify=true")
        assert (broken["verified"], broken["first_broken_entry"]) == (False, 3)
        database.execute("DELETE FROM postino_audit WHERE seq = 1")
        assert server.api.get("/v1/audit?verify=true")["first_broken_entry"] == 2
        database.close()


@pytest.mark.parametrize("query", ["cursor=x", "cursor=-1", "cursor=" + "9" * 30, "verify=yes", "limit=0", "since=1"])
def test_invalid_audit_parameter_is_named(server: Server, query: str) -> None:
    refused = server.api.ask("GET", f"/v1/audit?{query}")
    assert (refused.status, refused.json["field"]) == (422, query.partition("=")[0])
