"""Nobody finds out what exists in another brand: a foreign id and a random one get the same response.

The routes and their parameters come from the router. A new parameter fails the first test until this file says whether
it names something.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, urlencode
from uuid import UUID

import pytest
from pydantic import BaseModel

from postino.api.problems import find_models
from postino.api.routes import METHODS_WITH_BODY, Route
from postino.api.server import ROUTES, make_app
from postino.config import load_config
from postino.values.outcome import Reject, Unknown
from tests.api.browser import with_key
from tests.api.processes import Client, Reply, Server
from tests.cli.local_queue import LocalQueue

pytestmark = pytest.mark.slow
FOREIGN = "qzwvforeign"
UNKNOWN = itertools.count(10_000)  # for names as long as the foreign one, and as unlike all others
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat()
DAYS = {"from": f"{datetime.now(UTC):%Y-%m-%d}", "to": f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"}
OWN_ACCOUNT = "bluesky:ours.example.org"
NAMES = {  # parameters that name something which another brand may have, and the name
    "account": "bluesky:{}.example.org",
    "accounts": "bluesky:{}.example.org",
    "account_id": "bluesky:{}.example.org",
    "brand": "{}",
    "channel": "{}-channel",
    "type": "{}-type",
    "idempotency_key": "{}-key",
    "error": "{} failed",
    "text": "{} text",
    "token": "{}",
}
IDS = {"post_id", "content_id", "draft_id", "job_id", "import_id", "ids", "before", "parent", "cursor"}
NOT_NAMES = {  # what no brand owns, what only describes a new thing, and what the caller has made up
    *(
        "status",
        "network",
        "from",
        "to",
        "timezone",
        "flags",
        "state",
        "cause",
        "queue",
        "types",
        "at",
        "publish_until",
    ),
    *(
        "title",
        "hashtags",
        "thread",
        "media.url",
        "media.alt",
        "media.id",
        "media.kind",
        "placeholders",
        "first_comment",
    ),
    *("overrides", "reason", "verdict", "remote_id", "action", "run_at", "user_id", "correlation_id", "payload"),
    *("credentials", "base_url", "after", "preview", "options"),
}
KNOWN_DIFFERENCES = {
    # Ids of accounts are unique: an owner of one brand who connects an account learns that another brand has it.
    ("POST", "/v1/accounts", "handle"),
}
VOLATILE = {"date", "x-request-id", "content-length", "ratelimit-remaining", "ratelimit-reset", "etag"}
UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HASHES = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{12})\b")  # of keys and bodies, which hold the value
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
BODIES: dict[str, Any] = {
    "/v1/posts": {"text": "x", "accounts": [OWN_ACCOUNT], "at": TOMORROW},
    "/v1/posts/validate": {"text": "x", "accounts": [OWN_ACCOUNT], "at": TOMORROW},
    "/v1/drafts": {"text": "x", "brand": "ours"},
    "/v1/accounts": {
        "network": "bluesky",
        "handle": "x.example.org",
        "credentials": {"password": "x"},
        "brand": "ours",
    },
    "/v1/jobs": {"type": "report", "brand": "ours", "run_at": TOMORROW},
    "/v1/jobs/test": {"channel": "bluesky", "brand": "ours"},
    "/v1/jobs/bulk": {"action": "cancel"},
    "/v1/dead-letters/replay": {"reason": "because", "force": True},
    "/v1/dead-letters/discard": {"reason": "because"},
}
ENDINGS: dict[str, dict[str, Any]] = {
    "/resolve": {"verdict": "give_up", "reason": "because"},
    "/discard": {"reason": "because"},
    "/reconnect": {"credentials": {"password": "x"}},
    "{post_id}": {"text": "changed"},
    "{draft_id}": {"text": "changed"},
}


@dataclass(frozen=True)
class Input:
    """One parameter of a route: `path`, `query`, `header` or `body`; in a body `name` is a dotted path."""

    route: Route
    place: str
    name: str

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    def __str__(self) -> str:
        return f"{self.route.method} {self.route.path} {self.place}:{self.name}"


@dataclass(frozen=True)
class Things:
    """What a brand has, by the parameter that names it; `secrets` are the names that others must not see."""

    client: Client
    by_name: dict[str, str]
    secrets: frozenset[str]


APP: Any = make_app(load_config(Path("/nonexistent"), environment={}))
SERVED = {(method, one.path): one for one in APP.routes for method in one.methods}


def list_inputs() -> Iterator[Input]:
    for route in ROUTES:
        if route.role is None or route.all_brands:
            continue
        yield from (Input(route, "path", name) for name in re.findall(r"\{(\w+)", route.path))
        yield from (Input(route, "query", one.name) for one in route.query if one.schema.get("type") == "string")
        served = SERVED[route.method, route.path]
        yield from (Input(route, "header", one.alias) for one in served.dependant.header_params)
        if served.body_field is not None:
            for model in find_models(served.body_field.field_info.annotation):
                yield from (Input(route, "body", name) for name in list_text_fields(model))


def list_text_fields(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        shown = f"{prefix}{field.alias or name}"
        nested = [] if name == "overrides" else [*find_models(field.annotation)]
        if nested:
            yield from list_text_fields(nested[0], f"{shown}.")
        elif holds_text(field.annotation):
            yield shown


def holds_text(annotation: Any) -> bool:
    return annotation in (str, UUID, Any) or any(holds_text(part) for part in get_args(annotation))


def creates_job(entry: Input) -> bool:
    return entry.route.name.startswith("create_job")


INPUTS = sorted(list_inputs(), key=creates_job)  # last: the caller then has jobs on the foreign channel, too


def is_name(entry: Input) -> bool:
    if entry.place == "body" and entry.last in ("text", "token"):
        return False  # the text of a new post
    return entry.last in NAMES or entry.last in IDS or entry.name in ("handle", "Idempotency-Key")


def test_each_parameter_is_known_to_name_something_or_not() -> None:
    """A parameter that names a thing of a brand belongs to NAMES or IDS, every other one to NOT_NAMES."""
    known = {str(it) for it in INPUTS if is_name(it) or {it.name, it.last, it.name.split(".")[0]} & NOT_NAMES}
    own_texts = {str(it) for it in INPUTS if it.place == "body" and it.last in ("text", "thread")}
    headers = {str(it) for it in INPUTS if it.name == "Last-Event-ID"}
    assert [str(it) for it in INPUTS if str(it) not in known | own_texts | headers] == []
    assert len([it for it in INPUTS if is_name(it)]) > 80


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("foreign") / "data", POSTINO_API_RATE="0") as server:
        yield server


def make_things(server: Server, brand: str, word: str, account: str) -> Things:
    """Give a brand one of everything."""
    queue = LocalQueue(server.folder)
    fields: dict[str, Any] = {"brand": brand, "channel": f"{word}-channel"}
    uncertain = queue.add_settled_job(Unknown(f"{word} is lost"), account=f"{word} 2", **fields)
    dead = queue.add_settled_job(Reject(f"{word} failed"), account=f"{word} 1", **fields)
    client = with_key(server, "owner", brands=[brand])
    handle = account.partition(":")[2]

    def ask(method: str, path: str, body: Any) -> Any:
        reply = client.ask(method, path, body)
        assert reply.status in (200, 201), (path, reply)
        return reply.json

    ask(
        "POST",
        "/v1/accounts",
        {"network": "bluesky", "handle": handle, "credentials": {"password": "x"}, "brand": brand},
    )
    job = ask(
        "POST",
        "/v1/jobs",
        {"type": f"{word}-type", "channel": f"{word}-channel", "idempotency_key": f"{word}-key", "brand": brand,
         "run_at": TOMORROW},
    )  # fmt: skip
    post = ask("POST", "/v1/posts", {"text": f"{word} text", "accounts": [account], "at": TOMORROW})
    draft = ask("POST", "/v1/drafts", {"text": f"{word} text", "accounts": [account]})
    imported = ask("POST", "/v1/imports", f"text,accounts,at\n{word} text,{account},{TOMORROW}\n".encode())
    names = {name: template.format(word) for name, template in NAMES.items()}
    names |= {"account": account, "accounts": account, "account_id": account, "brand": brand, "handle": handle}
    names |= {"token": imported["token"], "post_id": post["id"], "content_id": post["content_id"]}
    names |= {"draft_id": draft["id"], "import_id": imported["id"], "parent": job["id"], "job_id": job["id"]}
    names |= {"dead": str(dead.id), "uncertain": str(uncertain.id)}
    return Things(client, names, frozenset({*names.values(), word} - {"bluesky"}))


@pytest.fixture(scope="module")
def theirs(server: Server) -> Things:
    return make_things(server, FOREIGN, FOREIGN, f"bluesky:{FOREIGN}.example.org")


@pytest.fixture(scope="module")
def ours(server: Server, theirs: Things) -> Things:
    return make_things(server, "ours", "own", OWN_ACCOUNT)


def use_key(entry: Input, theirs: Things) -> str:
    """Let the other brand use a key, one for each route, and return it."""
    key = f"{FOREIGN} {entry.route.name} {entry.place}"
    headers = {"Idempotency_Key": key} if entry.place == "header" else {}
    body = {"type": "report", "brand": FOREIGN, "run_at": TOMORROW, "idempotency_key": key, "payload": FOREIGN}
    assert theirs.client.ask("POST", "/v1/jobs", body, **headers).status == 201
    return key


def choose_foreign(entry: Input, theirs: Things) -> str:
    """Return what the other brand has under this name."""
    path, last = entry.route.path, entry.last
    if last in ("idempotency_key", "Idempotency-Key"):
        return use_key(entry, theirs)
    if last in ("job_id", "ids", "before", "cursor"):
        if "dead-letters" in path:
            return theirs.by_name["dead"]
        if "uncertain" in path:
            return theirs.by_name["uncertain"]
        if last == "cursor":
            kind = {"/v1/posts": "post_id", "/v1/drafts": "draft_id", "/v1/quotas": "account", "/v1/brands": "brand"}
            return theirs.by_name[kind.get(path, "job_id")]
        return theirs.by_name["job_id"]
    return theirs.by_name[last]


def make_random(value: str) -> str:
    """Return a name that nothing has: a neighbour of an id, or another word of the same length."""
    if UUIDS.fullmatch(value):
        return value[:-4] + f"{int(value[-4:], 16) ^ 0x5555:04x}"
    return (
        value.replace(FOREIGN, f"qzwv{next(UNKNOWN)}xx")
        if FOREIGN in value
        else value[:-6] + "".join(reversed(value[-6:]))
    )


def send(entry: Input, value: str, ours: Things) -> Reply:
    """Send a request that is valid but for this value; everything else in it belongs to the caller."""
    route, query, headers = entry.route, dict[str, str](), dict[str, str]()
    own = ours.by_name | ({"job_id": ours.by_name["dead"]} if "dead-letters" in route.path else {})
    own |= {"job_id": ours.by_name["uncertain"]} if "uncertain" in route.path else {}
    if (entry.place, route.name) == ("header", "schedule_draft"):  # which deletes the draft
        draft = ours.client.ask("POST", "/v1/drafts", {"text": f"Text for {value}", "accounts": [OWN_ACCOUNT]})
        own["draft_id"] = draft.json["id"]
    path = re.sub(r"\{(\w+)\}", lambda it: quote(value if (entry.place, entry.name) == ("path", it[1]) else own[it[1]]),
                  route.path)  # fmt: skip
    template = route.path.replace("/fp-publisher", "")
    body: Any = json.loads(json.dumps(BODIES.get(template, {})))
    if "text" in body:
        body["text"] = f"Text for {value}"  # no duplicate of the other request
    for ending, needed in ENDINGS.items():
        body = {**needed} if template.endswith(ending) and route.method in METHODS_WITH_BODY and not body else body
    if entry.place == "query":
        query[entry.name] = value
    if entry.place == "header":
        headers[entry.name.replace("-", "_")] = value
    if entry.place == "body":
        *outer, last = entry.name.split(".")
        target = body
        for name in outer:
            target = target.setdefault(name, {})
        target[last] = [value] if last in ("accounts", "ids") else value
        if last == "brand" and template == "/v1/drafts":
            body.pop("accounts", None)
        if outer == ["filter"] and last in ("before", "error"):
            target |= {} if template.startswith("/v1/dead-letters") else {"state": ["failed"]}
    if template == "/v1/calendar":
        query |= DAYS
    if (template, entry.name) == ("/v1/imports", "token"):
        query["commit"] = "true"
    sent = body if route.takes_body and not route.body.is_file else None
    return ours.client.ask(route.method, path + (f"?{urlencode(query)}" if query else ""), sent, **headers)


def normalize(reply: Reply, value: str) -> tuple[int, dict[str, str], str]:
    headers = {name: text for name, text in reply.headers.items() if name not in VOLATILE}
    text = reply.body.decode().replace(value, "<value>")
    return reply.status, headers, TIMES.sub("<time>", HASHES.sub("<hash>", UUIDS.sub("<id>", text)))


def test_foreign_and_random_ids_get_the_same_response(server: Server, theirs: Things, ours: Things) -> None:
    differences: list[Any] = []
    leaks: list[Any] = []
    for entry in INPUTS:
        if not is_name(entry) or (entry.route.method, entry.route.path, entry.name) in KNOWN_DIFFERENCES:
            continue
        foreign = choose_foreign(entry, theirs)
        random = make_random(foreign)
        assert foreign != random
        assert len(foreign) == len(random)
        replies = [(send(entry, value, ours), value) for value in (foreign, random)]
        first, second = (normalize(*pair) for pair in replies)
        if first != second:
            differences.append((str(entry), first, second))
        if entry.place == "path" and first[0] != 404:
            differences.append((str(entry), first, "404 is expected"))
        shown = replies[0][0].body.decode().replace(foreign, "").replace(foreign.partition(":")[2] or foreign, "")
        leaks += [(str(entry), secret, shown) for secret in theirs.secrets if secret in shown]
    assert differences == [], json.dumps(differences, indent=1)
    assert leaks == []


def test_names_reach_the_things_of_the_brand_itself(server: Server, theirs: Things, ours: Things) -> None:
    """Else nothing would be proven by what others do not see."""
    found = 0
    for entry in INPUTS:
        if not is_name(entry) or entry.route.method != "GET" or entry.place != "path":
            continue
        reply = send(entry, choose_foreign(entry, theirs), theirs)
        assert reply.status == 200, (str(entry), reply)
        found += 1
    assert found >= 10


def test_csv_with_foreign_and_unknown_accounts_has_the_same_problems(
    server: Server, theirs: Things, ours: Things
) -> None:
    results = []
    for account in (theirs.by_name["account"], make_random(theirs.by_name["account"])):
        reply = ours.client.ask("POST", "/v1/imports", f"text,accounts,at\nx,{account},{TOMORROW}\n".encode())
        answer = reply.json | {"token": None}
        results.append((reply.status, normalize(Reply(200, {}, json.dumps(answer).encode()), account)))
    assert results[0] == results[1]


def test_nothing_of_another_brand_was_changed(server: Server, theirs: Things, ours: Things) -> None:
    """Runs last: the requests above are about things that must still be there."""
    names = theirs.by_name
    job = theirs.client.get(f"/v1/jobs/{names['job_id']}")
    assert (job["state"], job["attempts"]) == ("pending", 0)
    assert theirs.client.get(f"/v1/posts/{names['post_id']}")["status"] == "scheduled"
    assert theirs.client.get(f"/v1/drafts/{names['draft_id']}")["version"] == 1
    assert theirs.client.get(f"/v1/dead-letters/{names['dead']}")["resolved_at"] is None
    assert theirs.client.get(f"/v1/uncertain/{names['uncertain']}")["state"] == "uncertain"
    assert theirs.client.get(f"/v1/accounts/{names['account']}")["state"] == "active"
