"""Sample posts and accounts, with defaults for everything a test does not set."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from postino.stores.records import EnqueuedJob, NewJob
from postino.stores.store import Store
from postino.values.job import new_id
from postino.values.post import POST, NewContent, NewPost, NewPosts, StoredAccount
from tests.contract.harness import StoreHarness, new

PostSpec = tuple[NewPost, NewJob]


def make_spec(
    account: str = "anna",
    *,
    fingerprint: str = "hello",
    guard: bool = False,
    until: datetime | None = None,
    ignore_blackouts: bool = False,
    **fields: Any,
) -> PostSpec:
    """Return a post of a Mastodon account and its job."""
    usual = {"type": POST, "channel": "mastodon", "brand": None}
    job = new(account=account, **{**usual, **fields})
    post = NewPost(
        id=job.id,
        account=account,
        network=job.channel,
        fingerprint=fingerprint,
        publish_until_at=until,
        guard=guard,
        ignore_blackouts=ignore_blackouts,
    )
    return post, job


def content(text: str = "hello", **fields: Any) -> NewContent:
    return NewContent(id=new_id(), text=text, **fields)


async def create(
    store: Store, *posts: PostSpec, new_content: NewContent | None = None, again: bool = False
) -> Sequence[EnqueuedJob]:
    wanted = new_posts(*posts, new_content=new_content)
    return [EnqueuedJob(one.post.job, one.created) for one in (await store.create_posts([wanted], again=again))[0]]


def new_posts(*posts: PostSpec, new_content: NewContent | None = None, **how: Any) -> NewPosts:
    return NewPosts(
        content=new_content or content(), posts=[post for post, _ in posts], jobs=[job for _, job in posts], **how
    )


def account(name: str = "anna", **fields: Any) -> StoredAccount:
    usual = {"network": "mastodon", "handle": f"@{name}", "base_url": "https://there", "sealed": b"\x00\xff"}
    return StoredAccount(id=name, **{**usual, **fields})


def rows(harness: StoreHarness) -> tuple[int, ...]:
    """Count the contents, posts, jobs and keys."""
    tables = ("contents", "posts", "jobs", "idempotency_keys")
    return tuple(harness.database.sql(f"SELECT count(*) FROM {{{table}}}")[0][0] for table in tables)
