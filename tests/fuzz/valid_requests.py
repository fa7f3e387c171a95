"""A valid request for every operation, which Schemathesis uses as an example and mutates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fuzz.seed_data import CSV, LATER, OURS, PASSWORD, SeedData, Stock

ValidRequest = dict[str, Any]  # `path`, `query`, `body`
WHY = {"reason": "A test."}
TIMES = {"from": "2031-05-01", "to": "2031-05-31", "timezone": "Europe/Rome"}


def list_valid_requests(world: SeedData, stock: Stock) -> Mapping[str, list[ValidRequest]]:
    """Return valid requests by operation; other operations need no body."""
    return {
        **list_post_requests(stock),
        **list_draft_requests(stock),
        **list_job_requests(stock),
        **list_dead_letter_requests(stock),
        **list_account_requests(stock),
        **list_operations_requests(world, stock),
        **list_user_requests(world),
    }


def list_post_requests(stock: Stock) -> Mapping[str, list[ValidRequest]]:
    posts, who = stock.posts, stock.accounts["bluesky"]
    content = {"text": "ValidRequest", "accounts": [who, stock.accounts["mastodon"]]}
    one = "/v1/posts/{post_id}"

    def make_requests(*kinds: str, **body: Any) -> list[ValidRequest]:
        return [{"path": {"post_id": posts[kind][0]}, **({"body": body} if body else {})} for kind in kinds]

    return {
        "POST /v1/posts": [
            {"body": content | {"at": LATER}},
            {"body": content | {"at": LATER}},
            {"body": content | {"text": "ValidRequest, now", "allow_blackout": True}},
            {"body": content | {"preview": True}},
        ],
        "POST /v1/posts/validate": [{"body": content}, {"body": content | {"media": [{"url": "http://127.0.0.1/x"}]}}],
        "GET /v1/posts": [{"query": {"status": "uncertain,failed"}}, {"query": {"from": LATER, "flags": "at_risk"}}],
        f"GET {one}": make_requests(*posts),
        f"PATCH {one}": make_requests("scheduled", text="Said otherwise")
        + make_requests("scheduled", at="2031-05-07T00:00:00Z"),
        f"GET {one}/explain": make_requests(*posts),
        f"POST {one}/cancel": [*make_requests("cancelled"), {"path": {"post_id": posts["cancelled"][5]}, "body": WHY}],
        f"POST {one}/publish-now": make_requests("scheduled", allow_blackout=True),
        f"POST {one}/replay": make_requests("exhausted", "permanent", "missed", force=True),
        f"POST {one}/resolve": [
            {"path": {"post_id": posts["uncertain"][0]}, "body": {"verdict": "live", "remote_id": "1", **WHY}},
            {"path": {"post_id": posts["uncertain"][1]}, "body": {"verdict": "send_again", **WHY}},
            {"path": {"post_id": posts["uncertain"][2]}, "body": {"verdict": "give_up", **WHY}},
        ],
        "GET /v1/contents/{content_id}": [{"path": {"content_id": one}} for one in stock.contents[:4]],
        "GET /v1/calendar": [{"query": TIMES}],
    }


def list_draft_requests(stock: Stock) -> Mapping[str, list[ValidRequest]]:
    one = "/v1/drafts/{draft_id}"
    first, second, third, *_ = [{"path": {"draft_id": draft}} for draft in stock.drafts]
    media = [{"url": "https://example.org/a.jpg", "kind": "image"}]
    return {
        "POST /v1/drafts": [{"body": {"text": "A thought", "brand": stock.brand, "media": media}}],
        f"GET {one}": [first],
        f"PATCH {one}": [first | {"body": {"text": "Thought otherwise", "at": None}}],
        f"POST {one}/schedule": [second | {"body": {"at": LATER}}],
        f"DELETE {one}": [third],
        "POST /v1/imports": [
            {"body": CSV.format(stock.accounts["bluesky"])},
            {"body": "", "query": {"commit": "true", "token": stock.tokens[0]}},
            {"body": CSV.format("nobody")},
        ],
        "GET /v1/imports/{import_id}": [{"path": {"import_id": one}} for one in stock.imports],
    }


def list_job_requests(stock: Stock) -> Mapping[str, list[ValidRequest]]:
    jobs, one = stock.jobs, "/v1/jobs/{job_id}"
    new = {"type": "report", "payload": {"number": 1}, "run_at": LATER, "brand": stock.brand}
    thought = {"channel": "bluesky", "account": stock.accounts["bluesky"], "run_at": LATER}

    def make_requests(*kinds: str, **body: Any) -> list[ValidRequest]:
        return [{"path": {"job_id": jobs[kind][0]}, **({"body": body} if body else {})} for kind in kinds]

    many: list[ValidRequest] = [
        {"body": {"action": "replay", "ids": jobs["exhausted"][1:3] + jobs["works"][:1], **WHY}},
        {"body": {"action": "cancel", "filter": {"state": ["pending"], "brand": stock.brand, "limit": 2}, **WHY}},
        {"body": {"action": "resolve", "ids": jobs["uncertain"][1:2], "verdict": "give_up", **WHY}},
    ]
    return {
        "POST /v1/jobs": [{"body": new}, {"body": new | {"preview": True}}, {"body": new | {"idempotency_key": "k"}}],
        "POST /fp-publisher/v1/jobs": [{"body": new}],
        "GET /v1/jobs": [{"query": {"state": "running"}}, {"query": {"state": "failed,completed", "limit": "2"}}],
        f"GET {one}": make_requests(*jobs),
        f"GET {one}/explain": make_requests(*jobs),
        "POST /v1/jobs/test": [{"body": thought}],
        "POST /fp-publisher/v1/jobs/test": [{"body": thought}],
        "POST /v1/jobs/bulk": many,
        f"POST {one}/cancel": [{"path": {"job_id": jobs["pending"][0]}, "body": WHY}],
        f"POST {one}/replay": [{"path": {"job_id": jobs["exhausted"][3]}, "body": {"force": True, **WHY}}],
        "POST /fp-publisher/v1/jobs/{job_id}/replay": [{"path": {"job_id": jobs["exhausted"][4]}}],
        f"POST {one}/resolve": make_requests("uncertain", verdict="send_again", **WHY),
    }


def list_dead_letter_requests(stock: Stock) -> Mapping[str, list[ValidRequest]]:
    jobs, dead, doubt = stock.jobs, "/v1/dead-letters", "/v1/uncertain/{job_id}"
    lost = [{"path": {"job_id": post}} for post in stock.posts["lost"]]

    def make_requests(kind: str, number: int, **body: Any) -> list[ValidRequest]:
        return [{"path": {"job_id": jobs[kind][number]}, "body": body | WHY}]

    return {
        f"GET {dead}": [{"query": {"cause": "poison"}}, {"query": {"resolved": "true", "limit": "3"}}],
        f"GET {dead}/{{job_id}}": [{"path": {"job_id": jobs[it][-1]}} for it in ("exhausted", "poison", "missed")],
        f"POST {dead}/replay": [
            {"body": {"ids": [jobs["missed"][0], jobs["works"][0]], "per_second": 2.5, **WHY}},
            {"body": {"filter": {"cause": "exhausted", "brand": stock.brand, "limit": 1}, **WHY}},
        ],
        f"POST {dead}/discard": [{"body": {"ids": [jobs["permanent"][0], jobs["works"][0]], **WHY}}],
        f"POST {dead}/{{job_id}}/replay": make_requests("poison", 0, payload={"mended": True})
        + make_requests("worker_killer", 0, force=True),
        f"POST {dead}/{{job_id}}/discard": make_requests("worker_killer", 1),
        "GET /v1/uncertain": [{}, {"query": {"channel": "bluesky"}}],
        f"GET {doubt}": lost,
        f"POST {doubt}/lookup": lost,
    }


def list_account_requests(stock: Stock) -> Mapping[str, list[ValidRequest]]:
    one = "/v1/accounts/{account_id}"
    credentials = {"credentials": {"access_token": "hush"}}
    new = {"network": "mastodon", "handle": "new", "base_url": "sandbox:/mastodon", "brand": stock.brand}

    def make_requests(name: str, **body: Any) -> list[ValidRequest]:
        return [{"path": {"account_id": stock.accounts[name]}, **({"body": body} if body else {})}]

    return {
        "POST /v1/accounts": [{"body": new | credentials}],
        f"GET {one}": make_requests("expired") + make_requests("paused"),
        f"POST {one}/check": make_requests("bluesky"),
        f"POST {one}/reconnect": make_requests("expired", **credentials),
        f"POST {one}/pause": make_requests("spare", **WHY),
        f"POST {one}/resume": make_requests("paused"),
    }


def list_operations_requests(world: SeedData, stock: Stock) -> Mapping[str, list[ValidRequest]]:
    circuit = "/v1/circuits/{service}"
    window = {"scope": "channel", "channel": "bluesky", "start": "01:00", "end": "01:01", "timezone": "UTC"}
    paused = {"path": {"scope": "queue"}, "body": {"name": "low"}}
    return {
        "POST /v1/blackouts": [{"body": window}, {"body": window, "query": {"preview": "true"}}, {"body": window}],
        "DELETE /v1/blackouts/{blackout_id}": [{"path": {"blackout_id": world.blackouts[0]}}],
        f"POST {circuit}/open": [{"path": {"service": "x"}, "body": {"seconds": 5.0, **WHY}}],
        f"POST {circuit}/close": [{"path": {"service": "youtube"}, "body": WHY}],
        f"POST {circuit}/reset": [{"path": {"service": "tiktok"}, "body": WHY}],
        "POST /v1/gates/{scope}/pause": [paused],
        "POST /v1/gates/{scope}/resume": [paused],
        "POST /v1/gates/{scope}/end-cooldown": [{"path": {"scope": "channel"}, "body": {"name": "pinterest"}}],
        "POST /v1/channels/{channel}/cap": [{"path": {"channel": "bluesky"}, "body": {"cap": 3}}],
        "POST /v1/forecast": [{"body": {"until": soon(), "workers": 2}}],
        "GET /v1/quotas": [{"query": {"account": stock.accounts["bluesky"]}}],
        "GET /v1/stats": [{"query": {"window": "3600"}}],
        "GET /v1/audit": [{"query": {"verify": "true", "limit": "3"}}],
        "POST /v1/sandbox/faults": [{"body": {"network": "youtube", "fault": "drop", "times": 1}}],
        "DELETE /v1/sandbox/faults": [],  # would take away what others are about to ask for, as would the next
        "POST /v1/sandbox/reset": [],
        "DELETE /v1/sandbox/faults/{fault_id}": [{"path": {"fault_id": world.faults[0]}}],
    }


def soon() -> str:
    return (datetime.now(UTC) + timedelta(days=30)).isoformat()


def list_user_requests(world: SeedData) -> Mapping[str, list[ValidRequest]]:
    one = "/v1/users/{user_id}"
    first, second, *_ = [{"path": {"user_id": user}} for user in world.users]
    return {
        "POST /v1/login": [{"body": {"name": "user-3", "password": PASSWORD}}],
        "POST /v1/login/password": [
            {"body": {"name": "user-2", "password": PASSWORD, "new_password": "another long secret"}}
        ],
        "POST /v1/api-keys": [{"body": {"name": "another's", "role": "viewer", "brands": [OURS]}}],
        "DELETE /v1/api-keys/{key_id}": [{"path": {"key_id": world.keys[0]}}],
        "POST /v1/users": [{"body": {"name": "another", "role": "viewer", "password": PASSWORD}}],
        f"GET {one}": [first],
        f"PATCH {one}": [first | {"body": {"role": "viewer", "brands": [OURS]}}],
        f"POST {one}/link": [first],
        f"DELETE {one}": [second],
    }
