"""One content on accounts of two brands: each brand sees what its own posts say, and nothing of the other's."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.browser import with_key
from tests.api.fake_worker import work
from tests.api.processes import Client, Server

pytestmark = pytest.mark.slow
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat()
HIDDEN = ("Confidential", "only-theirs", "secretname", "Launch X")
BODY: dict[str, Any] = {
    "text": "Hello {{city}}",
    "at": TOMORROW,
    "placeholders": {"city": "Rome", "secretname": "Launch X", "word": "Ciao"},
    "overrides": {
        "bluesky": {"text": "Confidential {{secretname}}", "hashtags": ["only-theirs"]},
        "mastodon": {"text": "{{word}} from ours"},
    },
}


@pytest.fixture(scope="module")
def shared(server: Server) -> dict[str, Any]:
    """Create a content for an account of each brand."""
    mastodon = {"network": "mastodon", "credentials": {"access_token": "x"}, "base_url": "https://social.example"}
    bluesky = {"network": "bluesky", "handle": "theirs.example.org", "credentials": {"password": "x"}}
    for body in (mastodon | {"handle": "ours", "brand": "ours"}, bluesky | {"brand": "theirs"}):
        assert server.api.ask("POST", "/v1/accounts", body).status == 201
    accounts = ["mastodon:ours", "bluesky:theirs.example.org"]
    created = server.api.ask("POST", "/v1/posts", BODY | {"accounts": accounts})
    assert created.status == 201, created
    view: dict[str, Any] = created.json
    return view


@pytest.fixture(scope="module")
def ours(server: Server) -> Client:
    return with_key(server, "editor", brands=["ours"])


def search(client: Client, text: str) -> list[str]:
    return [post["account"] for post in client.get(f"/v1/posts?text={text}")["data"]]


def test_content_shows_only_overrides_of_visible_posts(server: Server, ours: Client, shared: dict[str, Any]) -> None:
    path = f"/v1/contents/{shared['content_id']}"
    content = ours.get(path)
    assert {*content["overrides"]} == {"mastodon"}
    assert content["placeholders"] == {"city": "Rome", "word": "Ciao"}
    assert [post["account"] for post in content["posts"]] == ["mastodon:ours"]
    everything = server.api.get(path)
    assert {*everything["overrides"]} == {"mastodon", "bluesky"}
    assert everything["placeholders"] == BODY["placeholders"]
    assert {*with_key(server, "viewer", brands=["theirs"]).get(path)["overrides"]} == {"bluesky"}


def test_search_does_not_match_hidden_overrides(server: Server, ours: Client, shared: dict[str, Any]) -> None:
    for hidden in ("confidential", "only-theirs"):
        assert search(ours, hidden) == []
    assert search(ours, "hello") == ["mastodon:ours"]


def test_edit_neither_shows_nor_uses_what_is_hidden(server: Server, ours: Client, shared: dict[str, Any]) -> None:
    [post] = ours.get("/v1/posts?account=mastodon:ours")["data"]
    path = f"/v1/posts/{post['id']}"
    guess = ours.ask("PATCH", path, {"overrides": {}, "text": "{{secretname}}"})
    misspelt = ours.ask("PATCH", path, {"overrides": {}, "text": "{{secretnam}}"})
    assert [reply.status for reply in (guess, misspelt)] == [422, 422]
    assert "secretname" not in misspelt.body.decode()
    edited = ours.ask("PATCH", path, {"text": "Edited {{city}}"})
    assert edited.status == 200, edited
    content = ours.get(f"/v1/contents/{edited.json['content_id']}")
    assert {*content["overrides"]} == {"mastodon"}
    for where in (path, f"/v1/jobs/{post['id']}", f"/v1/contents/{edited.json['content_id']}", f"{path}/explain"):
        shown = json.dumps(ours.get(where))
        assert not [word for word in HIDDEN if word in shown], where
    assert search(ours, "confidential") == search(ours, "only-theirs") == []
    assert search(ours, "edited") == ["mastodon:ours"]


def test_duplicate_of_another_brand_is_not_named(server: Server) -> None:
    """An account that has changed its brand still refuses what it just published, and does not say which post."""
    before, after = (with_key(server, "owner", brands=[brand]) for brand in ("before", "after"))
    account = {"network": "bluesky", "handle": "moved.example.org", "credentials": {"password": "x"}}
    assert server.api.ask("POST", "/v1/accounts", account | {"brand": "before"}).status == 201
    wish = {"text": "Once", "accounts": ["bluesky:moved.example.org"]}
    first = before.ask("POST", "/v1/posts", wish)
    assert first.status == 202
    work(server)
    again = before.ask("POST", "/v1/posts", wish)
    assert (again.status, first.json["id"] in again.json["detail"]) == (409, True)
    move = {"credentials": {"password": "y"}, "brand": "after"}
    assert server.api.ask("POST", "/v1/accounts/bluesky:moved.example.org/reconnect", move).status == 200
    refused = after.ask("POST", "/v1/posts", wish)
    assert refused.status == 409, refused
    assert first.json["id"] not in refused.body.decode()
    assert "before" not in refused.json["detail"]


def test_channels_of_other_brands_do_not_exist(server: Server, ours: Client) -> None:
    job = {"type": "zeppelin-report", "brand": "theirs", "run_at": TOMORROW}
    assert server.api.ask("POST", "/v1/jobs", job).status == 201
    server.api.ask("POST", "/v1/gates/channel/pause", {"name": "zeppelin-report", "reason": "secret reason"})
    answers = []
    for channel in ("zeppelin-report", "zeppelin-nothin", "zeppelin"):
        reply = ours.ask("POST", "/v1/jobs/test", {"channel": channel, "brand": "ours"})
        assert (reply.status, reply.json["field"]) == (422, "channel")
        answers.append(reply.json["detail"].replace(repr(channel), "…"))
    assert len({*answers}) == 1
    assert "zeppelin" not in answers[0]
    owner = with_key(server, "owner", brands=["ours"])
    assert owner.ask("POST", "/v1/jobs", job | {"brand": "ours"}).status == 201
    assert ours.ask("POST", "/v1/jobs/test", {"channel": "zeppelin-report", "brand": "ours"}).status == 200
