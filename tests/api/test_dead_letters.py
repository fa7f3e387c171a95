"""`/v1/dead-letters`: group, replay at a rate, discard with a reason."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from postino.values.job import Job
from postino.values.outcome import Outcome, Reject
from tests.api.fake_worker import key_for, put, same_refusal, work
from tests.api.processes import Client, Server

NOBODY = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
ACCOUNT = {
    "network": "mastodon",
    "handle": "@shop@social.example",
    "base_url": "https://social.example",
    "credentials": {"access_token": "t" * 20},
}


def create_failed(server: Server, count: int, error: str, client: Client | None = None, **fields: Any) -> list[str]:
    """Jobs that are dead letters by now; a number in the words is each one's own."""
    made = [put(client or server.api, payload={"n": number}, **fields)["id"] for number in range(count)]

    def choose_ending(job: Job) -> Outcome:
        return Reject(error.replace("N", str(made.index(str(job.id)))) if str(job.id) in made else "something else")

    work(server, choose_ending)
    return made


def test_dead_letters_are_listed_and_shown_with_details(server: Server) -> None:
    [job] = create_failed(server, 1, "It is too long.", type="essay", channel="essays")
    [listed] = server.api.get("/v1/dead-letters?type=essay")["data"]
    assert (listed["id"], listed["cause"], listed["error"]) == (job, "permanent", "It is too long.")
    assert "history" not in listed
    one = server.api.get(f"/v1/dead-letters/{job}")
    assert (one["job"]["payload"], len(one["history"]), "token" in one["job"]) == ({"n": 0}, 1, False)
    assert server.api.get("/v1/dead-letters?type=essay&cause=exhausted")["data"] == []
    for wrong, field in (("cause=x", "cause"), ("resolved=x", "resolved"), ("cursor=x", "cursor"), ("why=x", "why")):
        reply = server.api.ask("GET", f"/v1/dead-letters?{wrong}")
        assert (reply.status, reply.json["field"]) == (422, field)
    assert server.api.ask("GET", f"/v1/dead-letters/{NOBODY}").status == 404


def test_equal_errors_form_a_group_that_can_be_replayed(server: Server) -> None:
    made = create_failed(server, 3, "Row N is broken.", type="rows", channel="rows")
    create_failed(server, 1, "The disk is full.", type="rows", channel="rows")
    groups = [one for one in server.api.get("/v1/dead-letters/groups")["data"] if one["channel"] == "rows"]
    assert [(one["error"], one["letters"]) for one in groups] == [("Row … is broken.", 3), ("The disk is full.", 1)]
    assert groups[0]["example"] in made
    wanted = {"channel": "rows", "error": "Row … is broken.", "cause": "permanent"}
    body = {"filter": wanted, "per_second": 0.5, "force": True, "reason": "mended"}
    reply = server.api.ask("POST", "/v1/dead-letters/replay", body)
    assert reply.status == 200
    assert [one["id"] for one in reply.json["data"]] == made[::-1]
    times = [datetime.fromisoformat(one["job"]["run_at"]) for one in reply.json["data"]]
    assert [round((later - first).total_seconds()) for first, later in pairwise(times)] == [2, 2]
    [left] = [one for one in server.api.get("/v1/dead-letters/groups")["data"] if one["channel"] == "rows"]
    assert left["error"] == "The disk is full."


def test_dead_letter_is_replayed_with_payload_or_discarded(server: Server) -> None:
    first, second = create_failed(server, 2, "no", type="single")
    assert server.api.ask("POST", f"/v1/dead-letters/{first}/replay").status == 409
    replayed = server.api.ask("POST", f"/v1/dead-letters/{first}/replay", {"payload": {"n": 7}})
    assert (replayed.status, replayed.json["payload"]) == (200, {"n": 7})
    assert server.api.ask("POST", f"/v1/dead-letters/{second}/discard").json["status"] == 422
    no_reason = server.api.ask("POST", f"/v1/dead-letters/{second}/discard", {"reason": "  "})
    assert (no_reason.status, no_reason.json["field"]) == (422, "reason")
    gone = server.api.ask("POST", f"/v1/dead-letters/{second}/discard", {"reason": "nobody misses it"})
    assert (gone.status, gone.json["resolution"]) == (200, "discarded")
    assert server.api.get("/v1/dead-letters?type=single")["data"] == []
    assert len(server.api.get("/v1/dead-letters?type=single&resolved=true")["data"]) == 2


