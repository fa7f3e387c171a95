"""Contents and posts, inserted together with the jobs that carry them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.rules.idempotency import DUPLICATE_WINDOW
from postino.stores.operations.drafts import remove_draft
from postino.stores.operations.enqueue import enqueue
from postino.stores.operations.post_events import PostEvent, write_post_events
from postino.stores.operations.stored_responses import find_responses, reserve_responses, store_responses
from postino.stores.rows import to_job
from postino.stores.statement import Operation, Row, ask, each
from postino.values.event import EventType
from postino.values.job import Job
from postino.values.post import (
    AccountState,
    Duplicate,
    NewContent,
    NewPost,
    NewPosts,
    SavedPost,
    StoredPost,
    describe_missing_post,
)


def get_post(post_id: UUID) -> Operation[StoredPost]:
    """Return a post. Raises NotFound."""
    posts = yield from find_posts([post_id])
    if not posts:
        raise NotFound(describe_missing_post(post_id))
    return posts[0]


def find_posts(ids: Sequence[UUID]) -> Operation[list[StoredPost]]:
    """Return the posts that exist, in the order of the given ids."""
    if not ids:
        return []
    jobs = {row["id"]: row for row in (yield ask("find_jobs", ids=[*ids]))}
    rows = yield ask("find_posts", ids=[*ids])
    texts = {row["content_id"]: row["content"] for row in rows if row["content"] is not None}
    posts = {
        row["id"]: to_stored_post(jobs[row["id"]], row, texts[row["content_id"]]) for row in rows if row["id"] in jobs
    }
    return [posts[post_id] for post_id in ids if post_id in posts]


def to_stored_post(job: Row, row: Row, content: str) -> StoredPost:
    """Return the post in a job's row and a post's row, with the text of its content."""
    return StoredPost(
        job=to_job(job),
        content_id=row["content_id"],
        content=content,
        version=row["version"],
        publish_until_at=row["publish_until_at"],
        account_state=None if row["account_state"] is None else AccountState(row["account_state"]),
    )


def create_posts(requests: Sequence[NewPosts], again: bool = False) -> Operation[list[list[SavedPost]]]:
    """Insert contents, posts, jobs, keys and stored responses.

    Locks are taken in one order: responses, duplicates, keys. Two equal requests never wait for each other in a circle.
    """
    todo = yield from reserve_requests(requests)
    inserted = yield from insert_posts([requests[number] for number in todo], again)
    posts_by_request = dict(zip(todo, inserted, strict=True))
    for number, posts in posts_by_request.items():
        if (draft := requests[number].draft) is not None and not was_created_before(requests[number], posts):
            yield from remove_draft(draft)
    results = [
        (once, posts) for number, posts in posts_by_request.items() if (once := requests[number].once) is not None
    ]
    yield from store_responses(results)
    return [posts_by_request.get(number, []) for number in range(len(requests))]


def was_created_before(request: NewPosts, posts: Sequence[SavedPost]) -> bool:
    """Return whether an earlier attempt of this call, whose response was lost, inserted the posts."""
    return any(
        not written.created and written.post.job.id == job.id for written, job in zip(posts, request.jobs, strict=True)
    )


def reserve_requests(requests: Sequence[NewPosts]) -> Operation[list[int]]:
    """Return the positions of the requests that have no stored response."""
    keyed = {number: posts.once.request for number, posts in enumerate(requests) if posts.once is not None}
    reserved = {id(request) for request in (yield from reserve_responses([*keyed.values()]))}
    others = {number for number, request in keyed.items() if id(request) not in reserved}
    if others:
        yield from find_responses([keyed[number] for number in sorted(others)])
    return [number for number in range(len(requests)) if number not in others]


def insert_posts(requests: Sequence[NewPosts], again: bool) -> Operation[list[list[SavedPost]]]:
    """Insert posts with their jobs; return for each request the posts that have its keys."""
    posts = {post.id: (request.content, post) for request in requests for post in request.posts}
    guarded = [post for _, post in posts.values() if post.guard]
    if guarded:
        yield ask("lock_fingerprints", names=sorted(f"{post.account} {post.fingerprint}" for post in guarded))
    enqueued = yield from enqueue([job for request in requests for job in request.jobs], again)
    created = {result.job.id for result in enqueued if result.created}
    duplicates = yield from find_duplicates([post for post in guarded if post.id in created])
    if duplicates:
        # Raised inside the transaction, so the jobs are rolled back.
        brands = {job.account: job.brand for request in requests for job in request.jobs}
        raise Conflict(describe_duplicates(duplicates, brands))
    new = [posts[post_id] for post_id in posts if post_id in created]
    scheduled = {job.id for request in requests for job in request.jobs if job.run_at is not None}
    states = yield from write_posts(new, scheduled)
    yield from write_post_events(
        PostEvent(EventType.POST_SCHEDULED, result.job, {}) for result in enqueued if result.created
    )
    fresh = {result.job.id: result.job for result in enqueued if result.job.id in states}
    stored = {post_id: make_stored_post(job, *posts[post_id], states[post_id]) for post_id, job in fresh.items()}
    existing = [result.job.id for result in enqueued if result.job.id not in stored]
    stored |= yield from read_existing_posts(existing)
    results = iter(enqueued)
    return [
        [SavedPost(stored[result.job.id], result.created) for result in islice(results, len(request.jobs))]
        for request in requests
    ]


def write_posts(
    new: Sequence[tuple[NewContent, NewPost]], scheduled: Collection[UUID]
) -> Operation[dict[UUID, AccountState | None]]:
    """Insert contents and posts; return the account's state for posts that are stored exactly as requested."""
    yield from write_contents([*{content.id: content for content, _ in new}.values()])
    ignoring_blackouts = [post.id for _, post in new if post.ignore_blackouts]
    if ignoring_blackouts:
        yield ask("ignore_blackouts", ids=ignoring_blackouts)
    values = [
        make_post_values(post, is_scheduled=post.id in scheduled) | {"content_id": content.id} for content, post in new
    ]
    rows = yield each("insert_posts", values)
    states = {row["id"]: row["account_state"] for row in rows if row["id"] not in ignoring_blackouts}
    return {post_id: None if state is None else AccountState(state) for post_id, state in states.items()}


