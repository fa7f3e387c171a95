"""`/v1/posts` with workers and simulated networks."""

from __future__ import annotations

from typing import Any

import pytest

from postino.wiring import sandbox_accounts
from tests.api.processes import Reply, Up, eventually

pytestmark = pytest.mark.slow
BLUESKY, MASTODON, TELEGRAM = "bluesky:postcard.test", "mastodon:postcard", "telegram:postcard"
LATER = "2035-06-01T12:00:00Z"
SHAPE = [
    "id",
    "status",
    "flags",
    "network",
    "account",
    "content_id",
    "scheduled_at",
    "run_at",
    "published_at",
    "remote_id",
    "url",
    "attempts",
    "last_error",
]


def ask(up: Up, post: Any, deed: str, **body: Any) -> Reply:
    return up.api.ask("POST", f"/v1/posts/{post['id']}/{deed}", body or None)


def change(up: Up, post: Any, **body: Any) -> Reply:
    return up.api.ask("PATCH", f"/v1/posts/{post['id']}", body)


def test_publishing_now_gets_202_and_the_post_itself(up: Up) -> None:
    reply = up.api.ask("POST", "/v1/posts", {"text": "One account", "accounts": [BLUESKY]})
    assert reply.status == 202
    assert set(SHAPE) <= set(reply.json)
    assert [reply.json[name] for name in SHAPE] == [reply.json["posts"][0][name] for name in SHAPE]
    response = up.wait_for_status(reply.json["id"])
    assert response["published_at"] >= response["scheduled_at"]
    assert response["url"].startswith(up.ready["sandbox_url"])
    assert [it["verdict"] for it in response["receipts"]] == ["accepted"]
    assert len(response["history"]) == response["attempts"] == 1


def test_several_accounts_share_one_content(up: Up) -> None:
    made = up.post("Three accounts", BLUESKY, MASTODON, TELEGRAM)
    assert "id" not in made
    assert [post["account"] for post in made["posts"]] == [BLUESKY, MASTODON, TELEGRAM]
    for post in made["posts"]:
        up.wait_for_status(post["id"])
    content = up.api.get(f"/v1/contents/{made['content_id']}")
    assert (content["status"], content["text"], len(content["posts"])) == ("published", "Three accounts", 3)
    assert up.texts().count("Three accounts") == 3


def test_failing_account_does_not_affect_the_others(up: Up) -> None:
    no_image = {"media": [{"url": f"{up.sandbox.url}/_sandbox/published"}]}
    made = up.post("One of two", BLUESKY, MASTODON, overrides={"mastodon": no_image})
    good, bad = made["posts"]
    up.wait_for_status(good["id"])
    result = up.wait_for_status(bad["id"], "failed")
    assert "image" in result["last_error"]
    assert up.api.get(f"/v1/contents/{made['content_id']}")["status"] == "partially_published"
    refused = ask(up, bad, "replay", reason="it is an image now")
    assert refused.status == 409
    assert "force" in refused.json["detail"]
    assert ask(up, bad, "replay", force=True, reason="it is an image now").status == 200
    up.wait_for_status(bad["id"], "failed")
    assert up.texts().count("One of two") == 1


def test_blocked_account_holds_its_posts_until_it_is_resumed(up: Up) -> None:
    up.sandbox.ask("POST", "/_sandbox/accounts/telegram/postcard", {"blocked": True})
    [post] = up.post("Held while blocked", TELEGRAM)["posts"]
    account = f"/v1/accounts/{TELEGRAM}"
    eventually(lambda: up.api.get(account)["state"] == "suspended")
    up.sandbox.ask("POST", "/_sandbox/accounts/telegram/postcard", {"blocked": False})
    assert up.api.get(f"/v1/posts/{post['id']}")["status"] == "scheduled"
    assert up.api.ask("POST", f"{account}/resume", {"reason": "it is allowed again"}).status == 200
    up.wait_for_status(post["id"])


def test_scheduling_gets_201_with_a_note_about_daylight_saving(up: Up) -> None:
    body = {"text": "In the gap", "accounts": [BLUESKY], "at": "2035-03-25T02:30", "timezone": "Europe/Rome"}
    reply = up.api.ask("POST", "/v1/posts", body)
    assert reply.status == 201
    assert reply.json["scheduled_at"] == "2035-03-25T01:00:00.000000Z"
    assert reply.json["status"] == "scheduled"
    [note] = reply.json["notes"]
    assert "the clocks go forward" in note
    assert up.api.ask("POST", "/v1/posts", body).status == 200  # the same plan is the same post


def test_existing_posts_are_returned_with_notes(up: Up) -> None:
    body = {"text": "Planned", "accounts": [BLUESKY, MASTODON], "at": LATER}
    first, again = (up.api.ask("POST", "/v1/posts", body) for _ in range(2))
    assert (first.status, again.status) == (201, 200)
    assert again.json["posts"] == first.json["posts"]
    ask(up, first.json["posts"][0], "cancel")
    change(up, first.json["posts"][1], text="Edited")
    third = up.api.ask("POST", "/v1/posts", body)
    assert third.status == 200
    cancelled, edited = third.json["notes"]
    assert "was cancelled" in cancelled
    assert "was edited" in edited
    assert set(third.json) == {"content_id", "status", "posts", "notes"}


