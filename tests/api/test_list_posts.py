"""`GET /v1/posts`: filters, pagination, and nothing of other brands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.processes import Client, Reply, Server

ROSSO, VERDE = "bluesky:rosso.test", "mastodon:verde"


@dataclass(frozen=True)
class Office:
    """Two brands with an account and three posts each; one key that sees everything, and one for each brand."""

    api: Client
    rosso: Client
    verde: Client
    posts: dict[str, str]  # ids by their text


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with Server(tmp_path_factory.mktemp("listed") / "data") as server:
        add(server.api, "bluesky", "rosso.test", "rosso", password="x")
        add(server.api, "mastodon", "verde", "verde", base_url="https://there.example", access_token="x")
        rosso, verde = key_for(server.api, "rosso"), key_for(server.api, "verde")
        posts = {
            text: make(server.api, account, text, at)
            for account, text, at in (
                (ROSSO, "Straße am Morgen", "2035-01-01T08:00Z"),
                (ROSSO, "Mittag", "2035-01-02T12:00Z"),
                (ROSSO, "Abend", "2035-01-03T20:00Z"),
                (VERDE, "Mattina", "2035-01-01T09:00Z"),
                (VERDE, "Pranzo", "2035-01-02T12:00Z"),
                (VERDE, "Sera", "2035-01-04T20:00Z"),
            )
        }
        assert server.api.ask("POST", f"/v1/posts/{posts['Sera']}/cancel", {}).status == 200
        yield Office(server.api, rosso, verde, posts)


def add(api: Client, network: str, handle: str, brand: str, base_url: str | None = None, **secrets: str) -> None:
    body = {"network": network, "handle": handle, "brand": brand, "credentials": secrets, "base_url": base_url}
    reply = api.ask("POST", "/v1/accounts", body)
    assert reply.status == 201, reply


def key_for(api: Client, brand: str) -> Client:
    reply = api.ask("POST", "/v1/api-keys", {"name": f"for {brand}", "role": "editor", "brands": [brand]})
    assert reply.status == 201, reply
    return Client(api.url, {"Authorization": f"Bearer {reply.json['key']}"})


def make(api: Client, account: str, text: str, at: str) -> str:
    reply = api.ask("POST", "/v1/posts", {"text": text, "accounts": [account], "at": at})
    assert reply.status == 201, reply
    return str(reply.json["id"])


def texts(api: Client, **query: str) -> list[str]:
    output = "&".join(f"{name.rstrip('_')}={quote(text)}" for name, text in query.items())
    return [post["text"] for post in api.get(f"/v1/posts?{output}")["data"]]


def test_posts_are_filtered_by_their_fields(office: Office) -> None:
    assert texts(office.api) == ["Sera", "Pranzo", "Mattina", "Abend", "Mittag", "Straße am Morgen"]
    assert texts(office.api, status="cancelled") == ["Sera"]
    assert texts(office.api, status="cancelled,scheduled", network="mastodon") == ["Sera", "Pranzo", "Mattina"]
    assert texts(office.api, account=ROSSO, limit="2") == ["Abend", "Mittag"]
    assert texts(office.api, brand="verde", status="scheduled") == ["Pranzo", "Mattina"]
    assert texts(office.api, flags="late,retrying,deferred,at_risk") == []


def test_posts_are_searched_by_text_in_any_case(office: Office) -> None:
    assert texts(office.api, text="STRASSE") == ["Straße am Morgen"]
    assert texts(office.api, text="m m") == ["Straße am Morgen"]
    assert texts(office.api, text="%") == []


def test_list_by_time_starts_with_the_latest_and_excludes_the_end(office: Office) -> None:
    assert texts(office.api, from_="2035-01-02T00:00Z", to="2035-01-03T20:00Z") == ["Pranzo", "Mittag"]
    assert texts(office.api, from_="2035-01-03T21:00", timezone="Europe/Rome") == ["Sera", "Abend"]


@pytest.mark.parametrize("query", ["", "from=2035-01-01T00:00Z&", "status=scheduled,cancelled&"])
def test_next_page_starts_where_the_last_one_ended(office: Office, query: str) -> None:
    whole = [post["id"] for post in office.api.get(f"/v1/posts?{query}limit=100")["data"]]
    page = office.api.get(f"/v1/posts?{query}limit=1")
    results = [*page["data"]]
    while page["next_cursor"] is not None:
        page = office.api.get(f"/v1/posts?{query}limit=1&cursor={quote(page['next_cursor'])}")
        results += page["data"]
    assert [post["id"] for post in results] == whole
    assert len(results) == len(office.posts)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=gone", "status"),
        ("flags=tired", "flags"),
        ("from=yesterday", "from"),
        ("from=2035-01-01T08:00", "timezone"),
        ("from=2035-01-01T08:00&timezone=Mars", "timezone"),
        ("from=2035-01-02T00:00Z&to=2035-01-01T00:00Z", "to"),
        ("text=", "text"),
        ("text=%00", "text"),
        (f"text={'x' * 201}", "text"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("cursor=nowhere", "cursor"),
        ("from=2035-01-01T00:00Z&cursor=01932c07-5b1e-7cc3-98c4-dc0c0c07398f", "cursor"),
        ("from=2035-01-01T00:00Z&cursor=2035_01932c07-5b1e-7cc3-98c4-dc0c0c07398f", "cursor"),
        ("from=2035-01-01T00:00Z&cursor=0001-01-01T00:00%2B23:59_01932c07-5b1e-7cc3-98c4-dc0c0c07398f", "cursor"),
        ("from=2035-01-01T00:00Z&cursor=9999-12-31T23:59-23:59_01932c07-5b1e-7cc3-98c4-dc0c0c07398f", "cursor"),
        ("brand=%00", "brand"),
        ("colour=red", "colour"),
    ],
)
def test_invalid_query_parameter_is_named(office: Office, query: str, field: str) -> None:
    reply = office.api.ask("GET", f"/v1/posts?{query}")
    assert (reply.status, reply.json["field"]) == (422, field)


def test_brand_sees_only_its_posts(office: Office) -> None:
    assert texts(office.rosso) == ["Abend", "Mittag", "Straße am Morgen"]
    assert texts(office.rosso, brand="verde") == []
    assert texts(office.rosso, account=VERDE) == []
    assert texts(office.rosso, status="cancelled") == []
    assert texts(office.rosso, text="Sera") == []
    assert texts(office.rosso, from_="2035-01-02T00:00Z", to="2035-01-03T00:00Z") == ["Mittag"]
    day = "/v1/calendar?from=2035-01-02&to=2035-01-02"
    assert [post["text"] for post in office.rosso.get(day)["data"][0]["posts"]] == ["Mittag"]
    assert office.rosso.get(f"{day}&brand=verde")["data"][0]["count"] == 0


def deeds(api: Client, post_id: str) -> dict[str, Reply]:
    bodies: dict[str, Any] = {
        "publish-now": {},
        "cancel": {},
        "replay": {},
        "resolve": {"verdict": "give_up", "reason": "x"},
    }
    path = f"/v1/posts/{post_id}"
    return {name: api.ask("POST", f"{path}/{name}", body) for name, body in bodies.items()} | {
        "show": api.ask("GET", path),
        "change": api.ask("PATCH", path, {"text": "Mine now"}),
    }


def test_post_of_another_brand_is_missing(office: Office) -> None:
    nowhere = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
    theirs, none = deeds(office.rosso, office.posts["Pranzo"]), deeds(office.rosso, nowhere)
    for name, reply in theirs.items():
        assert reply.status == 404, name
        assert reply.json["detail"].replace(office.posts["Pranzo"], nowhere) == none[name].json["detail"]
    content = office.api.get(f"/v1/posts/{office.posts['Pranzo']}")["content_id"]
    assert office.rosso.ask("GET", f"/v1/contents/{content}").status == 404
    assert office.verde.ask("GET", f"/v1/contents/{content}").status == 200
    assert texts(office.verde, text="Pranzo") == ["Pranzo"]


@pytest.mark.parametrize("path", ["/v1/posts", "/v1/posts/validate"])
def test_account_of_another_brand_cannot_publish(office: Office, path: str) -> None:
    body = {"text": "Not mine", "accounts": [VERDE], "at": "2035-05-05T05:05Z"}
    reply = office.rosso.ask("POST", path, body)
    response = reply.json["detail"] if path == "/v1/posts" else reply.json["problems"][0]["message"]
    assert "Account 'mastodon:verde' does not exist" in response
    assert texts(office.api, text="Not mine") == []


def test_actions_are_in_the_audit_trail(office: Office) -> None:
    made = make(office.rosso, ROSSO, "Audited", "2035-09-09T09:09Z")
    assert office.rosso.ask("POST", f"/v1/posts/{made}/cancel", {"reason": "a test"}).status == 200
    lines = office.api.get("/v1/audit")["data"]
    assert any(line["subject"] == made and "for rosso" in line["actor"] for line in lines)


def test_validation_lists_all_problems_and_creates_nothing(office: Office) -> None:
    body = {
        "text": "x" * 400,
        "accounts": [ROSSO, "nobody", VERDE],
        "at": "2020-01-01T00:00Z",
        "publish_until": "soon",
        "media": [{"url": "http://127.0.0.1/x.png"}],
    }
    response = office.api.ask("POST", "/v1/posts/validate", body).json
    assert not response["valid"]
    fields = {(problem["account"], problem["field"]) for problem in response["problems"]}
    assert {(None, "publish_until"), (None, "at"), (None, "accounts"), (ROSSO, "text")} <= fields
    assert {(ROSSO, "media[0].url"), (VERDE, "media[0].url")} <= fields
    assert [post["account"] for post in response["posts"]] == [ROSSO, VERDE]
    right = office.api.ask("POST", "/v1/posts/validate", {"text": "Fine", "accounts": [VERDE]}).json
    assert (right["valid"], right["problems"]) == (True, [])
    assert texts(office.api, text="Fine") == []


def test_validation_reports_a_blackout(folder: Path) -> None:
    with Server(folder) as server:
        add(server.api, "bluesky", "rosso.test", "rosso", password="x")
        post = make(server.api, ROSSO, "Planned", "2035-01-01T08:00Z")
        window = {"scope": "all", "start": "00:00", "end": "00:00", "timezone": "UTC"}
        if (reply := server.api.ask("POST", "/v1/blackouts", window)).status != 201:
            reply = server.api.ask("POST", "/v1/blackouts", window | {"end": "23:59"})
        assert reply.status == 201
        body = {"text": "Now", "accounts": [ROSSO]}
        preview = server.api.ask("POST", "/v1/posts", body | {"preview": True})
        assert "Published now it would be refused." in preview.json["notes"][0]
        assert not server.api.ask("POST", "/v1/posts/validate", body).json["valid"]
        assert server.api.ask("POST", "/v1/posts", body).status == 409
        now = f"/v1/posts/{post}/publish-now"
        refused = server.api.ask("POST", now, {})
        assert refused.status == 409
        assert "`allow_blackout`" in refused.json["detail"]
        assert server.api.ask("POST", now, {"allow_blackout": True}).status == 200
        assert server.api.get(f"/v1/posts/{post}")["scheduled_at"] < "2035"


def test_publish_until_is_removed_by_null_only(office: Office) -> None:
    body = {"text": "Until", "accounts": [ROSSO], "at": "2035-02-02T02:02Z", "publish_until": "2035-02-03T00:00Z"}
    path = f"/v1/posts/{office.api.ask('POST', '/v1/posts', body).json['id']}"
    kept = office.api.ask("PATCH", path, {"text": "Until then"}).json
    assert kept["publish_until"] == "2035-02-03T00:00:00.000000Z"
    assert office.api.ask("PATCH", path, {"publish_until": "2035-01-01T00:00Z"}).json["field"] == "publish_until"
    assert office.api.ask("PATCH", path, {"publish_until": None}).json["publish_until"] is None
    assert office.api.get(path)["text"] == "Until then"
