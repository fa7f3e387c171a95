"""Sessions of browsers: sign in by password or link, cookie and CSRF token."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw
import pytest

from postino import Postino
from postino.auth.sign_in import create_sign_in_url
from postino.config import load_config
from postino.stores.records import AuditContext
from tests.api.browser import PASSWORD, add_user, browser, get_cookie, log_in
from tests.api.processes import Client, Reply, Server

T = TypeVar("T")
ELSEWHERE = {"X_Forwarded_For": "203.0.113.7"}
BEHIND_PROXY = {"POSTINO_API_TRUSTED_PROXIES": '["127.0.0.1"]'}
KEY = {"name": "made in a browser", "role": "viewer"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server behind a proxy on this machine."""
    with Server(tmp_path_factory.mktemp("sessions") / "data", **BEHIND_PROXY) as server:
        yield server


def perform(server: Server, work: Callable[[Postino], Awaitable[T]]) -> T:
    """Open the application as another process on the same data."""

    async def run() -> T:
        async with Postino(load_config(server.folder, environment={})) as app:
            return await work(app)

    return asyncio.run(run())


def create_link(server: Server) -> str:
    """Return the path and the token of a link."""
    link = perform(server, lambda app: create_sign_in_url(app.users, app.sign_in, server.api.url, AuditContext("test")))
    return link.removeprefix(server.api.url)


def age(server: Server, table: str, change: str) -> None:
    database = apsw.Connection(str(server.folder / "postino.db"))
    database.set_busy_timeout(5000)
    database.execute(f"UPDATE postino_{table} SET {change}")
    database.close()


def test_cookie_is_host_only_and_http_only(server: Server) -> None:
    add_user(server, "ada")
    reply = log_in(server, "ada")
    name, *result = [part.strip().lower() for part in reply.headers["set-cookie"].split(";")]
    assert name.startswith("__host-postino=")
    assert {"secure", "httponly", "path=/", "samesite=lax"} <= {*result}
    assert not any(part.startswith("domain") for part in result)
    assert reply.headers["cache-control"] == "no-store"
    assert reply.json["name"] == "user:ada"
    assert browser(server, reply).get("/v1/me") == reply.json


def test_browser_with_csrf_token_acts_as_its_user(server: Server) -> None:
    add_user(server, "olga", "owner")
    ours = browser(server, log_in(server, "olga"))
    assert ours.ask("POST", "/v1/api-keys", KEY).json["created_by"] == "user:olga"


@pytest.mark.parametrize("token", [None, "", "x", "0" * 64, "another's"])
def test_cookie_without_csrf_token_changes_nothing(server: Server, token: str | None) -> None:
    name = f"robbed{abs(hash(token)) % 10_000}"
    add_user(server, name, "owner")
    add_user(server, f"{name}.other", "owner")
    reply, other = log_in(server, name), log_in(server, f"{name}.other")
    thief = browser(server, reply, token=False)
    response = {} if token is None else {"X_CSRF_Token": other.json["csrf_token"] if token == "another's" else token}
    before = server.api.get("/v1/audit?limit=1")["data"]
    for method, path, body in (
        ("POST", "/v1/api-keys", KEY),
        ("POST", "/v1/logout", None),
        ("PATCH", f"/v1/users/{server.api.get('/v1/users')['data'][0]['id']}", {"role": "viewer"}),
        ("DELETE", f"/v1/users/{server.api.get('/v1/users')['data'][0]['id']}", None),
    ):
        refused = thief.ask(method, path, body, **response)
        assert (refused.status, "X-CSRF-Token" in refused.json["detail"]) == (403, True), (method, path)
    assert server.api.get("/v1/audit?limit=1")["data"] == before
    assert thief.ask("GET", "/v1/me").status == 200


def test_logout_ends_the_session(server: Server) -> None:
    add_user(server, "leaving")
    ours = browser(server, log_in(server, "leaving"))
    answer = ours.ask("POST", "/v1/logout")
    assert (answer.status, answer.body) == (204, b"")
    assert 'postino=""' in answer.headers["set-cookie"]
    refused = ours.ask("GET", "/v1/me")
    assert (refused.status, "session has expired" in refused.json["detail"]) == (401, True)


def test_new_sign_in_ends_the_earlier_session_of_the_browser_only(server: Server) -> None:
    add_user(server, "returning")
    first, elsewhere = (browser(server, log_in(server, "returning")) for _ in range(2))
    credentials = {"name": "returning", "password": PASSWORD}
    assert first.ask("POST", "/v1/login", credentials).status == 200
    assert first.ask("GET", "/v1/me").status == 401
    assert elsewhere.ask("GET", "/v1/me").status == 200


def test_logout_does_not_revoke_a_key(server: Server) -> None:
    assert server.api.ask("POST", "/v1/logout").status == 204
    assert server.api.ask("GET", "/v1/me").status == 200


