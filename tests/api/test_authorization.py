"""Every route of the router × everybody who may ask. A new route without a row fails here."""

from __future__ import annotations

import http.client
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.routing import BaseRoute, Route

from postino.api.authentication import NO_KEY, SAFE
from postino.api.authorization import RANK, ROWS
from postino.api.server import make_app
from postino.config import load_config
from postino.values.auth import Role
from postino.values.outcome import Reject, Unknown
from tests.api.browser import add_user, browser, log_in, with_key
from tests.api.fake_worker import put
from tests.api.processes import Client, Server
from tests.api.test_events import Ear
from tests.cli.command_line import Desk

pytestmark = pytest.mark.slow
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


@cache
def routes() -> tuple[tuple[str, str], ...]:
    """Method and path of all that the application answers."""
    with tempfile.TemporaryDirectory() as folder:
        app = make_app(load_config(Path(folder), environment={}))
    found = [(method, route.path) for route in leaves(app.routes) for method in sorted(route.methods or ())]
    return tuple((method, path) for method, path in found if method != "HEAD")


def leaves(routes: Iterable[BaseRoute]) -> Iterator[Route]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from leaves(inner.routes)
        else:
            assert isinstance(route, Route), route
            yield route


def filled(path: str, **names: str) -> str:
    return re.sub(r"\{(\w+)(:\w+)?\}", lambda match: {**NAMES, **names}.get(match[1], NOBODYS), path)


def status(client: Client, method: str, path: str) -> tuple[int, str]:
    """What it answers first, and in which words if it is a refusal; streams are not waited for."""
    connection = http.client.HTTPConnection(urlsplit(client.url).netloc, timeout=30)
    try:
        body = b"{}" if method in ("POST", "PATCH", "PUT") else None
        connection.request(method, filled(path), body, dict(client.headers))
        answer = connection.getresponse()
        if "problem" not in (answer.getheader("content-type") or ""):
            return answer.status, ""
        return answer.status, str(json.loads(answer.read()).get("detail"))
    finally:
        connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("permissions") / "data", POSTINO_API_RATE="0") as server:
        yield server


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert len(routes()) > 30, "nothing would be proven"
    assert {*routes()} - {*ROWS} == set()
    assert {*ROWS} - {*routes()} == set()


def test_whoever_has_no_key_or_a_wrong_one_gets_no_further_than_the_door(server: Server) -> None:
    strangers = {
        "nobody": Client(server.api.url),
        "a wrong key": Client(server.api.url, {"Authorization": f"Bearer postino_{'A' * 43}"}),
        "a wrong cookie": Client(server.api.url, {"Cookie": f"__Host-postino={'0' * 32}.{'A' * 43}"}),
    }
    wrong = []
    for who, client in strangers.items():
        for method, path in routes():
            answered, told = status(client, method, path)
            closed = ROWS[method, path].least is not None
            if (closed and answered != 401) or (not closed and told == NO_KEY):
                wrong.append((who, method, path, answered))
    assert wrong == []


@pytest.mark.parametrize("role", RANK)
def test_each_role_may_do_what_its_row_says_and_nothing_else(server: Server, role: Role) -> None:
    client = with_key(server, role.value)
    wrong = []
    for method, path in routes():
        least = ROWS[method, path].least
        if least is None:
            continue
        answered, told = status(client, method, path)
        allowed = RANK.index(role) >= RANK.index(least)
        if (answered in (401, 403)) is allowed or (not allowed and "This is for" not in told):
            wrong.append((method, path, answered, told))
    assert wrong == []


@pytest.mark.parametrize("role", RANK)
def test_a_browser_without_its_token_looks_and_changes_nothing(server: Server, role: Role) -> None:
    add_user(server, f"matrix.{role.value}", role.value)
    thief = browser(server, log_in(server, f"matrix.{role.value}"), token=False)
    wrong = []
    for method, path in routes():
        least = ROWS[method, path].least
        if least is None:
            continue
        answered, told = status(thief, method, path)
        allowed = method in SAFE and RANK.index(role) >= RANK.index(least)
        if (answered in (401, 403)) is allowed or (method not in SAFE and "X-CSRF-Token" not in told):
            wrong.append((method, path, answered, told))
    assert wrong == []


