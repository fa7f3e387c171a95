"""Things that are there before anything is asked: otherwise most questions would be about nothing."""

from __future__ import annotations

from typing import Any

from tests.fuzz.household import Target

LATER = "2031-05-06T07:08:09Z"


def furnish(target: Target) -> dict[str, list[Any]]:
    """By the name under which addresses and bodies ask for them."""
    accounts = [account["id"] for account in target.api.get("/v1/accounts")["data"]]
    posts = [made(target, "/v1/posts", said(text, accounts[:1]) | {"at": LATER})["posts"][0] for text in "abcd"]
    drafts = [made(target, "/v1/drafts", said(text, accounts[:2])) for text in "ef"]
    jobs = [made(target, "/v1/jobs", {"type": "report", "payload": {}, "run_at": LATER}) for _ in range(3)]
    key = made(target, "/v1/api-keys", {"name": "a reader's", "role": "viewer"})
    user = made(target, "/v1/users", {"name": "somebody", "password": "a long enough secret", "role": "editor"})
    return {
        "account_id": accounts,
        "account": accounts,
        "accounts": [accounts[:1], accounts[:3], accounts],
        "post_id": ids(posts),
        "content_id": [post["content_id"] for post in posts],
        "draft_id": ids(drafts),
        "job_id": [*ids(jobs), *ids(posts)],
        "ids": [ids(jobs)],
        "key_id": ids([key]),
        "user_id": ids([user]),
        "service": ["bluesky", "mastodon", "telegram"],
        "network": ["bluesky", "mastodon", "telegram"],
        "at": [LATER, "2031-10-26T02:30"],
        "run_at": [LATER],
        "until": ["2031-05-07T00:00:00Z"],
        "timezone": ["Europe/Rome", "UTC"],
        "channel": ["bluesky", "mastodon"],
        "from": ["2031-01-01T00:00:00Z"],
        "to": ["2031-05-31T00:00:00Z"],
        "publish_until": ["2031-06-01T00:00:00Z"],
    }


def sound_bodies(accounts: list[str]) -> dict[str, dict[str, Any]]:
    """By their operation: what is taken as it is, and is bent a little from there."""
    why = {"reason": "It was asked for."}
    job = {"type": "report", "payload": {"number": 1}, "run_at": LATER}
    credentials = {"identifier": "other.test", "app_password": "abcd-efgh-ijkl-mnop"}
    return {
        "POST /v1/posts": said("p", accounts[:2]) | {"at": LATER},
        "POST /v1/posts/validate": said("v", accounts),
        "PATCH /v1/posts/{post_id}": {"text": "Said otherwise"},
        "POST /v1/drafts": said("d", accounts[:1]),
        "PATCH /v1/drafts/{draft_id}": {"text": "Meant otherwise"},
        "POST /v1/drafts/{draft_id}/schedule": {"at": LATER},
        "POST /v1/jobs": job,
        "POST /fp-publisher/v1/jobs": job,
        "POST /v1/blackouts": {"scope": "all", "start": "01:00", "end": "02:00", "timezone": "UTC"} | why,
        "POST /v1/api-keys": {"name": "another's", "role": "viewer"},
        "POST /v1/users": {"name": "another", "role": "viewer", "password": "a long enough secret"},
        "POST /v1/accounts": {"network": "bluesky", "handle": "other.test", "credentials": credentials},
        "POST /v1/simulate": {"until": LATER},
        "POST /v1/sandbox/faults": {"network": "bluesky", "fault": "server_error", "times": 1},
        "POST /v1/circuits/{service}/open": {"seconds": 5} | why,
        "POST /v1/circuits/{service}/close": why,
        "POST /v1/circuits/{service}/reset": why,
    }


def said(text: str, accounts: list[str]) -> dict[str, Any]:
    return {"text": f"The letter {text}", "accounts": accounts}


def ids(told: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in told]


def made(target: Target, path: str, body: dict[str, Any]) -> Any:
    reply = target.api.ask("POST", path, body)
    assert reply.status == 201, reply
    return reply.json
