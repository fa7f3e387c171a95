"""Authorization: every route × every role, and callers that are limited to some brands."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from postino.api.authentication import NO_KEY
from postino.api.authorization import RANK
from postino.api.routes import SAFE_METHODS, Route, Routes
from postino.api.server import ROUTES, make_app
from postino.config import load_config
from postino.values.auth import Role
from postino.values.outcome import Reject, Unknown
from tests.api.browser import add_user, browser, log_in, with_key
from tests.api.fake_worker import put
from tests.api.processes import Client, Server
from tests.api.test_events import EventStreamClient
from tests.cli.local_queue import LocalQueue

pytestmark = pytest.mark.slow
PROTECTED = [route for route in ROUTES if route.role is not None]
NOBODYS = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
MARK = "foreign-mark"
THERE = f"bluesky:{MARK}.example.org"
NAMES = {"service": "nowhere", "account_id": "bluesky:nobody.example.org", "fault_id": "1"}
NOW = datetime.now(UTC)
TOMORROW = (NOW + timedelta(days=1)).isoformat()
NEEDED = {  # what a request must say before it is looked at whose the thing is
    "/resolve": {"verdict": "give_up", "reason": "because"},
    "/discard": {"reason": "because"},
    "/reconnect": {"credentials": {"password": "x"}},
}
ASKED = {"/v1/calendar": f"?from={NOW:%Y-%m-%d}&to={NOW + timedelta(days=3):%Y-%m-%d}&timezone=UTC"}


def fill_in(path: str, **names: str) -> str:
    return re.sub(r"\{(\w+)(:\w+)?\}", lambda match: {**NAMES, **names}.get(match[1], NOBODYS), path)


def send(client: Client, route: Route) -> tuple[int, str]:
    """Send a request without a useful body. Return the status and, of an error, its detail; streams are not read."""
    connection = http.client.HTTPConnection(urlsplit(client.url).netloc, timeout=30)
    try:
        body = b"{}" if route.takes_body else None
        connection.request(route.method, fill_in(route.path), body, dict(client.headers))
        response = connection.getresponse()
        if "problem" not in (response.getheader("content-type") or ""):
            return response.status, ""
        return response.status, str(json.loads(response.read()).get("detail"))
    finally:
        connection.close()


def has_role(role: Role, route: Route) -> bool:
    assert route.role is not None
    return RANK.index(role) >= RANK.index(route.role)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("permissions") / "data", POSTINO_API_RATE="0") as server:
        yield server


def test_app_serves_exactly_the_declared_routes(tmp_path: Path) -> None:
    app = make_app(load_config(tmp_path, environment={}))
    served = [(method, route.path) for route in app.routes for method in route.methods - {"HEAD"}]  # type: ignore[attr-defined]
    assert sorted(served) == sorted((route.method, route.path) for route in ROUTES)
    assert len(served) > 30


def test_route_without_role_cannot_be_declared() -> None:
    routes: Any = Routes("posts")
    with pytest.raises(TypeError, match="role"):
        routes.add("GET", "/v1/new")


def test_public_routes_are_few() -> None:
    public = {route.path for route in ROUTES if route.role is None}
    assert public == {
        "/",
        "/health/live",
        "/health/ready",
        "/v1/openapi.json",
        "/v1/login",
        "/v1/login/password",
        "/sign-in",
    }


def test_missing_or_invalid_credentials_get_401(server: Server) -> None:
    strangers = {
        "nobody": Client(server.api.url),
        "a wrong key": Client(server.api.url, {"Authorization": f"Bearer postino_{'A' * 43}"}),
        "a wrong cookie": Client(server.api.url, {"Cookie": f"__Host-postino={'0' * 32}.{'A' * 43}"}),
    }
    wrong = []
    for who, client in strangers.items():
        for route in ROUTES:
            status, detail = send(client, route)
            if (route.role is not None and status != 401) or (route.role is None and detail == NO_KEY):
                wrong.append((who, route.name, status))
    assert wrong == []


@pytest.mark.parametrize("role", RANK)
def test_each_role_may_use_its_routes_and_no_others(server: Server, role: Role) -> None:
    client = with_key(server, role.value)
    wrong = []
    for route in PROTECTED:
        status, detail = send(client, route)
        allowed = has_role(role, route)
        if (status in (401, 403)) is allowed or (not allowed and "This needs the role" not in detail):
            wrong.append((route.name, status, detail))
    assert wrong == []


@pytest.mark.parametrize("role", RANK)
def test_browser_without_csrf_token_may_read_and_not_change(server: Server, role: Role) -> None:
    add_user(server, f"matrix.{role.value}", role.value)
    thief = browser(server, log_in(server, f"matrix.{role.value}"), token=False)
    wrong = []
    for route in PROTECTED:
        status, detail = send(thief, route)
        is_safe = route.method in SAFE_METHODS
        allowed = is_safe and has_role(role, route)
        if (status in (401, 403)) is allowed or (not is_safe and "X-CSRF-Token" not in detail):
            wrong.append((route.name, status, detail))
    assert wrong == []


def test_brand_limited_caller_may_not_use_routes_for_all_brands(server: Server) -> None:
    client = with_key(server, "owner", brands=["ours"])
    wrong = []
    for route in PROTECTED:
        status, detail = send(client, route)
        if (status in (401, 403)) is not route.all_brands or (route.all_brands and "all brands" not in detail):
            wrong.append((route.name, status, detail))
    assert wrong == []


@dataclass(frozen=True)
class Theirs:
    """One of each thing of another brand, and a user of that brand."""

    client: Client
    post: dict[str, Any]
    draft: str
    pending: str
    dead: str
    uncertain: str
    imported: str

    def names(self, path: str) -> dict[str, str]:
        job = self.dead if "dead-letters" in path else self.uncertain if "uncertain" in path else self.pending
        post, content = self.post["id"], self.post["content_id"]
        things = {"post_id": post, "content_id": content, "draft_id": self.draft, "job_id": job}
        return things | {"account_id": THERE, "import_id": self.imported}


@pytest.fixture(scope="module")
def theirs(server: Server) -> Theirs:
    queue = LocalQueue(server.folder)
    fields: dict[str, Any] = {"brand": "theirs", "channel": MARK}
    dead = queue.add_settled_job(Reject(f"{MARK} failed"), account=f"{MARK} 1", **fields)
    uncertain = queue.add_settled_job(Unknown(f"{MARK} is lost"), account=f"{MARK} 2", **fields)
    pending = queue.enqueue(at=datetime.now(UTC) + timedelta(days=1), account=f"{MARK} 3", **fields)
    where = {"handle": THERE.partition(":")[2], "credentials": {"password": "x"}}
    queue.perform(lambda app: app.accounts.add("bluesky", **where, brand="theirs"))  # type: ignore[arg-type]
    client = with_key(server, "owner", brands=["theirs"])
    wish = {"text": MARK, "accounts": [THERE]}
    post = client.ask("POST", "/v1/posts", wish | {"at": TOMORROW})
    draft = client.ask("POST", "/v1/drafts", wish)
    imported = client.ask("POST", "/v1/imports", f"text,accounts,at\n{MARK},{THERE},{TOMORROW}\n".encode())
    assert (post.status, draft.status, imported.status) == (201, 201, 200), (post, draft, imported)
    jobs = str(pending.id), str(dead.id), str(uncertain.id)
    return Theirs(client, post.json, draft.json["id"], *jobs, imported=imported.json["id"])


def is_about_one(route: Route) -> bool:
    """Tell whether a route is about one thing that may have a brand."""
    return not route.all_brands and "{" in route.path


def test_things_of_other_brands_get_the_same_404_as_missing_ones(server: Server, theirs: Theirs) -> None:
    client = with_key(server, "owner", brands=["ours"])
    before = server.api.get("/v1/audit?limit=1")["data"]
    wrong = []
    for route in ROUTES:
        method, path = route.method, route.path
        if not is_about_one(route):
            continue
        needed = next((body for ending, body in NEEDED.items() if path.endswith(ending)), {"text": "x"})
        sends_all = needed in NEEDED.values() or method == "PATCH"
        body = None if not route.takes_body else needed if sends_all else {}
        names = theirs.names(path)
        answers = []
        for item in (names, {}):
            reply = client.ask(method, fill_in(path, **item), body)
            result = reply.json.get("detail", "")
            for name in (*names.values(), NOBODYS, *NAMES.values()):
                result = result.replace(name, "…")
            answers.append((reply.status, result))
        if answers[0] != answers[1] or answers[0][0] != 404:
            wrong.append((method, path, answers))
    assert wrong == []
    assert server.api.get("/v1/audit?limit=1")["data"] == before


def test_owner_of_the_brand_sees_its_things(server: Server, theirs: Theirs) -> None:
    """Else nothing would be proven by what others do not see."""
    wrong = []
    for route in ROUTES:
        if route.method == "GET" and is_about_one(route):
            reply = theirs.client.ask("GET", fill_in(route.path, **theirs.names(route.path)))
            if reply.status != 200:
                wrong.append((route.path, reply))
    assert wrong == []


def test_lists_do_not_show_things_of_other_brands(server: Server, theirs: Theirs) -> None:
    ours = with_key(server, "owner", brands=["ours"])
    shown = []
    for route in PROTECTED:
        path = route.path
        if route.method != "GET" or route.all_brands or "{" in path or path == "/v1/events":
            continue
        result = path + ASKED.get(path, "")
        for query in ("", "brand=theirs"):
            reply = ours.ask("GET", result + (("&" if "?" in result else "?") + query if query else ""))
            assert reply.status == 200 or (query and reply.status == 422), (path, query, reply)
            assert MARK not in reply.body.decode(), (path, query)
            assert query or "theirs" not in reply.body.decode(), path
        if MARK in theirs.client.ask("GET", result).body.decode():
            shown.append(path)
    lists = {"posts", "accounts", "jobs", "dead-letters", "dead-letters/groups", "uncertain", "drafts", "calendar"}
    assert {f"/v1/{name}" for name in lists} <= {*shown}


def test_account_of_another_brand_cannot_be_used(server: Server, theirs: Theirs) -> None:
    client = with_key(server, "owner", brands=["ours"])
    nobody = "bluesky:nobody.example.org"
    for path in ("/v1/posts", "/v1/drafts"):
        foreign, missing = (client.ask("POST", path, {"text": "x", "accounts": [it]}) for it in (THERE, nobody))
        assert foreign.status == missing.status == 422
        results = [foreign.json["detail"].replace(THERE, "…"), missing.json["detail"].replace(nobody, "…")]
        assert results[0] == results[1]
        assert MARK not in results[0]


def test_counts_leave_out_other_brands(server: Server, theirs: Theirs) -> None:
    ours, nobodys = (with_key(server, "owner", brands=[brand]) for brand in ("ours", "nobodys"))
    parents = f"/v1/jobs?parent={theirs.pending}"
    for path in ("/v1/stats", "/v1/stats?brand=theirs", "/v1/brands", "/v1/quotas", parents):
        results = [client.get(path) | {"since_at": None, "until_at": None} for client in (ours, nobodys)]
        assert results[0] == results[1], path
    assert [brand["brand"] for brand in theirs.client.get("/v1/brands")["data"]] == ["theirs"]


def test_bulk_actions_do_not_reach_other_brands(server: Server, theirs: Theirs) -> None:
    ours = with_key(server, "owner", brands=["ours"])
    before = server.api.get("/v1/audit?limit=1")["data"]
    reason = {"reason": "because"}
    deeds: list[tuple[str, dict[str, Any]]] = [
        ("/v1/jobs/bulk", {"action": "cancel"}),
        ("/v1/jobs/bulk", {"action": "replay", "force": True}),
        ("/v1/jobs/bulk", {"action": "resolve", "verdict": "give_up"} | reason),
        ("/v1/dead-letters/replay", {"force": True}),
        ("/v1/dead-letters/discard", reason),
    ]
    jobs = [theirs.pending, theirs.dead, theirs.uncertain, theirs.post["id"]]
    for path, body in deeds:
        for wanted in ({"brand": "theirs"}, {"channel": MARK}, {"account": f"{MARK} 1"}, {"account": THERE}):
            assert ours.ask("POST", path, body | {"filter": wanted}).json["data"] == [], (path, wanted)
        result = ours.ask("POST", path, body | {"ids": [*jobs, NOBODYS]}).json["data"]
        results = {one["detail"].replace(one["id"], "…") for one in result}
        assert ([one["status"] for one in result], len(results)) == ([404] * 5, 1), (path, result)
    assert server.api.get("/v1/audit?limit=1")["data"] == before


def test_event_stream_leaves_out_other_brands(server: Server, theirs: Theirs) -> None:
    ours = with_key(server, "owner", brands=["ours"])
    made = [put(client, brand=brand, run_at=TOMORROW) for client, brand in ((theirs.client, "theirs"), (ours, "ours"))]
    for client, job in zip((theirs.client, ours), made, strict=True):
        assert client.ask("POST", f"/v1/jobs/{job['id']}/cancel", {"reason": job["brand"]}).status == 200
    received = []
    for client, job in zip((theirs.client, ours), made, strict=True):
        with EventStreamClient(client, "?after=0-0") as listener:
            frames = map(json.dumps, listener.frames())
            received.append("".join(takewhile(lambda frame, last=job["id"]: last not in frame, frames)))  # type: ignore[misc]
    assert MARK in received[0]
    assert MARK not in received[1]
    assert "theirs" not in received[1]


def test_conflict_reveals_nothing_about_another_brand(server: Server, theirs: Theirs) -> None:
    ours = with_key(server, "owner", brands=["ours"])
    job = {"type": "report", "idempotency_key": "the same", "run_at": TOMORROW}
    first = theirs.client.ask("POST", "/v1/jobs", job | {"brand": "theirs", "payload": {"mark": MARK}})
    assert theirs.client.ask("POST", "/v1/drafts", {"text": MARK}, Idempotency_Key="the same").status == 201
    handle = THERE.partition(":")[2]
    account = {"network": "bluesky", "handle": handle, "credentials": {"password": "x"}, "brand": "ours"}
    replies = [
        ours.ask("POST", "/v1/jobs", job | {"brand": "ours"}),
        ours.ask("POST", "/v1/jobs", job | {"brand": "ours"}, Idempotency_Key="mine"),
        ours.ask("POST", "/v1/jobs", job | {"brand": "ours", "preview": True}),
        ours.ask("POST", "/v1/accounts", account),
        ours.ask("POST", "/v1/jobs", job | {"brand": "ours", "idempotency_key": None, "account": THERE}),
        ours.ask("POST", "/v1/jobs/test", {"channel": "bluesky", "account": THERE}),
    ]
    assert [reply.status for reply in replies] == [201, 200, 200, 409, 422, 422], replies
    for reply in replies:
        result = reply.body.decode().replace(THERE, "…")
        assert not any(secret in result for secret in (MARK, "theirs", "reconnect", first.json["id"])), result
    assert ours.ask("POST", "/v1/drafts", {"text": "Ours"}, Idempotency_Key="the same").status == 201
    assert first.json["id"] not in ours.ask("GET", "/v1/jobs").body.decode()