def test_who_has_some_brands_is_kept_from_what_is_about_all(server: Server) -> None:
    client = with_key(server, "owner", brands=["ours"])
    wrong = []
    for method, path in routes():
        row = ROWS[method, path]
        if row.least is None:
            continue
        answered, told = status(client, method, path)
        if (answered in (401, 403)) is row.some_brands or (not row.some_brands and "all brands" not in told):
            wrong.append((method, path, answered, told))
    assert wrong == []


@dataclass(frozen=True)
class Theirs:
    """One of everything, of another brand, and somebody who has that brand."""

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
    desk = Desk(server.folder)
    said: dict[str, Any] = {"brand": "theirs", "channel": MARK}
    dead = desk.settled(Reject(f"{MARK} failed"), account=f"{MARK} 1", **said)
    uncertain = desk.settled(Unknown(f"{MARK} is lost"), account=f"{MARK} 2", **said)
    pending = desk.enqueue(at=datetime.now(UTC) + timedelta(days=1), account=f"{MARK} 3", **said)
    where = {"handle": THERE.partition(":")[2], "credentials": {"password": "x"}}
    desk.perform(lambda app: app.accounts.add("bluesky", **where, brand="theirs"))  # type: ignore[arg-type]
    client = with_key(server, "owner", brands=["theirs"])
    wish = {"text": MARK, "accounts": [THERE]}
    post = client.ask("POST", "/v1/posts", wish | {"at": TOMORROW})
    draft = client.ask("POST", "/v1/drafts", wish)
    imported = client.ask("POST", "/v1/imports", f"text,accounts,at\n{MARK},{THERE},{TOMORROW}\n".encode())
    assert (post.status, draft.status, imported.status) == (201, 201, 200), (post, draft, imported)
    jobs = str(pending.id), str(dead.id), str(uncertain.id)
    return Theirs(client, post.json, draft.json["id"], *jobs, imported=imported.json["id"])


def of_one(method: str, path: str) -> bool:
    """Whether it is about one thing that a brand may have."""
    return ROWS[method, path].some_brands and "{" in path


def test_another_brands_things_are_answered_as_if_they_did_not_exist(server: Server, theirs: Theirs) -> None:
    client = with_key(server, "owner", brands=["ours"])
    before = server.api.get("/v1/audit?limit=1")["data"]
    wrong = []
    for method, path in routes():
        if not of_one(method, path):
            continue
        needed = next((body for ending, body in NEEDED.items() if path.endswith(ending)), {"text": "x"})
        body = None if method in ("GET", "DELETE") else needed if needed in NEEDED.values() or method == "PATCH" else {}
        names = theirs.names(path)
        answers = []
        for said in (names, {}):
            reply = client.ask(method, filled(path, **said), body)
            told = reply.json.get("detail", "")
            for name in (*names.values(), NOBODYS, *NAMES.values()):
                told = told.replace(name, "…")
            answers.append((reply.status, told))
        if answers[0] != answers[1] or answers[0][0] != 404:
            wrong.append((method, path, answers))
    assert wrong == []
    assert server.api.get("/v1/audit?limit=1")["data"] == before


def test_their_owner_sees_each_of_them(server: Server, theirs: Theirs) -> None:
    """Else nothing would be proven by what others do not see."""
    wrong = []
    for method, path in routes():
        if method == "GET" and of_one(method, path):
            reply = theirs.client.ask("GET", filled(path, **theirs.names(path)))
            if reply.status != 200:
                wrong.append((path, reply))
    assert wrong == []


