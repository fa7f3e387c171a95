"""`GET /v1/calendar`: local days with their posts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.processes import Client, Server

ADA = "bluesky:ada.test"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Server(tmp_path_factory.mktemp("calendar") / "data") as server:
        body = {"network": "bluesky", "handle": "ada.test", "credentials": {"password": "x"}}
        assert server.api.ask("POST", "/v1/accounts", body).status == 201
        for text, at in (
            ("Before midnight", "2035-03-24T22:59Z"),
            ("After midnight", "2035-03-24T23:30Z"),
            ("x" * 200, "2035-03-25T12:00Z"),
            ("Late", "2035-03-25T21:30Z"),
            ("Next day", "2035-03-25T22:00Z"),
        ):
            made = server.api.ask("POST", "/v1/posts", {"text": text, "accounts": [ADA], "at": at})
            assert made.status == 201
        yield server.api


def test_posts_are_on_their_local_day(api: Client) -> None:
    response = api.get("/v1/calendar?from=2035-03-24&to=2035-03-26&timezone=Europe/Rome")
    assert response["timezone"] == "Europe/Rome"
    before, day, after = response["data"]
    assert (day["date"], day["from"], day["to"]) == (
        "2035-03-25",
        "2035-03-24T23:00:00.000000Z",
        "2035-03-25T22:00:00.000000Z",
    )
    assert [post["text"] for post in before["posts"]] == ["Before midnight"]
    first, long, late = day["posts"]
    assert (first["text"], late["text"]) == ("After midnight", "Late")
    assert long["text"] == "x" * 119 + "…"
    assert first["local_time"] == "2035-03-25T00:30:00+01:00"
    assert late["local_time"] == "2035-03-25T23:30:00+02:00"
    assert (first["status"], first["network"], first["account"]) == ("scheduled", "bluesky", ADA)
    assert [post["text"] for post in after["posts"]] == ["Next day"]
    assert (day["count"], day["count_is_exact"], day["has_more"]) == (3, True, False)


def test_full_day_lists_the_first_posts_and_counts_all(api: Client) -> None:
    [day] = api.get("/v1/calendar?from=2035-03-25&to=2035-03-25&timezone=Europe/Rome&limit=1")["data"]
    assert ([post["text"] for post in day["posts"]], day["count"], day["has_more"]) == (["After midnight"], 3, True)


def test_cancelled_post_stays_in_the_calendar(api: Client) -> None:
    body = {"text": "Gone", "accounts": [ADA], "at": "2035-08-08T08:08Z"}
    made = api.ask("POST", "/v1/posts", body).json["id"]
    api.ask("POST", f"/v1/posts/{made}/cancel", {})
    [day] = api.get("/v1/calendar?from=2035-08-08&to=2035-08-08")["data"]
    assert [(post["id"], post["status"]) for post in day["posts"]] == [(made, "cancelled")]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("to=2035-01-01", "from"),
        ("from=2035-01-01", "to"),
        ("from=tomorrow&to=2035-01-01", "from"),
        ("from=2035-01-02&to=2035-01-01", "to"),
        ("from=2035-01-01&to=2035-06-01", "to"),
        ("from=2035-01-01&to=2035-01-01&timezone=Mars", "timezone"),
        ("from=2035-01-01&to=2035-01-01&limit=many", "limit"),
        ("from=2035-01-01&to=2035-01-01&zone=UTC", "zone"),
    ],
)
def test_invalid_query_parameter_is_named(api: Client, query: str, field: str) -> None:
    reply = api.ask("GET", f"/v1/calendar?{query}")
    assert (reply.status, reply.json["field"]) == (422, field)