def test_bulk_discard_continues_after_a_conflict(server: Server) -> None:
    first, second = create_failed(server, 2, "no", type="litter")
    body = {"ids": [first, NOBODY, second], "reason": "swept up"}
    reply = server.api.ask("POST", "/v1/dead-letters/discard", body)
    assert [one.get("status") for one in reply.json["data"]] == [None, 404, None]
    assert [one["done"] for one in reply.json["data"]] == [True, False, True]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("replay", {}, "ids"),
        ("replay", {"ids": [NOBODY], "filter": {}}, "ids"),
        ("replay", {"ids": [NOBODY] * 201}, "ids"),
        ("replay", {"ids": [NOBODY], "per_second": 0}, "per_second"),
        ("replay", {"filter": {"cause": "bad"}}, "filter.cause"),
        ("replay", {"filter": {"limit": 1000}}, "filter.limit"),
        ("discard", {"ids": [NOBODY]}, "reason"),
        ("discard", {"ids": "all", "reason": "x"}, "ids"),
    ],
)
def test_invalid_field_is_named(server: Server, path: str, body: dict[str, Any], field: str) -> None:
    reply = server.api.ask("POST", f"/v1/dead-letters/{path}", body)
    assert (reply.status, reply.json["field"]) == (422, field), reply


def test_dead_letters_of_other_brands_are_missing(server: Server) -> None:
    acme, other = key_for(server, "acme"), key_for(server, "other")
    [mine] = create_failed(server, 1, "no", acme, type="branded", brand="acme")
    assert [one["id"] for one in acme.get("/v1/dead-letters?type=branded")["data"]] == [mine]
    assert other.get("/v1/dead-letters")["data"] == other.get("/v1/dead-letters/groups")["data"] == []
    assert other.get("/v1/dead-letters?brand=acme")["data"] == []
    foreign, missing = other.ask("GET", f"/v1/dead-letters/{mine}"), other.ask("GET", f"/v1/dead-letters/{NOBODY}")
    assert same_refusal(foreign, missing, mine, NOBODY)
    for deed in ("replay", "discard"):
        body = {"ids": [mine], "reason": "mine now"}
        assert other.ask("POST", f"/v1/dead-letters/{deed}", body).json["data"][0]["status"] == 404
        assert other.ask("POST", f"/v1/dead-letters/{mine}/{deed}", {"reason": "mine now"}).status == 404
        by_filter = {"filter": {"brand": "acme"}, "reason": "mine now"}
        assert other.ask("POST", f"/v1/dead-letters/{deed}", by_filter).json["data"] == []
    assert [one["id"] for one in acme.get("/v1/dead-letters?type=branded")["data"]] == [mine]


def test_no_route_replaces_the_payload_of_a_post(server: Server) -> None:
    """The routes are those of the OpenAPI document: a new one that takes a payload must refuse posts, too."""
    account = server.api.ask("POST", "/v1/accounts", ACCOUNT).json["id"]
    post = server.api.ask("POST", "/v1/posts", {"text": "as recorded", "accounts": [account]}).json
    work(server, lambda _: Reject("no"))
    before = server.api.get(f"/v1/jobs/{post['id']}")
    paths = {
        path for path, method in list_routes_with_payload(server.api.get("/v1/openapi.json")) if "{job_id}" in path
    }
    assert {"/v1/jobs/{job_id}/replay", "/v1/dead-letters/{job_id}/replay"} <= paths
    for path in paths:
        for payload in (None, {"text": "something else"}, "x"):
            body = {"payload": payload, "force": True, "reason": "why"}
            reply = server.api.ask("POST", path.format(job_id=post["id"]), body)
            assert (reply.status, reply.json["field"]) == (422, "payload"), path
            assert "create a new post" in reply.json["detail"]
    assert server.api.get(f"/v1/jobs/{post['id']}") == before
    assert server.api.ask("POST", f"/v1/dead-letters/{post['id']}/replay", {"force": True}).status == 200
    shown = server.api.get(f"/v1/posts/{post['id']}")
    assert shown["text"] == server.api.get(f"/v1/jobs/{post['id']}")["payload"]["parts"][0] == "as recorded"


def list_routes_with_payload(document: Any) -> list[tuple[str, str]]:
    """Return the routes whose body has a field `payload`."""
    schemas = document["components"]["schemas"]

    def has_payload(schema: Any) -> bool:
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        inner = [part for name in ("anyOf", "oneOf", "allOf") for part in schema.get(name, ())]
        return "payload" in schema.get("properties", ()) or any(map(has_payload, inner))

    return [
        (path, method)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if isinstance(operation, dict)
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if has_payload(content.get("schema", {}))
    ]