def test_no_list_shows_another_brands_things(server: Server, theirs: Theirs) -> None:
    ours = with_key(server, "owner", brands=["ours"])
    shown = []
    for method, path in routes():
        row = ROWS[method, path]
        if method != "GET" or row.least is None or not row.some_brands or "{" in path or path == "/v1/events":
            continue
        asked = path + ASKED.get(path, "")
        for query in ("", "brand=theirs"):
            reply = ours.ask("GET", asked + (("&" if "?" in asked else "?") + query if query else ""))
            assert reply.status == 200 or (query and reply.status == 422), (path, query, reply)
            assert MARK not in reply.body.decode(), (path, query)
            assert query or "theirs" not in reply.body.decode(), path
        if MARK in theirs.client.ask("GET", asked).body.decode():
            shown.append(path)
    lists = {"posts", "accounts", "jobs", "dead-letters", "dead-letters/groups", "uncertain", "drafts", "calendar"}
    assert {f"/v1/{name}" for name in lists} <= {*shown}


def test_nobody_publishes_on_another_brands_account(server: Server, theirs: Theirs) -> None:
    client = with_key(server, "owner", brands=["ours"])
    nobody = "bluesky:nobody.example.org"
    for path in ("/v1/posts", "/v1/drafts"):
        foreign, missing = (client.ask("POST", path, {"text": "x", "accounts": [it]}) for it in (THERE, nobody))
        assert foreign.status == missing.status == 422
        said = [foreign.json["detail"].replace(THERE, "…"), missing.json["detail"].replace(nobody, "…")]
        assert said[0] == said[1]
        assert MARK not in said[0]


def test_what_is_counted_counts_nothing_of_another_brand(server: Server, theirs: Theirs) -> None:
    ours, nobodys = (with_key(server, "owner", brands=[brand]) for brand in ("ours", "nobodys"))
    parents = f"/v1/jobs?parent={theirs.pending}"
    for path in ("/v1/stats", "/v1/stats?brand=theirs", "/v1/brands", "/v1/quotas", parents):
        told = [client.get(path) | {"since_at": None, "until_at": None} for client in (ours, nobodys)]
        assert told[0] == told[1], path
    assert [brand["brand"] for brand in theirs.client.get("/v1/brands")["data"]] == ["theirs"]


def test_no_filter_and_no_id_reaches_another_brands_things(server: Server, theirs: Theirs) -> None:
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
        told = ours.ask("POST", path, body | {"ids": [*jobs, NOBODYS]}).json["data"]
        said = {one["detail"].replace(one["id"], "…") for one in told}
        assert ([one["status"] for one in told], len(said)) == ([404] * 5, 1), (path, told)
    assert server.api.get("/v1/audit?limit=1")["data"] == before


def test_nothing_is_heard_of_another_brand_not_even_of_what_was_before(server: Server, theirs: Theirs) -> None:
    ours = with_key(server, "owner", brands=["ours"])
    made = [put(client, brand=brand, run_at=TOMORROW) for client, brand in ((theirs.client, "theirs"), (ours, "ours"))]
    for client, job in zip((theirs.client, ours), made, strict=True):
        assert client.ask("POST", f"/v1/jobs/{job['id']}/cancel", {"reason": job["brand"]}).status == 200
    heard = []
    for client, job in zip((theirs.client, ours), made, strict=True):
        with Ear(client, "?after=0-0") as ear:
            frames = map(json.dumps, ear.frames())
            heard.append("".join(takewhile(lambda frame, last=job["id"]: last not in frame, frames)))  # type: ignore[misc]
    assert MARK in heard[0]
    assert MARK not in heard[1]
    assert "theirs" not in heard[1]


def test_a_conflict_with_another_brands_thing_says_nothing_about_it(server: Server, theirs: Theirs) -> None:
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
    assert [reply.status for reply in replies] == [409, 409, 409, 409, 422, 422], replies
    for reply in replies:
        told = reply.body.decode().replace(THERE, "…")
        assert not any(secret in told for secret in (MARK, "theirs", "reconnect", first.json["id"])), told
    assert ours.ask("POST", "/v1/drafts", {"text": "Ours"}, Idempotency_Key="the same").status == 201
    assert first.json["id"] not in ours.ask("GET", "/v1/jobs").body.decode()
