"""`/v1/blackouts`, `/v1/circuits` and `/v1/queues`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.processes import Reply, Server, Up, eventually

NIGHT = {"scope": "channel", "channel": "bluesky", "start": "22:00", "end": "07:00", "timezone": "Europe/Rome"}
WHY = {"reason": "they said so"}
BLUESKY, MASTODON = "bluesky:postcard.test", "mastodon:postcard"


@pytest.fixture(autouse=True)
def tidy(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove all blackouts after the test."""
    yield
    for name in ("server", "up"):
        if name in request.fixturenames:
            household = request.getfixturevalue(name)
            for blackout in household.api.get("/v1/blackouts")["data"]:
                household.api.ask("DELETE", f"/v1/blackouts/{blackout['id']}")


def add(household: Server | Up, query: str = "", **change: Any) -> Reply:
    return household.api.ask("POST", f"/v1/blackouts{query}", {**NIGHT, **change})


def test_blackout_is_created_listed_and_deleted(server: Server) -> None:
    added = add(server, days=[0, 6], reason="people sleep")
    assert added.status == 201
    assert added.json["sentence"] == "Saturday and Sunday 22:00–07:00 Europe/Rome, for channel bluesky"
    [listed] = server.api.get("/v1/blackouts")["data"]
    assert listed == {name: added.json[name] for name in listed}
    assert (listed["channel"], listed["days"], listed["reason"]) == ("bluesky", [0, 6], "people sleep")
    assert add(server, days=[0, 6]).status == 409
    removed = server.api.ask("DELETE", f"/v1/blackouts/{listed['id']}?reason=over")
    assert (removed.status, removed.json) == (200, listed)
    assert server.api.get("/v1/blackouts") == {"data": [], "next_cursor": None}
    assert server.api.ask("DELETE", f"/v1/blackouts/{listed['id']}").status == 404


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"timezone": "Europe/Rom"}, "timezone", "Did you mean Europe/Rome?"),
        ({"start": "25:00"}, "start", "'25:00'"),
        ({"start": 22}, "start", "must be a text, not 22"),
        ({"end": None}, "end", "is missing"),
        ({"scope": None}, "scope", "is missing"),
        ({"channel": "blusky"}, "channel", "'blusky'. Did you mean bluesky?"),
        ({"brand": "acme"}, "brand", "does not apply to"),
        ({"scope": "account", "channel": None, "account": "nobody"}, "account", "'nobody'"),
        ({"days": [7]}, "days", "7"),
        ({"days": "sun"}, "days", "must be a list"),
        ({"reason": "x" * 501}, "reason", "501 characters"),
        ({"zone": "UTC"}, "zone", "there is no such field"),
    ],
)
def test_invalid_blackout_field_is_named_and_not_saved(
    server: Server, change: dict[str, Any], field: str, words: str
) -> None:
    for query in ("", "?preview=true"):
        refused = add(server, query, **change)
        assert (refused.status, refused.json["field"]) == (422, field), refused
        assert words in refused.json["detail"]
    assert server.api.get("/v1/blackouts")["data"] == []


@pytest.mark.parametrize("query", ["?preview=yes", "?prevew=true"])
def test_invalid_query_parameter_is_named(server: Server, query: str) -> None:
    refused = add(server, query)
    assert (refused.status, refused.json["field"]) == (422, query[1:].partition("=")[0])
    assert server.api.get("/v1/blackouts")["data"] == []


def test_circuit_is_opened_closed_and_reset(server: Server) -> None:
    opened = server.api.ask("POST", "/v1/circuits/telegram/open", {**WHY, "seconds": 600})
    assert (opened.status, opened.json["state"], opened.json["manual"]) == (200, "open", True)
    [listed] = [it for it in server.api.get("/v1/circuits")["data"] if it["service"] == "telegram"]
    assert listed == opened.json
    [gate] = [it for it in server.api.get("/v1/queues")["gates"] if it["kind"] == "breaker"]
    assert gate["sentence"] == "The circuit of telegram was opened by a person: they said so"
    until = {"until": "2040-01-01T10:00", "timezone": "Europe/Rome"}
    opened = server.api.ask("POST", "/v1/circuits/telegram/open", WHY | until)
    assert opened.json["until_at"] == "2040-01-01T09:00:00.000000Z"
    assert server.api.ask("POST", "/v1/circuits/telegram/close", WHY).json["state"] == "closed"
    assert server.api.ask("POST", "/v1/circuits/telegram/reset", WHY).json["trips"] == 0
    assert server.api.get("/v1/queues")["gates"] == []


