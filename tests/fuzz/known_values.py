"""Ids and names that exist in the target, by parameter name, and by operation where only some fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fuzz.seed_data import LATER, SeedData, Stock


def list_known_values(world: SeedData, stock: Stock) -> Mapping[str, list[Any]]:
    accounts = [*stock.accounts.values()]
    return {
        "account_id": [*accounts, "mastodon:nobody", "no/body"],
        "account": accounts,
        "accounts": [accounts[:1], accounts[:3], accounts],
        "post_id": stock.post_ids(),
        "content_id": stock.contents,
        "draft_id": stock.drafts,
        "import_id": stock.imports,
        "token": stock.tokens,
        "job_id": stock.job_ids(),
        "ids": [stock.job_ids()[:3], stock.job_ids()[-3:]],
        "key_id": world.keys,
        "user_id": world.users,
        "blackout_id": world.blackouts,
        "fault_id": world.faults,
        "service": ["bluesky", "mastodon", "telegram", "youtube"],
        "network": ["bluesky", "mastodon", "telegram"],
        "channel": ["bluesky", "mastodon"],
        "brand": [stock.brand],
        "brands": [[stock.brand]],
        "at": [LATER, "2031-10-26T02:30"],
        "run_at": [LATER],
        "until": ["2031-05-07T00:00:00Z"],
        "timezone": ["Europe/Rome", "UTC"],
        "from": ["2031-01-01T00:00:00Z", "2031-05-01"],
        "to": ["2031-05-31T00:00:00Z", "2031-05-31"],
        "publish_until": ["2031-06-01T00:00:00Z"],
    }


def list_known_by_operation(stock: Stock) -> Mapping[str, Mapping[str, list[Any]]]:
    """Return the ids that an operation accepts in their current state."""
    jobs, posts = stock.jobs, stock.posts
    failed = jobs["exhausted"] + jobs["permanent"] + jobs["missed"]
    letters = failed + jobs["poison"] + jobs["worker_killer"]
    return {
        "POST /v1/posts/{post_id}/replay": {"post_id": posts["exhausted"] + posts["permanent"] + posts["missed"]},
        "POST /v1/posts/{post_id}/resolve": {"post_id": posts["uncertain"]},
        "POST /v1/posts/{post_id}/cancel": {"post_id": posts["cancelled"] + posts["tries again"]},
        "POST /v1/posts/{post_id}/publish-now": {"post_id": posts["scheduled"]},
        "PATCH /v1/posts/{post_id}": {"post_id": posts["scheduled"]},
        "POST /v1/jobs/{job_id}/replay": {"job_id": failed},
        "POST /fp-publisher/v1/jobs/{job_id}/replay": {"job_id": failed},
        "POST /v1/jobs/{job_id}/resolve": {"job_id": jobs["uncertain"]},
        "POST /v1/jobs/{job_id}/cancel": {"job_id": jobs["pending"] + jobs["tries again"]},
        "GET /v1/dead-letters/{job_id}": {"job_id": letters},
        "POST /v1/dead-letters/{job_id}/replay": {"job_id": letters},
        "POST /v1/dead-letters/{job_id}/discard": {"job_id": letters},
        "GET /v1/uncertain/{job_id}": {"job_id": posts["lost"] + jobs["uncertain"]},
        "POST /v1/uncertain/{job_id}/lookup": {"job_id": posts["lost"] + posts["uncertain"]},
    }
