"""Invalid values for every field of every route: rejected by name, without side effects or internal errors."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Self
from urllib.parse import quote, urlsplit

import pytest

from tests.api.bad_values import NO_ZONE, Document, Wrong
from tests.api.processes import Server
from tests.contract.databases import TABLES, Database, PostgresDatabase, SqliteDatabase

WRONG_QUESTIONS = {
    "limit": ("0", "-1", "201", "many", "9" * 40, "", "1.5", "%D9%A1"),
    "cursor": ("7", "x" * 5000, "", "2030-01-01T00:00_x"),
    "timezone": ("Europe/Rom", "", "x" * 5000),
    "from": ("soon", "", "9999-12-31T23:59:59Z", "0000-01-01T00:00Z"),
    "to": ("soon", "", "9999-12-31T23:59:59Z", "0000-01-01T00:00Z"),
    "window": ("0", "-1", "day", "9" * 40, ""),
    "after": ("7", "x", "9" * 19 + "9-1"),
    **dict.fromkeys(("status", "flags", "state", "cause", "types", "queue", "parent"), ("nothing", "", "x" * 5000)),
    **dict.fromkeys(("commit", "preview", "resolved", "verify"), ("yes", "", "1", "True")),
}
BROKEN_TEXTS = ("a%00b", "%FF", "%ED%A0%80", "caf%E9")
WRONG_IDS = (
    "7", "not-an-id", "x" * 5000, "a%2Fb", "%2F", "%00", "a%00b", "%FF", "..%2F..", "%F0%9F%92%A5", "%20", "",
)  # fmt: skip
LATER = "2035-06-01T12:00:00Z"
ACCOUNT = "bluesky:ada.test"
COLUMNS = "text,accounts,at,timezone,publish_until\n"
FILES = {
    b"": "The file is empty",
    b"\xff\xfet\0e\0": "UTF-16",
    b"," * 1_000_000: "000,001 columns",
    b"zebra\n1\n": "There is no column 'zebra'",
    f"{COLUMNS}caf".encode() + f"\xe9,{ACCOUNT},{LATER}\n".encode("latin-1"): "not UTF-8",
    f"{COLUMNS}a\0b,{ACCOUNT},{LATER}\n".encode(): "unpaired surrogate",
    f'{COLUMNS}"never closed,{ACCOUNT},{LATER}\n'.encode(): "cannot be read",
    f"{COLUMNS}{'x' * 5001},{ACCOUNT},{LATER}\n".encode(): "too long",
    f"{COLUMNS}x,{ACCOUNT},2020-01-01T00:00Z\n".encode(): "has passed",
    f"{COLUMNS}x,{ACCOUNT},9999-12-31T23:59Z\n".encode(): "too far from today",
    f"{COLUMNS}x,{ACCOUNT},{LATER},,9999-12-31T23:59Z\n".encode(): "too far from today",
    f"{COLUMNS}x,{ACCOUNT},2035-06-01T12:00,Europe/Rom\n".encode(): "Did you mean Europe/Rome?",
    f"{COLUMNS}x,{'|'.join(map(str, range(20_000)))},{LATER}\n".encode(): "at most 100 accounts",
    f"{COLUMNS}{'x,y,z' * 20}\n".encode() * 10_001: "more than 10,000 rows",
}
ANYTHING_GOES = ("/health", "/v1/login", "/v1/sandbox")  # of the sandbox there is none beside this server
PLACES_BY_NAME = {("/v1/brands", "cursor"), ("/v1/quotas", "cursor")}  # every text comes before or after a name
ASKED = {"/v1/calendar": ("from=2030-01-01", "to=2030-01-02")}
OTHERWISE = {"after": ("Last-Event-ID",)}


def wrong_questions(names: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "zebra", "1"
    for name in names:
        for text in (*WRONG_QUESTIONS.get(name, ()), *BROKEN_TEXTS):
            yield name, text
        yield name, f"x&{name}=x"


class Table:
    """A server with one of each thing, and access to its tables."""

    def __init__(self, server: Server, database: Database) -> None:
        self.server, self.database = server, database
        self.connection = http.client.HTTPConnection(urlsplit(server.api.url).netloc, timeout=30)
        self.document = Document(server.api.get("/v1/openapi.json"))
        self.ids = self.lay()
        self.bodies = self.good_bodies()

    def lay(self) -> dict[str, str]:
        ask = self.server.api.ask
        account = {"network": "bluesky", "handle": "ada.test", "credentials": {"password": "x"}}
        assert ask("POST", "/v1/accounts", account).status == 201
        post = {"text": "Hello", "accounts": [ACCOUNT], "at": LATER}
        made = {
            "post_id": ask("POST", "/v1/posts", post),
            "draft_id": ask("POST", "/v1/drafts", {"text": "Hi", "accounts": [ACCOUNT]}),
            "job_id": ask("POST", "/v1/jobs", {"type": "report", "run_at": LATER}),
            "blackout_id": ask("POST", "/v1/blackouts", BLACKOUT),
            "key_id": ask("POST", "/v1/api-keys", {"name": "one", "role": "viewer"}),
            "user_id": ask("POST", "/v1/users", {"name": "ada", "role": "viewer"}),
        }
        assert {reply.status for reply in made.values()} == {201}, made
        ids = {name: reply.json["id"] for name, reply in made.items()}
        checked = ask("POST", "/v1/imports", f"text,accounts,at\nHello,{ACCOUNT},{LATER}\n".encode())
        more = {"content_id": made["post_id"].json["content_id"], "import_id": checked.json["id"]}
        named = {"account_id": ACCOUNT, "service": "bluesky", "channel": "bluesky", "scope": "channel"}
        return ids | more | named | {"fault_id": "1"}

    def good_bodies(self) -> dict[str, Any]:
        fields = {
            "text": "Hello",
            "title": "Title",
            "hashtags": ["rome"],
            "thread": ["more"],
            "media": [{"url": "https://example.org/a.jpg", "alt": "A", "kind": "image"}],
            "placeholders": {"name": "Ada"},
            "overrides": {
                "bluesky": {"text": "Hi", "hashtags": ["b"], "media": [{"url": "https://example.org/a.jpg"}]}
            },
        }
        job = {"type": "report", "run_at": LATER, "payload": {}}
        reason = {"reason": "because"}
        nobody = [self.ids["job_id"]]
        chosen = {"state": ["failed"], "type": "x", "before": nobody[0], "limit": 1}
        resolve = {"verdict": "give_up"} | reason
        return {
            "/v1/posts": fields | {"accounts": [ACCOUNT], "at": LATER},
            "/v1/posts/validate": fields | {"accounts": [ACCOUNT], "at": LATER},
            "/v1/posts/{post_id}": {"publish_until": "2036-01-01T00:00:00Z"},
            "/v1/posts/{post_id}/publish-now": reason,
            "/v1/posts/{post_id}/cancel": reason,
            "/v1/posts/{post_id}/replay": reason,
            "/v1/posts/{post_id}/resolve": resolve,
            "/v1/drafts": fields | {"accounts": [ACCOUNT], "at": LATER},
            "/v1/drafts/{draft_id}": fields | {"at": LATER},
            "/v1/drafts/{draft_id}/schedule": {"at": LATER},
            "/v1/accounts": {"network": "bluesky", "handle": "eve.test", "credentials": {"password": "x"}},
            "/v1/accounts/{account_id}/reconnect": {"credentials": {"password": "x"}},
            "/v1/accounts/{account_id}/pause": reason,
            "/v1/accounts/{account_id}/resume": reason,
            "/v1/jobs": job,
            "/fp-publisher/v1/jobs": job,
            "/v1/jobs/bulk": {"action": "replay", "filter": chosen},
            "/v1/jobs/{job_id}/cancel": reason,
            "/v1/jobs/{job_id}/replay": reason,
            "/fp-publisher/v1/jobs/{job_id}/replay": reason,
            "/v1/jobs/{job_id}/resolve": resolve,
            "/v1/dead-letters/replay": {"filter": {"type": "x", "cause": "permanent", "limit": 1}, "per_second": 1},
            "/v1/dead-letters/discard": {"filter": {"type": "x"}} | reason,
            "/v1/dead-letters/{job_id}/replay": reason,
            "/v1/dead-letters/{job_id}/discard": reason,
            "/v1/sandbox/faults": {},
            "/v1/jobs/test": {"channel": "bluesky", "run_at": LATER},
            "/fp-publisher/v1/jobs/test": {"channel": "bluesky", "run_at": LATER},
            "/v1/blackouts": BLACKOUT | {"reason": "another"},
            "/v1/circuits/{service}/open": reason,
            "/v1/circuits/{service}/close": reason,
            "/v1/circuits/{service}/reset": reason,
            "/v1/database/accept": {"answer": "moved", **reason},
            "/v1/gates/{scope}/pause": reason | {"name": "bluesky"},
            "/v1/gates/{scope}/resume": reason | {"name": "bluesky"},
            "/v1/gates/{scope}/end-cooldown": reason | {"name": "bluesky"},
            "/v1/channels/{channel}/cap": reason | {"cap": 1},
            "/v1/users/{user_id}/link": reason,
            "/v1/forecast": {"until": "2026-12-01T00:00:00Z"},
            "/v1/api-keys": {"name": "two", "role": "viewer", "brands": ["a"]},
            "/v1/users": {"name": "bob", "role": "viewer", "brands": ["a"]},
            "/v1/users/{user_id}": {"brands": ["a"]},
            "/v1/login": {"name": "ada", "password": "correct horse"},
            "/v1/login/password": {"name": "ada", "password": "correct horse", "new_password": "another horse"},
        }

    def fill_in(self, path: str) -> str:
        for name, text in self.ids.items():
            path = path.replace(f"{{{name}}}", quote(text, safe=""))
        return path

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.connection.request(method, path, sent, dict(self.server.api.headers))
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def rows(self) -> dict[str, int]:
        return {name: self.database.sql(f"SELECT count(*) FROM {{{name}}}")[0][0] for name in TABLES}


BLACKOUT = {
    "scope": "brand", "brand": "nobody", "start": "22:00", "end": "23:00", "timezone": "Europe/Rome", "days": [1],
}  # fmt: skip


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.slow])]
)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    folder = tmp_path_factory.mktemp("bad") / "data"
    if request.param == "sqlite":
        with Server(folder, POSTINO_API_RATE="0") as server, Table(server, SqliteDatabase(folder / "postino.db")) as it:
            yield it
        return
    with request.getfixturevalue("postgres_server").database() as url:
        database = PostgresDatabase(url)
        asyncio.run(database.store().migrate())
        settings = {"POSTINO_API_RATE": "0", "POSTINO_DATABASE_URL": url}
        with Server(folder, **settings) as server, Table(server, database) as it, closing(database):
            yield it


def test_invalid_body_field_is_named_and_changes_nothing(table: Table) -> None:
    before, wrong, count = table.rows(), [], 0
    for method, path, operation in table.document.operations():
        schema = table.document.get_body(operation)
        if schema is None:
            continue
        assert path in table.bodies, f"{method} {path} has no row of its own: say what a good body is"
        for case in table.document.wrong_in(schema, table.bodies[path]):
            if path.startswith("/v1/drafts") and case.value == "2020-01-01T00:00:00Z":
                continue  # a draft waits for whoever gives it another time
            count += 1
            status, value = table.ask(method, table.fill_in(path), case.body)
            if path == "/v1/posts/validate" and status == 200 and not value["valid"]:
                status, value = 422, value["problems"][0]
            if not 400 <= status < 500 or not blames(value, case):
                wrong.append(f"{method} {path} {case}: {status} {str(value)[:300]}")
    assert not wrong, "\n".join(wrong)
    assert count > 2000, "too few cases"
    assert table.rows() == before


def blames(value: Any, case: Wrong) -> bool:
    """Return whether the error names the field or its parent; a time without a zone names the zone."""
    field = value.get("field") or ""
    meant = (case.place, "timezone" if case.value == NO_ZONE else case.place)
    return bool(field) and any(place.startswith(field) or field.startswith(place) for place in meant)


def test_invalid_query_parameter_is_named(table: Table) -> None:
    before, wrong, count = table.rows(), [], 0
    for method, path, operation in table.document.operations():
        names = {one["name"]: one["schema"] for one in operation.get("parameters", ()) if one["in"] == "query"}
        if method != "GET" and path not in ("/v1/blackouts", "/v1/imports"):
            names = {}  # what else has no body is only a reason
        for name, text in wrong_questions(names):
            if path.startswith(ANYTHING_GOES) or (path, name) in PLACES_BY_NAME or (path, text) == ("/v1/audit", "7"):
                continue
            count += 1
            body = table.bodies.get(path) if method == "POST" else None
            rest = "".join(f"&{it}" for it in ASKED.get(path, ()) if not it.startswith(name))
            status, value = table.ask(method, f"{table.fill_in(path)}?{name}={text}{rest}", body)
            if status != 422 or value.get("field") not in (name, *OTHERWISE.get(name, ())):
                wrong.append(f"{method} {path}?{name}={text[:40]}: {status} {str(value)[:200]}")
    assert not wrong, "\n".join(wrong)
    assert count > 500, "too few cases"
    assert table.rows() == before


def test_invalid_id_is_named_or_not_found(table: Table) -> None:
    before, wrong, count = table.rows(), [], 0
    for method, path, operation in table.document.operations():
        for one in operation.get("parameters", ()):
            if one["in"] != "path":
                continue
            for text in WRONG_IDS:
                count += 1
                whole = table.fill_in(path.replace(f"{{{one['name']}}}", text))
                body = table.bodies.get(path, {}) if "requestBody" in operation else None
                status, value = table.ask(method, whole, body)
                named = status == 422 and value["field"] == one["name"]
                if (not named and status not in (404, 405)) or "detail" not in value:
                    wrong.append(f"{method} {whole[:100]}: {status} {str(value)[:200]}")
    assert not wrong, "\n".join(wrong)
    assert count > 200, "too few cases"
    assert table.rows() == before


def test_invalid_csv_file_is_reported_and_not_saved(table: Table) -> None:
    before = table.rows()
    for file, words in FILES.items():
        begun_at = time.monotonic()
        status, result = table.ask("POST", "/v1/imports", file)
        assert status == 200, result
        assert words in " ".join(fault["message"] for fault in result["problems"]), result["problems"]
        status, result = table.ask("POST", f"/v1/imports?commit=true&token={result['token']}", b"")
        assert (status, result["created"]) == (201, 0), result
        assert time.monotonic() - begun_at < 10, words
    after = table.rows()
    assert after | {"imports": 0} == before | {"imports": 0}


def test_server_still_works_and_logged_no_internal_error(table: Table) -> None:
    assert table.server.api.get("/health/ready")["status"] == "ready"
    table.server.process.terminate()
    result = table.server.end()
    assert "Traceback" not in result
    assert "api.internal_error" not in result