def test_same_post_twice_at_once_is_a_duplicate(up: Up) -> None:
    made = up.post("Double click", BLUESKY)
    second = up.api.ask("POST", "/v1/posts", {"text": "Double click", "accounts": [BLUESKY]})
    assert second.status == 409
    assert made["id"] in second.json["detail"]
    meant = up.post("Double click", BLUESKY, allow_duplicate=True)
    up.wait_for_status(made["id"])
    up.wait_for_status(meant["id"])
    assert up.texts().count("Double click") == 2


def test_preview_shows_each_network_and_queues_nothing(up: Up) -> None:
    before = up.api.get("/v1/posts")["data"]
    body = {"text": "x" * 400, "accounts": [BLUESKY, MASTODON], "hashtags": ["rome"], "preview": True}
    reply = up.api.ask("POST", "/v1/posts", body, Idempotency_Key="preview")
    assert reply.status == 200
    bluesky, mastodon = reply.json["posts"]
    assert (bluesky["publishable"], mastodon["publishable"]) == (False, True)
    assert bluesky["problems"][0]["field"] == "text"
    assert mastodon["parts"] == ["x" * 400 + "\n\n#rome"]
    assert up.api.get("/v1/posts")["data"] == before
    assert up.api.ask("POST", "/v1/posts", body | {"preview": False, "text": "y", "at": LATER}).status == 201


def test_waiting_post_can_be_edited_moved_published_or_cancelled(up: Up) -> None:
    post = up.post("Draft", MASTODON, at=LATER)
    edited = change(up, post, text="Final", reason="a typo")
    assert (edited.status, edited.json["text"], edited.json["version"]) == (200, "Final", 2)
    moved = change(up, post, at="2035-07-01T14:00", timezone="Europe/Rome")
    assert moved.json["scheduled_at"] == "2035-07-01T12:00:00.000000Z"
    assert ask(up, post, "publish-now").status == 200
    up.wait_for_status(post["id"])
    assert up.texts().count("Final") == 1
    late = change(up, post, text="Too late")
    assert late.status == 409
    assert late.json["detail"].startswith(f"Post {post['id']} cannot be edited")
    assert ask(up, post, "cancel").status == 409
    other = up.post("Never", MASTODON, at=LATER)
    assert ask(up, other, "cancel", reason="the campaign is over").json["status"] == "cancelled"
    assert up.api.get(f"/v1/posts/{other['id']}")["cancelled"] == "by api (the campaign is over)"


def test_list_is_filtered_and_paginated(up: Up) -> None:
    for number in range(3):
        up.post(f"Page {number}", TELEGRAM, at=f"2035-06-0{number + 1}T12:00:00Z")
    path = f"/v1/posts?status=scheduled&account={TELEGRAM}&limit=2"
    first = up.api.get(path)
    assert [post["text"] for post in first["data"]] == ["Page 2", "Page 1"]
    second = up.api.get(f"{path}&cursor={first['next_cursor']}")
    assert ([post["text"] for post in second["data"]], second["next_cursor"]) == (["Page 0"], None)
    assert {post["network"] for post in up.api.get("/v1/posts?network=mastodon")["data"]} == {"mastodon"}


@pytest.mark.parametrize("verdict", ["live", "send_again", "give_up"])
def test_uncertain_post_is_resolved_by_a_person(up: Up, verdict: str) -> None:
    up.fault("telegram", "process_then_drop", endpoint="sendMessage")
    post = up.post(f"Lost, {verdict}", TELEGRAM)
    up.wait_for_status(post["id"], "uncertain")
    [entry] = [it for it in up.list_published() if it["text"] == f"Lost, {verdict}"]
    remote_id = {"remote_id": entry["remote_id"]} if verdict == "live" else {}
    assert ask(up, post, "resolve", verdict=verdict, reason="I looked", **remote_id).status == 200
    wanted = "failed" if verdict == "give_up" else "published"
    result = up.wait_for_status(post["id"], wanted)
    assert up.texts().count(f"Lost, {verdict}") == (2 if verdict == "send_again" else 1)
    if verdict == "live":
        assert result["remote_id"] == entry["remote_id"]
        assert result["receipts"][-1]["source"] == "person"


def test_expired_token_holds_posts_and_is_explained(up: Up) -> None:
    up.sandbox.ask("POST", "/_sandbox/accounts/mastodon/postcard", {"token_expired": True})
    post = up.post("Held", MASTODON)
    result = is_held(up, post)
    assert set(result["flags"]) >= {"deferred", "at_risk"}
    assert "reconnect" in result["reasons"]["at_risk"]
    [account] = [it for it in up.api.get("/v1/accounts")["data"] if it["id"] == MASTODON]
    assert account["state"] == "token_expired"
    assert "Reconnect the account" in account["reason"]
    assert up.texts().count("Held") == 0


def is_held(up: Up, post: Any) -> Any:
    def look() -> Any:
        response = up.api.get(f"/v1/posts/{post['id']}")
        return response if "at_risk" in response["flags"] else None

    return eventually(look, lambda: up.api.get(f"/v1/posts/{post['id']}"))


def test_responses_hold_no_secrets(up: Up) -> None:
    pages = [up.api.ask("GET", path).body.decode() for path in ("/v1/accounts", "/v1/posts", "/", "/v1/openapi.json")]
    pages += [up.api.ask("GET", f"/v1/posts/{it['id']}").body.decode() for it in up.api.get("/v1/posts")["data"]]
    for account in sandbox_accounts():
        for name, secret in account.credentials.items():
            if name not in ("identifier", "chat_id"):
                assert not any(secret in page for page in pages), name
    assert not any(up.ready["api_key"] in page for page in pages)