@pytest.mark.parametrize(
    "change", ["seen_at = '2026-01-01T00:00:00.000000Z'", "expires_at = '2026-01-01T00:00:00.000000Z'"]
)
def test_idle_or_expired_session_gets_401(server: Server, change: str) -> None:
    name = f"idle{change[:4]}".rstrip("_")
    add_user(server, name)
    ours = browser(server, log_in(server, name))
    assert ours.ask("GET", "/v1/me").status == 200
    age(server, "sessions", change)
    assert ours.ask("GET", "/v1/me").status == 401


def test_new_password_ends_all_sessions(server: Server) -> None:
    user_id = add_user(server, "changing")
    ours = browser(server, log_in(server, "changing"))
    assert server.api.ask("PATCH", f"/v1/users/{user_id}", {"password": "another horse"}).status == 200
    assert ours.ask("GET", "/v1/me").status == 401
    assert log_in(server, "changing").status == 401
    assert log_in(server, "changing", "another horse").status == 200


def change_password(client: Client, name: str, old: str, new: str) -> Reply:
    return client.ask("POST", "/v1/login/password", {"name": name, "password": old, "new_password": new})


def test_person_changes_the_own_password_and_ends_the_other_sessions(server: Server) -> None:
    add_user(server, "grace")
    here, there = (browser(server, log_in(server, "grace")) for _ in range(2))
    changed = change_password(here, "grace", PASSWORD, "another horse")
    assert (changed.status, changed.json["name"]) == (200, "grace"), changed
    assert here.ask("GET", "/v1/me").status == 200
    assert there.ask("GET", "/v1/me").status == 401
    assert log_in(server, "grace").status == 401
    assert log_in(server, "grace", "another horse").status == 200
    entry = next(it for it in server.api.get("/v1/audit")["data"] if it["action"] == "user.changed")
    assert (entry["actor"], entry["subject"]) == ("user:grace", "user:grace")


def test_new_password_needs_the_present_one_and_its_guesses_are_throttled(server: Server) -> None:
    add_user(server, "guessed")
    session = browser(server, log_in(server, "guessed"))
    refused = change_password(session, "guessed", "wrong horse", "another horse")
    unknown = change_password(session, "nobody-there", "wrong horse", "another horse")
    assert (refused.status, refused.json["detail"]) == (unknown.status, unknown.json["detail"])
    assert refused.status == 401
    replies = [change_password(session, "guessed", f"wrong {turn}", "another horse").status for turn in range(6)]
    assert replies[-1] == 429
    assert session.ask("GET", "/v1/me").status == 200


@pytest.mark.parametrize("weak", ["short", "password12345", "simone-simone1", "qwertyuiop123"])
def test_weak_new_password_is_refused_everywhere(server: Server, weak: str) -> None:
    name = f"simone-{len(weak)}-{weak[0]}"
    user_id = add_user(server, name)
    replies = {
        "new_password": change_password(Client(server.api.url), name, PASSWORD, weak),
        "password": server.api.ask("PATCH", f"/v1/users/{user_id}", {"password": weak}),
    }
    for field, reply in replies.items():
        assert (reply.status, reply.json["field"]) == (422, field), reply
        assert weak not in reply.json["detail"]
    assert log_in(server, name).status == 200


def test_page_of_another_site_cannot_change_a_password(server: Server) -> None:
    add_user(server, "framed")
    body = {"name": "framed", "password": PASSWORD, "new_password": "another horse"}
    reply = Client(server.api.url).ask("POST", "/v1/login/password", body, Origin="https://evil.example")
    assert reply.status == 403


def test_wrong_name_and_wrong_password_get_the_same_error(server: Server) -> None:
    add_user(server, "known")
    wrong, unknown = log_in(server, "known", "wrong horse"), log_in(server, "unknown", "wrong horse")
    assert wrong.status == unknown.status == 401
    assert wrong.json["detail"] == unknown.json["detail"]
    assert wrong.json.keys() == unknown.json.keys()
    assert wrong.headers.keys() == unknown.headers.keys()
    assert "set-cookie" not in wrong.headers


