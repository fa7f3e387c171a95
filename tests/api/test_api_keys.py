"""`/v1/api-keys`: shown once, revoked immediately, and audited."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino.values.outcome import Reject
from tests.api.browser import add_user, browser, log_in, with_key
from tests.api.processes import Client, Server
from tests.cli.local_queue import LocalQueue


def test_key_is_shown_once_and_works_until_it_is_revoked(server: Server) -> None:
    made = server.api.ask("POST", "/v1/api-keys", {"name": "newsroom", "role": "viewer", "reason": "for Ada"})
    assert (made.status, made.headers["cache-control"]) == (201, "no-store")
    text = made.json["key"]
    program = Client(server.api.url, {"Authorization": f"Bearer {text}"})
    assert program.get("/v1/me") == {"name": "key:newsroom", "role": "viewer", "brands": None, "job_types": []}
    listed = server.api.ask("GET", "/v1/api-keys")
    assert text not in listed.body.decode()
    [key] = [key for key in listed.json["data"] if key["name"] == "newsroom"]
    assert (key["prefix"], key["created_by"]) == (text[:16], "api")
    assert key["last_used_at"] is not None
    assert "digest" not in key
    removed = server.api.ask("DELETE", f"/v1/api-keys/{key['id']}?reason=gone")
    assert (removed.status, removed.json["id"]) == (200, key["id"])
    assert program.ask("GET", "/v1/me").status == 401
    assert server.api.ask("DELETE", f"/v1/api-keys/{key['id']}").status == 404
    trail = server.api.get("/v1/audit")["data"]
    ours = [(it["action"], it["reason"]) for it in trail if it["subject"] == f"api_key:{key['id']}"]
    assert ours == [("api_key.removed", "gone"), ("api_key.added", "for Ada")]
    assert text not in json.dumps(trail)


def test_key_names_its_creator(server: Server) -> None:
    owner = with_key(server, "owner")
    made = owner.ask("POST", "/v1/api-keys", {"name": "made by a program", "role": "viewer"})
    assert made.json["created_by"] == owner.get("/v1/me")["name"]


def test_key_expires(server: Server) -> None:
    soon = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    made = server.api.ask("POST", "/v1/api-keys", {"name": "short", "role": "viewer", "expires_at": soon})
    assert made.status == 201
    assert datetime.fromisoformat(made.json["expires_at"]) == datetime.fromisoformat(soon)


def test_keys_are_listed_in_pages(server: Server) -> None:
    for number in range(3):
        with_key(server, "viewer", name=f"page {number}")
    results: list[str] = []
    path: str | None = "/v1/api-keys?limit=2"
    while path:
        answer = server.api.get(path)
        assert len(answer["data"]) <= 2
        results += [key["id"] for key in answer["data"]]
        path = answer["next_cursor"] and f"/v1/api-keys?limit=2&cursor={answer['next_cursor']}"
    assert len(results) == len({*results}) >= 3
    assert results == sorted(results)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"role": "emperor"}, "role"),
        ({"role": None}, "role"),
        ({"name": ""}, "name"),
        ({"name": 7}, "name"),
        ({"brands": []}, "brands"),
        ({"brands": "a"}, "brands"),
        ({"brands": ["a", ""]}, "brands[1]"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"expires_at": "2099-01-01T00:00:00", "timezone": "Europe/Nowhere"}, "timezone"),
        ({"scope": "all"}, "scope"),
        ({"job_types": ["snap.process"]}, "job_types"),  # of a viewer
        ({"role": "editor", "job_types": ["a", ""]}, "job_types[1]"),
        ({"role": "editor", "job_types": ["x" * 101]}, "job_types[0]"),
        ({"role": "editor", "job_types": ["x"] * 101}, "job_types"),
        ({"role": "editor", "job_types": "snap.process"}, "job_types"),
        ({"reason": "x" * 2001}, "reason"),
    ],
)
def test_invalid_field_is_named(server: Server, change: dict[str, Any], field: str) -> None:
    before = server.api.get("/v1/audit?limit=1")["data"]
    refused = server.api.ask("POST", "/v1/api-keys", {"name": "ci", "role": "viewer", **change})
    assert (refused.status, refused.json["field"]) == (422, field)
    assert server.api.get("/v1/audit?limit=1")["data"] == before


def test_prefix_of_a_key_does_not_authenticate(server: Server) -> None:
    made = server.api.ask("POST", "/v1/api-keys", {"name": "copied", "role": "owner"}).json
    for text in (made["prefix"], made["key"][:-1], made["key"] + "A", made["key"].swapcase(), made["id"]):
        thief = Client(server.api.url, {"Authorization": f"Bearer {text}"})
        refused = thief.ask("GET", "/v1/me")
        assert refused.status == 401
        assert text not in refused.body.decode()


def test_name_is_taken_until_its_key_is_revoked(server: Server) -> None:
    body = {"name": "taken", "role": "viewer"}
    made = server.api.ask("POST", "/v1/api-keys", body).json
    again = server.api.ask("POST", "/v1/api-keys", body)
    assert (again.status, "'taken'" in again.json["detail"]) == (409, True)
    server.api.ask("DELETE", f"/v1/api-keys/{made['id']}")
    assert server.api.ask("POST", "/v1/api-keys", body).status == 201


def test_brand_without_accounts_gets_a_note(server: Server) -> None:
    body = {"name": "early", "role": "viewer", "brands": ["nobody's"]}
    made = server.api.ask("POST", "/v1/api-keys", body)
    assert (made.status, len(made.json["notes"])) == (201, 1)
    assert "No account has the brand nobody's yet" in made.json["notes"][0]
    assert server.api.ask("POST", "/v1/api-keys", {"name": "all", "role": "viewer"}).json["notes"] == []


# Job types

SCOPES: list[tuple[dict[str, Any], list[str] | None]] = [
    ({"role": "viewer"}, []),
    ({"role": "editor"}, []),
    ({"role": "editor", "job_types": ["snap.process", "snap.clean"]}, ["snap.clean", "snap.process"]),
    ({"role": "editor", "job_types": ["*"]}, None),
    ({"role": "owner"}, None),
    ({"role": "owner", "brands": ["acme"]}, None),
    ({"role": "owner", "job_types": []}, []),
    ({"role": "owner", "job_types": ["snap.process"]}, ["snap.process"]),
]


@pytest.mark.parametrize(("scope", "job_types"), SCOPES)
@pytest.mark.parametrize("path", ["/v1/jobs", "/fp-publisher/v1/jobs"])
def test_key_queues_only_jobs_of_its_types(
    server: Server, path: str, scope: dict[str, Any], job_types: list[str] | None
) -> None:
    program = with_key(server, **scope)
    assert program.get("/v1/me")["job_types"] == job_types
    for job_type in ("snap.process", "snap", "snap.process2", "report"):
        allowed = scope["role"] != "viewer" and (job_types is None or job_type in job_types)
        for preview in (True, False):
            reply = program.ask("POST", path, {"type": job_type, "brand": "acme", "preview": preview})
            assert reply.status == (200 if preview else 201) if allowed else 403, reply
            if scope["role"] != "viewer" and not allowed:
                assert repr(job_type) in reply.json["detail"]
                assert "job_types" in reply.json["detail"]


def test_editor_in_a_browser_queues_no_jobs_and_an_owner_any(server: Server) -> None:
    for role, status in (("editor", 403), ("owner", 201)):
        add_user(server, f"queues-{role}", role)
        session = browser(server, log_in(server, f"queues-{role}"))
        assert session.ask("POST", "/v1/jobs", {"type": "snap.process"}).status == status


def test_replay_with_another_payload_needs_the_job_type(server: Server) -> None:
    queue = LocalQueue(server.folder)
    dead = queue.add_settled_job(Reject("broken"), channel="snaps")
    for path in (f"/v1/jobs/{dead.id}/replay", f"/v1/dead-letters/{dead.id}/replay"):
        refused = with_key(server, "editor").ask("POST", path, {"payload": {"id": 8}, "force": True})
        assert (refused.status, "'post'" in refused.json["detail"]) == (403, True), refused
    program = with_key(server, "editor", job_types=["post"])
    assert program.ask("POST", f"/v1/jobs/{dead.id}/replay", {"payload": {"id": 8}, "force": True}).status == 200


def test_job_types_of_a_key_are_listed_and_audited(server: Server) -> None:
    made = server.api.ask("POST", "/v1/api-keys", {"name": "snaps", "role": "editor", "job_types": ["snap.process"]})
    assert made.json["job_types"] == ["snap.process"]
    [listed] = [key for key in server.api.get("/v1/api-keys")["data"] if key["name"] == "snaps"]
    assert listed["job_types"] == ["snap.process"]
    [entry] = [it for it in server.api.get("/v1/audit")["data"] if it["subject"] == f"api_key:{made.json['id']}"]
    assert json.loads(entry["detail"])["job_types"] == ["snap.process"]