def test_circuit_of_one_server_holds_its_accounts_only(server: Server) -> None:
    urls = {"mastodon:ada": "https://Broken.example", "mastodon:bob": "https://well.example:8443/a"}
    sentences = {}
    for account, url in urls.items():
        made = {"network": "mastodon", "handle": account.partition(":")[2], "base_url": url}
        assert server.api.ask("POST", "/v1/accounts", made | {"credentials": {"access_token": "t"}}).status == 201
    opened = server.api.ask("POST", "/v1/circuits/mastodon@broken.example/open", {**WHY, "seconds": 600})
    assert (opened.status, opened.json["service"]) == (200, "mastodon@broken.example"), opened
    [gate] = [it for it in server.api.get("/v1/queues")["gates"] if it["kind"] == "breaker"]
    assert (gate["scope"], gate["name"]) == ("service", "mastodon@broken.example")
    for account in urls:
        wanted = {"text": "Hello", "accounts": [account], "at": "2040-01-01T00:00:00Z"}
        post = server.api.ask("POST", "/v1/posts", wanted).json["id"]
        assert server.api.ask("POST", f"/v1/posts/{post}/publish-now").status == 200
        sentences[account] = server.api.get(f"/v1/posts/{post}/explain")["sentence"]
    assert "the circuit of mastodon@broken.example was opened by a person" in sentences["mastodon:ada"]
    assert "circuit" not in sentences["mastodon:bob"]
    everywhere = server.api.ask("POST", "/v1/circuits/mastodon/open", {**WHY, "seconds": 600})
    assert (everywhere.status, everywhere.json["service"]) == (200, "mastodon")
    for service in ("mastodon", "mastodon@broken.example"):
        assert server.api.ask("POST", f"/v1/circuits/{service}/close", WHY).json["state"] == "closed"
    missing = server.api.ask("POST", "/v1/circuits/mastodon@nowhere.example/open", WHY)
    assert (missing.status, missing.json["field"]) == (422, "service")


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("telegrm/open", WHY, 422, "service"),
        ("discord/open", {}, 422, "reason"),
        ("discord/open", {"reason": " "}, 422, "reason"),
        ("discord/open", WHY | {"seconds": 0}, 422, "seconds"),
        ("discord/open", WHY | {"seconds": -1.5}, 422, "seconds"),
        ("discord/open", WHY | {"until": "2020-01-01T00:00Z"}, 422, "until"),
        ("discord/open", WHY | {"until": "soon"}, 422, "until"),
        ("discord/open", WHY | {"until": "2040-01-01T00:00Z", "seconds": 5}, 422, "seconds"),
        ("dis%00cord/open", WHY, 422, "service"),
        ("discord/close", {}, 422, "reason"),
        ("discord/close", WHY, 404, None),
        ("discord/reset", WHY, 404, None),
    ],
)
def test_invalid_circuit_field_is_named(
    server: Server, path: str, body: dict[str, Any], status: int, field: str | None
) -> None:
    refused = server.api.ask("POST", f"/v1/circuits/{path}", body)
    assert (refused.status, refused.json.get("field")) == (status, field), refused
    assert all(it["service"] != "discord" for it in server.api.get("/v1/circuits")["data"])


def test_queues_show_waiting_jobs_and_closed_gates(server: Server) -> None:
    add(server, start="00:00", end="00:00")
    response = server.api.get("/v1/queues")
    assert [(it["scope"], it["name"], it["kind"], it["until_at"]) for it in response["gates"]] == [
        ("channel", "bluesky", "blackout", None)
    ]
    assert set(response) == {"data", "next_cursor", "gates", "caps", "workers"}


# With accounts and workers


@pytest.mark.slow
def test_blackout_preview_lists_moved_jobs_and_saves_nothing(up: Up) -> None:
    post = up.post("Tomorrow night", BLUESKY, at=at_night(), timezone="Europe/Rome")
    result = add(up, "?preview=true")
    assert (result.status, result.json["preview"], result.json["more"]) == (200, True, 0)
    [shift] = result.json["shifts"]
    assert (shift["job_id"], shift["account"], shift["goes_at"]) == (post["id"], BLUESKY, post["scheduled_at"])
    assert shift["moves_to"] > shift["goes_at"]
    assert up.api.get("/v1/blackouts")["data"] == []
    up.api.ask("POST", f"/v1/posts/{post['id']}/cancel")


@pytest.mark.slow
def test_post_scheduled_in_a_blackout_gets_201_with_a_note(up: Up) -> None:
    add(up)
    reply = up.api.ask("POST", "/v1/posts", {"text": "Night", "accounts": [BLUESKY], "at": "2035-06-01T23:00+02:00"})
    assert reply.status == 201
    assert "the post goes out at 2035-06-02T05:00:00Z" in reply.json["notes"][0]
    moved = up.api.ask("PATCH", f"/v1/posts/{reply.json['id']}", {"at": "2035-06-03T23:00+02:00"})
    assert "the post goes out at 2035-06-04T05:00:00Z" in moved.json["notes"][0]


@pytest.mark.slow
def test_publishing_now_in_a_blackout_gets_409_unless_allowed(up: Up) -> None:
    planned = up.post("Planned for later", MASTODON, at="2035-06-01T12:00Z")
    now = datetime.now(UTC)
    ends_at = now + timedelta(hours=2)
    window = {"start": f"{now - timedelta(minutes=5):%H:%M}", "end": f"{ends_at:%H:%M}", "timezone": "UTC"}
    assert add(up, channel="mastodon", **window).status == 201
    wanted = {"text": "Right now", "accounts": [BLUESKY, MASTODON]}
    refused = up.api.ask("POST", "/v1/posts", wanted)
    assert (refused.status, refused.json["field"]) == (409, "at")
    assert f"The next free time is {ends_at:%Y-%m-%dT%H:%M:00Z}" in refused.json["detail"]
    assert "Right now" not in up.texts()
    later = up.api.ask("POST", f"/v1/posts/{planned['id']}/publish-now")
    assert (later.status, later.json["field"]) == (409, "at")
    allowed = up.api.ask("POST", "/v1/posts", wanted | {"allow_blackout": True})
    assert allowed.status == 202
    for post in allowed.json["posts"]:
        up.wait_for_status(post["id"])
    assert up.texts().count("Right now") == 2


@pytest.mark.slow
def test_held_post_is_published_when_the_blackout_is_deleted(up: Up) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    blackout = add(up, start="00:00", end="00:00", timezone="UTC").json
    post = up.post("Held", BLUESKY, at=soon)

    def is_held() -> bool:
        return "deferred" in up.api.get(f"/v1/posts/{post['id']}")["flags"]

    eventually(is_held)
    assert "Held" not in up.texts()
    assert up.api.ask("DELETE", f"/v1/blackouts/{blackout['id']}").status == 200
    up.wait_for_status(post["id"])


def at_night() -> str:
    return f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}T23:30"