@pytest.mark.slow
def test_logins_are_throttled_across_restarts(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Server(folder) as server:
        add_user(server, "ada")
        with ThreadPoolExecutor(20) as hands:
            replies = list(hands.map(lambda turn: log_in(server, "ada", f"guess {turn:06}"), range(100)))
        looked_at = [reply for reply in replies if reply.status == 401]
        refused = [reply for reply in replies if reply.status == 429]
        assert len(looked_at) + len(refused) == 100
        assert 5 <= len(looked_at) <= 9  # a guess a second, then each twice as long after the last
        assert all(int(reply.headers["retry-after"]) >= 1 for reply in refused)
        age(server, "login_throttles", "failures = 14")
        server.interrupt()
    with Server(folder, **BEHIND_PROXY) as server:
        waiting = log_in(server, "ada")
        assert waiting.status == 429
        assert 400 < int(waiting.headers["retry-after"]) <= 512
        assert "set-cookie" not in waiting.headers
        assert log_in(server, "ada", X_Forwarded_For="203.0.113.9", X_Forwarded_Proto="https").status == 429
        age(server, "login_throttles", "last_at = '2026-01-01T00:00:00.000000Z'")
        assert log_in(server, "ada").status == 200


def test_remote_login_needs_https(server: Server) -> None:
    add_user(server, "far")
    in_plain_sight = log_in(server, "far", **ELSEWHERE)
    assert (in_plain_sight.status, "https" in in_plain_sight.json["detail"]) == (403, True)
    assert Client(server.api.url).ask("GET", create_link(server), **ELSEWHERE).status == 403
    assert log_in(server, "far", **ELSEWHERE, X_Forwarded_Proto="https").status == 200


def test_login_from_another_site_is_rejected(server: Server) -> None:
    add_user(server, "lured")
    assert log_in(server, "lured", Origin="https://evil.example").status == 403
    for origin in ("null", "", "http://[::1", f"ftp://{server.api.url.partition('//')[2]}"):
        assert log_in(server, "lured", Origin=origin).status == 403, origin
    assert log_in(server, "lured", Origin=server.api.url).status == 200


def test_sign_in_link_works_once(server: Server) -> None:
    path, stranger = create_link(server), Client(server.api.url)
    reply = stranger.ask("GET", path)
    assert (reply.status, reply.headers["location"]) == (303, "/")
    assert (reply.headers["cache-control"], reply.headers["referrer-policy"]) == ("no-store", "no-referrer")
    me = Client(server.api.url, {"Cookie": get_cookie(reply)}).get("/v1/me")
    assert (me["name"], me["role"]) == ("user:owner", "owner")
    again = stranger.ask("GET", path)
    assert (again.status, "used already" in again.json["detail"]) == (401, True)
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("query", ["", "?token=", "?token=x.y", "?token=" + "0" * 32 + ".x"])
def test_invalid_sign_in_link_gets_401(server: Server, query: str) -> None:
    reply = Client(server.api.url).ask("GET", f"/sign-in{query}")
    assert reply.status == 401
    assert "set-cookie" not in reply.headers


def test_invalid_sign_in_link_shows_a_page_to_browsers(server: Server) -> None:
    reply = Client(server.api.url).ask("GET", "/sign-in?token=x.y", Accept="text/html,*/*;q=0.8")
    assert (reply.status, reply.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert (reply.headers["cache-control"], reply.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert "<h1>This link is not valid</h1>" in reply.body.decode()
    assert "ask an owner for a new link" in reply.body.decode()


def test_expired_sign_in_link_gets_401(server: Server) -> None:
    path = create_link(server)
    age(server, "sign_in_links", "expires_at = '2026-01-01T00:00:00.000000Z'")
    assert Client(server.api.url).ask("GET", path).status == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "ada"}, "password"),
        ({"name": 1, "password": PASSWORD}, "name"),
        ({"name": "x" * 201, "password": PASSWORD}, "name"),
        ({"name": "ada", "password": "x" * 1001}, "password"),
        ({"name": "ada", "password": PASSWORD, "remember": True}, "remember"),
    ],
)
def test_invalid_login_field_is_named_without_its_value(server: Server, body: dict[str, object], field: str) -> None:
    refused = Client(server.api.url).ask("POST", "/v1/login", body)
    assert (refused.status, refused.json["field"]) == (422, field)
    assert PASSWORD not in refused.body.decode()


def test_users_are_managed_and_audited(server: Server) -> None:
    made = server.api.ask("POST", "/v1/users", {"name": "Crud@example.org", "role": "viewer", "brands": ["b"]})
    user = made.json
    assert (made.status, user["name"], user["has_password"]) == (201, "crud@example.org", False)
    assert "password" not in user
    assert server.api.get(f"/v1/users/{user['id']}") == user
    assert user in server.api.get("/v1/users?limit=200")["data"]
    again = server.api.ask("POST", "/v1/users", {"name": "crud@example.org", "role": "viewer"})
    assert again.status == 409
    changed = server.api.ask("PATCH", f"/v1/users/{user['id']}", {"role": "editor", "brands": None, "reason": "grew"})
    assert (changed.status, changed.json["role"], changed.json["brands"]) == (200, "editor", None)
    assert server.api.ask("PATCH", f"/v1/users/{user['id']}", {}).status == 422
    assert server.api.ask("PATCH", f"/v1/users/{user['id']}", {"role": None}).json["field"] == "role"
    assert server.api.ask("DELETE", f"/v1/users/{user['id']}?reason=left").status == 200
    for method in ("GET", "DELETE"):
        assert server.api.ask(method, f"/v1/users/{user['id']}").status == 404
    assert server.api.ask("PATCH", f"/v1/users/{user['id']}", {"role": "viewer"}).status == 404
    trail = [it for it in server.api.get("/v1/audit")["data"] if it["subject"] == "user:crud@example.org"]
    results = [(it["action"], it["reason"], it["actor"]) for it in trail]
    assert results == [("user.removed", "left", "api"), ("user.changed", "grew", "api"), ("user.added", "", "api")]
