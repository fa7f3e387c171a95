"""`/v1/drafts`: create, edit, schedule, and access by brand."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.processes import Client, Server
from tests.api.test_list_posts import add, key_for

ROSSO, VERDE = "bluesky:rosso.test", "bluesky:verde.test"


@dataclass(frozen=True)
class Office:
    api: Client
    rosso: Client
    verde: Client


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with Server(tmp_path_factory.mktemp("drafts") / "data") as server:
        for brand in ("rosso", "verde"):
            add(server.api, "bluesky", f"{brand}.test", brand, password="x")
        yield Office(server.api, key_for(server.api, "rosso"), key_for(server.api, "verde"))


def draft(api: Client, **fields: Any) -> dict[str, Any]:
    reply = api.ask("POST", "/v1/drafts", fields)
    assert reply.status == 201, reply
    response: dict[str, Any] = reply.json
    return response


def test_draft_is_stored_incomplete_and_edited_by_field(office: Office) -> None:
    made = draft(office.api, text="Begun", hashtags=["one"])
    path = f"/v1/drafts/{made['id']}"
    changed = office.api.ask("PATCH", path, {"accounts": [ROSSO], "hashtags": None, "at": "2035-01-01T08:00Z"}).json
    assert (changed["version"], changed["brand"], changed["text"]) == (2, "rosso", "Begun")
    assert "hashtags" not in changed
    assert office.api.get(path) == changed
    assert office.api.ask("DELETE", path).json == changed
    assert office.api.ask("GET", path).status == 404


def test_scheduled_draft_becomes_posts(office: Office) -> None:
    made = draft(office.api, text="Ready", accounts=[ROSSO], at="2035-01-01T08:00Z")
    path = f"/v1/drafts/{made['id']}/schedule"
    reply = office.api.ask("POST", path, {"at": "2035-01-02T08:00", "timezone": "Europe/Rome"})
    assert reply.status == 201
    assert reply.json["scheduled_at"] == "2035-01-02T07:00:00.000000Z"
    assert reply.json["text"] == "Ready"
    assert office.api.ask("POST", path, {}).status == 404
    now = draft(office.api, text="At once", accounts=[ROSSO])
    assert office.api.ask("POST", f"/v1/drafts/{now['id']}/schedule").status == 202


def test_rejected_schedule_keeps_the_draft(office: Office) -> None:
    made = draft(office.api, text="x" * 400)
    path = f"/v1/drafts/{made['id']}"
    assert office.api.ask("POST", f"{path}/schedule", {}).json["field"] == "accounts"
    office.api.ask("PATCH", path, {"accounts": [ROSSO]})
    assert office.api.ask("POST", f"{path}/schedule", {}).json["field"] == "text"
    assert office.api.ask("POST", f"{path}/schedule", {"at": "2020-01-01T00:00Z"}).json["field"] == "at"
    assert office.api.get(path)["version"] == 2


def test_concurrent_schedules_create_one_post(office: Office) -> None:
    made = draft(office.api, text="Contested", accounts=[ROSSO])
    path = f"/v1/drafts/{made['id']}/schedule"
    with ThreadPoolExecutor(10) as pool:
        replies = list(pool.map(lambda _: office.api.ask("POST", path, {"allow_duplicate": True}), range(20)))
    assert sorted(reply.status for reply in replies) == [202] + [404] * 19
    assert len(office.api.get("/v1/posts?text=Contested")["data"]) == 1


def test_edit_and_schedule_race_loses_no_confirmed_edit(office: Office) -> None:
    with ThreadPoolExecutor(2) as pool:
        for number in range(15):
            fields = {"accounts": [ROSSO], "at": "2035-01-01T08:00Z"}
            path = f"/v1/drafts/{draft(office.api, text=f'Old words {number}', **fields)['id']}"
            change = pool.submit(office.api.ask, "PATCH", path, {"text": f"New words {number}"})
            scheduled = pool.submit(office.api.ask, "POST", f"{path}/schedule", {}).result()
            assert scheduled.status in (201, 409)
            if change.result().status == 200 and scheduled.status == 201:
                assert scheduled.json["text"] == f"New words {number}"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": 7}, "text"),
        ({"text": "x" * 5001}, "text"),
        ({"colour": "red"}, "colour"),
        ({"accounts": ["nobody"]}, "accounts"),
        ({"accounts": "nobody"}, "accounts"),
        ({"at": "soon"}, "at"),
        ({"at": "2035-01-01T08:00", "timezone": "Mars"}, "timezone"),
        ({"first_comment": "x"}, "first_comment"),
        ({"media": [{"id": "7"}]}, "media[0].id"),
        ({"accounts": [ROSSO, VERDE]}, "accounts"),
        ({"brand": "x" * 501}, "brand"),
    ],
)
def test_invalid_field_is_named_and_nothing_is_stored(office: Office, body: dict[str, Any], field: str) -> None:
    before = office.api.get("/v1/drafts")["data"]
    kept = draft(office.api, text="Kept")
    for method, path in (("POST", "/v1/drafts"), ("PATCH", f"/v1/drafts/{kept['id']}")):
        reply = office.api.ask(method, path, body)
        assert (reply.status, reply.json["field"]) == (422, field)
    assert office.api.ask("DELETE", f"/v1/drafts/{kept['id']}").json == kept
    assert office.api.get("/v1/drafts")["data"] == before


def test_brand_sees_only_its_drafts(office: Office) -> None:
    mine = draft(office.rosso, text="Mine")
    theirs = draft(office.verde, text="Theirs", accounts=[VERDE])
    nobodys = draft(office.api, text="Nobody's")
    assert (mine["brand"], theirs["brand"], nobodys["brand"]) == ("rosso", "verde", None)
    results = {one["id"] for one in office.rosso.get("/v1/drafts?limit=200")["data"]}
    assert mine["id"] in results
    assert not {theirs["id"], nobodys["id"]} & results
    for hidden in (theirs, nobodys):
        path = f"/v1/drafts/{hidden['id']}"
        for method, where, body in (
            ("GET", path, None),
            ("PATCH", path, {"text": "x"}),
            ("DELETE", path, None),
            ("POST", f"{path}/schedule", {}),
        ):
            assert office.rosso.ask(method, where, body).status == 404
    assert office.rosso.ask("POST", "/v1/drafts", {"brand": "verde"}).json["field"] == "brand"
    assert office.rosso.ask("POST", "/v1/drafts", {"accounts": [VERDE]}).json["field"] == "accounts"
    kept = office.api.ask("PATCH", f"/v1/drafts/{mine['id']}", {"text": "Helped"})
    assert (kept.status, kept.json["brand"]) == (200, "rosso")


def test_drafts_are_listed_in_pages(office: Office) -> None:
    made = [draft(office.api, text=f"Page {number}")["id"] for number in range(3)]
    first = office.api.get("/v1/drafts?limit=2")
    assert [one["id"] for one in first["data"]] == [made[2], made[1]]
    second = office.api.get(f"/v1/drafts?limit=2&cursor={first['next_cursor']}")
    assert second["data"][0]["id"] == made[0]
    assert office.api.ask("GET", "/v1/drafts?cursor=x").json["field"] == "cursor"
