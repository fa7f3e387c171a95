"""`/v1/jobs`: create, get, cancel, replay and resolve, one or many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from postino.values.outcome import Reject, Unknown
from tests.api.fake_worker import key_for, put, same_refusal, work
from tests.api.processes import Server

NOBODY = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"


def later() -> str:
    return (datetime.now(UTC) + timedelta(days=2)).isoformat()


def test_job_is_queued_once_per_key(server: Server) -> None:
    body = {"type": "report", "channel": "reports", "payload": {"id": 7}, "run_at": later(), "idempotency_key": "r-7"}
    first, second = (server.api.ask("POST", "/v1/jobs", body) for _ in range(2))
    assert (first.status, second.status) == (201, 200)
    assert first.json["id"] == second.json["id"]
    assert "has this key and is pending" in second.json["notes"][0]
    one = server.api.get(f"/v1/jobs/{first.json['id']}")
    assert (one["payload"], one["state"], one["channel"], one["history"]) == ({"id": 7}, "pending", "reports", [])
    assert "token" not in one
    cancelled = server.api.ask("POST", f"/v1/jobs/{first.json['id']}/cancel", {"reason": "not needed"})
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
    again = server.api.ask("POST", "/v1/jobs", body)
    assert "was cancelled" in again.json["notes"][0]
    assert server.api.ask("POST", f"/v1/jobs/{first.json['id']}/cancel").status == 409


def test_preview_queues_nothing_and_does_not_use_the_key(server: Server) -> None:
    body = {"type": "thought", "run_at": later(), "idempotency_key": "t-1", "preview": True, "queue": "low"}
    reply = server.api.ask("POST", "/v1/jobs", body)
    assert reply.status == 200
    assert (reply.json["preview"], reply.json["channel"], reply.json["queue"]) == (True, "thought", "low")
    assert reply.json["known"] is None
    assert reply.json["evaluation"]["in_blackout"] is False
    assert server.api.get("/v1/jobs?type=thought")["data"] == []
    assert server.api.ask("POST", "/v1/jobs", body | {"preview": False}).status == 201
    assert server.api.ask("POST", "/v1/jobs", body).json["known"] is not None


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"type": None}, "type", "must be a text"),
        ({"type": ""}, "type", "1 to 500"),
        ({"type": "postino.post"}, "type", "POST /v1/posts"),
        ({"typ": "x"}, "typ", "Did you mean type?"),
        ({"channel": "x" * 501}, "channel", "500"),
        ({"channel": "bluesky"}, "channel", "Choose another channel, such as 'wrong-bluesky'"),
        ({"channel": "mastodon", "preview": True}, "channel", "`POST /v1/posts`"),
        ({"type": "telegram"}, "channel", "such as 'telegram-jobs'"),
        ({"run_at": "2001-01-01T00:00:00Z"}, "run_at", "has passed"),
        ({"run_at": "soon"}, "run_at", "soon"),
        ({"run_at": "2099-01-01 10:00", "timezone": "Europe/Rom"}, "timezone", "Europe/Rome"),
        ({"queue": "urgent"}, "queue", "urgent"),
        ({"max_attempts": 0}, "max_attempts", "1 to 1000"),
        ({"time_limit": -1}, "time_limit", "greater than 0"),
        ({"time_limit": 1e308}, "time_limit", "at most 31,622,400"),
        ({"max_attempts": 1001}, "max_attempts", "1 to 1000"),
        ({"run_at": "9999-12-31T23:59:59Z"}, "run_at", "1971 to 8999"),
        ({"brand": "\U0001f600" * 126}, "brand", "500 bytes"),
        ({"idempotency_key": ""}, "idempotency_key", "at least 1"),
        ({"preview": "yes"}, "preview", "true or false"),
    ],
)
def test_invalid_field_is_named_and_nothing_is_queued(
    server: Server, change: dict[str, Any], field: str, words: str
) -> None:
    before = len(server.api.get("/v1/jobs?type=wrong")["data"])
    reply = server.api.ask("POST", "/v1/jobs", {"type": "wrong"} | change)
    assert (reply.status, reply.json["field"]) == (422, field), reply
    assert words in reply.json["detail"]
    assert len(server.api.get("/v1/jobs?type=wrong")["data"]) == before


def test_list_is_filtered_and_paginated(server: Server) -> None:
    made = [put(server.api, type="paged", channel="pages", run_at=later())["id"] for _ in range(3)]
    first = server.api.get("/v1/jobs?type=paged&limit=2")
    assert [job["id"] for job in first["data"]] == [made[2], made[1]]
    rest = server.api.get(f"/v1/jobs?type=paged&limit=2&cursor={first['next_cursor']}")
    assert ([job["id"] for job in rest["data"]], rest["next_cursor"]) == ([made[0]], None)
    assert server.api.get("/v1/jobs?type=paged&state=failed,completed")["data"] == []
    assert len(server.api.get("/v1/jobs?channel=pages&queue=default&state=pending")["data"]) == 3
    for wrong, field in (("state=dead", "state"), ("queue=x", "queue"), ("parent=x", "parent"), ("cursor=x", "cursor"),
                         ("limit=0", "limit"), ("stat=x", "stat")):  # fmt: skip
        reply = server.api.ask("GET", f"/v1/jobs?{wrong}")
        assert (reply.status, reply.json["field"]) == (422, field)


def test_failed_job_is_replayed_and_uncertain_job_resolved(server: Server) -> None:
    failed, doubtful = put(server.api, type="fails")["id"], put(server.api, type="doubts")["id"]
    work(server, lambda job: Reject("broken") if job.type == "fails" else Unknown("lost answer"))
    [entry] = server.api.get(f"/v1/jobs/{failed}")["history"]
    assert (entry["outcome"], entry["number"]) == ("failed", 1)
    refused = server.api.ask("POST", f"/v1/jobs/{failed}/replay", {"reason": "again"})
    assert refused.status == 409
    replayed = server.api.ask("POST", f"/v1/jobs/{failed}/replay", {"reason": "again", "force": True})
    assert (replayed.status, replayed.json["state"], replayed.json["generation"]) == (200, "pending", 2)
    word = {"verdict": "give_up", "reason": "nobody knows"}
    resolved = server.api.ask("POST", f"/v1/jobs/{doubtful}/resolve", word)
    assert (resolved.status, resolved.json["state"]) == (200, "failed")
    assert server.api.ask("POST", f"/v1/jobs/{doubtful}/resolve", word | {"reason": " "}).json["field"] == "reason"


def test_bulk_action_continues_after_a_conflict(server: Server) -> None:
    made = [put(server.api, type="many", run_at=later())["id"] for _ in range(3)]
    server.api.ask("POST", f"/v1/jobs/{made[1]}/cancel")
    body = {"action": "cancel", "ids": [*made, NOBODY], "reason": "all of them"}
    reply = server.api.ask("POST", "/v1/jobs/bulk", body)
    assert reply.status == 200
    assert [(one["done"], one.get("status")) for one in reply.json["data"]] == [
        (True, None), (False, 409), (True, None), (False, 404),
    ]  # fmt: skip
    assert reply.json["data"][0]["job"]["state"] == "cancelled"


def test_bulk_action_by_filter_is_paginated(server: Server) -> None:
    made = [put(server.api, type="sweep", run_at=later())["id"] for _ in range(3)]
    wanted: dict[str, Any] = {"type": "sweep", "state": ["pending"], "limit": 2}
    first = server.api.ask("POST", "/v1/jobs/bulk", {"action": "cancel", "filter": wanted}).json
    assert [one["id"] for one in first["data"]] == [made[2], made[1]]
    wanted["before"] = first["next_cursor"]
    rest = server.api.ask("POST", "/v1/jobs/bulk", {"action": "cancel", "filter": wanted}).json
    assert ([one["id"] for one in rest["data"]], rest["next_cursor"]) == ([made[0]], None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "cancel"}, "ids"),
        ({"action": "cancel", "ids": [NOBODY], "filter": {"type": "x"}}, "ids"),
        ({"action": "cancel", "ids": []}, "ids"),
        ({"action": "cancel", "ids": [NOBODY] * 201}, "ids"),
        ({"action": "cancel", "ids": ["x"]}, "ids[0]"),
        ({"action": "cancel", "filter": {}}, "filter"),
        ({"action": "cancel", "filter": {"state": ["dead"]}}, "filter.state[0]"),
        ({"action": "explode", "ids": [NOBODY]}, "action"),
        ({"action": "resolve", "ids": [NOBODY]}, "verdict"),
        ({"action": "resolve", "ids": [NOBODY], "verdict": "give_up"}, "reason"),
        ({"action": "cancel", "ids": [NOBODY], "verdict": "give_up"}, "verdict"),
    ],
)
def test_invalid_bulk_field_is_named(server: Server, body: dict[str, Any], field: str) -> None:
    reply = server.api.ask("POST", "/v1/jobs/bulk", body)
    assert (reply.status, reply.json["field"]) == (422, field), reply


def test_legacy_paths_work_the_same(server: Server) -> None:
    body = {"type": "former", "channel": "former", "run_at": later(), "idempotency_key": str(uuid4())}
    made = server.api.ask("POST", "/fp-publisher/v1/jobs", body)
    assert made.status == 201
    assert server.api.ask("POST", "/v1/jobs", body).json["id"] == made.json["id"]
    assert server.api.get("/fp-publisher/v1/jobs?type=former")["data"][0]["id"] == made.json["id"]
    tested = server.api.ask("POST", "/fp-publisher/v1/jobs/test", {"channel": "former", "run_at": later()})
    assert (tested.status, set(tested.json["evaluation"])) == (
        200, {"runnable", "in_blackout", "has_collision", "blockers"},
    )  # fmt: skip
    assert server.api.ask("POST", f"/fp-publisher/v1/jobs/{made.json['id']}/replay").status == 409


def test_jobs_of_other_brands_are_missing(server: Server) -> None:
    acme, other = key_for(server, "acme"), key_for(server, "other")
    mine = put(acme, brand="acme", run_at=later(), idempotency_key="shared-key")["id"]
    nobodys = put(server.api, run_at=later())["id"]
    for path in ("", "/explain"):
        foreign, missing = other.ask("GET", f"/v1/jobs/{mine}{path}"), other.ask("GET", f"/v1/jobs/{NOBODY}{path}")
        assert same_refusal(foreign, missing, mine, NOBODY)
    for deed in ("cancel", "replay"):
        foreign = other.ask("POST", f"/v1/jobs/{mine}/{deed}")
        assert same_refusal(foreign, other.ask("POST", f"/v1/jobs/{NOBODY}/{deed}"), mine, NOBODY)
    assert other.get("/v1/jobs")["data"] == []
    assert other.get("/v1/jobs?brand=acme")["data"] == []
    assert [job["id"] for job in acme.get("/v1/jobs")["data"]] == [mine]
    assert acme.ask("GET", f"/v1/jobs/{nobodys}").status == 404
    bulk = other.ask("POST", "/v1/jobs/bulk", {"action": "cancel", "ids": [mine]}).json["data"][0]
    assert (bulk["done"], bulk["status"]) == (False, 404)
    assert other.ask("POST", "/v1/jobs/bulk", {"action": "cancel", "filter": {"brand": "acme"}}).json["data"] == []
    assert server.api.get(f"/v1/jobs/{mine}")["state"] == "pending"
    for body, field in (({}, "brand"), ({"brand": "acme"}, "brand"), ({"account": "bluesky:x"}, "account")):
        reply = other.ask("POST", "/v1/jobs", {"type": "report", **body})
        assert (reply.status, reply.json["field"]) == (422, field)
    taken = other.ask(
        "POST", "/v1/jobs", {"type": "report", "brand": "other", "run_at": later(), "idempotency_key": "shared-key"}
    )
    assert taken.status == 201
    assert taken.json["id"] != mine, "no brand finds out which keys another brand uses"


def test_actions_are_in_the_audit_trail(server: Server) -> None:
    acme = key_for(server, "acme")
    job = put(acme, brand="acme", run_at=later())["id"]
    acme.ask("POST", f"/v1/jobs/{job}/cancel", {"reason": "a whim"})
    entry = next(one for one in server.api.get("/v1/audit")["data"] if one["subject"] == job)
    assert entry["actor"].startswith("key:of acme")
    assert entry["reason"] == "a whim"