def make_stored_post(job: Job, content: NewContent, post: NewPost, state: AccountState | None) -> StoredPost:
    """Return a post as just inserted, without reading it."""
    return StoredPost(
        job=job,
        content_id=content.id,
        content=content.text,
        version=1,
        publish_until_at=post.publish_until_at,
        account_state=state,
    )


def read_existing_posts(ids: Sequence[UUID]) -> Operation[dict[UUID, StoredPost]]:
    """Return posts by id. Raises NotFound if one is missing."""
    posts = {post.job.id: post for post in (yield from find_posts(ids))}
    for post_id in ids:
        if post_id not in posts:
            raise NotFound(describe_missing_post(post_id))
    return posts


def find_duplicates(posts: Sequence[NewPost]) -> Operation[list[Duplicate]]:
    """Return posts published now with the same content by the same account, which wait or came out minutes ago."""
    fingerprints = [{"account": post.account, "fingerprint": post.fingerprint} for post in posts]
    rows = yield each("find_duplicates", fingerprints, seconds=DUPLICATE_WINDOW.total_seconds())
    return [Duplicate(row["id"], row["account"], row["brand"]) for row in rows]


def describe_duplicates(duplicates: Sequence[Duplicate], brands: Mapping[str | None, str | None]) -> str:
    """Say which posts are the same, and how to publish anyway.

    `brands` are those of the accounts now: a post from before an account changed its brand is not named.
    """
    others = ", ".join(
        f"post {duplicate.id} ({duplicate.account})"
        if duplicate.brand == brands.get(duplicate.account)
        else f"another post ({duplicate.account})"
        for duplicate in duplicates
    )
    minutes = DUPLICATE_WINDOW // timedelta(minutes=1)
    return (
        f"The same content still waits, or was published within the last {minutes} minutes: {others}. Nothing was"
        " queued. To publish it twice, set `allow_duplicate`."
    )


def write_contents(contents: Sequence[NewContent], version: int = 1) -> Operation[None]:
    """Insert contents."""
    names = ("id", "text", "search_text", "brand", "user_id")
    values = [{name: getattr(content, name) for name in names} | {"version": version} for content in contents]
    yield each("insert_contents", values)


def make_post_values(post: NewPost, *, is_scheduled: bool) -> dict[str, Any]:
    """Return the columns of a post. The fingerprint of a scheduled post matches no post that is published now."""
    values = {name: getattr(post, name) for name in ("id", "network", "account", "publish_until_at")}
    return values | {"fingerprint": f"scheduled {post.fingerprint}" if is_scheduled else post.fingerprint}
