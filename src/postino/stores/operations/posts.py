"""Finding posts: by the index that fits best, and never through more posts than one answer is worth."""

from collections.abc import Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.rules.idempotency import SAME_WITHIN
from postino.stores import rows
from postino.stores.operations.drafts import remove_draft
from postino.stores.operations.enqueue import enqueue
from postino.stores.operations.stored_responses import find_responses, reserve_responses, store_responses
from postino.stores.statement import Operation, Row, ask, each
from postino.values.job import Job
from postino.values.post import (
    AccountState,
    NewContent,
    NewPost,
    NewPosts,
    StoredPost,
    Twin,
    Written,
    no_post,
)


def get_post(post_id: UUID) -> Operation[StoredPost]:
    found = yield from find_posts([post_id])
    if not found:
        raise NotFound(no_post(post_id))
    return found[0]


def find_posts(ids: Sequence[UUID]) -> Operation[list[StoredPost]]:
    """In the order of their ids as they were asked for."""
    if not ids:
        return []
    jobs = {row["id"]: row for row in (yield ask("find_jobs", ids=[*ids]))}
    beside = yield ask("find_posts", ids=[*ids])
    there = {row["id"]: to_stored_post(jobs[row["id"]], row) for row in beside if row["id"] in jobs}
    return [there[post_id] for post_id in ids if post_id in there]


def to_stored_post(job: Row, row: Row) -> StoredPost:
    return StoredPost(
        job=rows.any_job(job),
        content_id=row["content_id"],
        content=row["content"],
        version=row["version"],
        publish_until_at=row["publish_until_at"],
        account_state=None if row["account_state"] is None else AccountState(row["account_state"]),
    )


def create_posts(wanted: Sequence[NewPosts], again: bool = False) -> Operation[list[list[Written]]]:
    """In one order, answers, twins, keys: two who bring the same never wait for each other in a circle."""
    todo = yield from reserve_requests(wanted)
    made = yield from insert_posts([wanted[number] for number in todo], again)
    there = dict(zip(todo, made, strict=True))
    for number, posts in there.items():
        if (draft := wanted[number].draft) is not None and not was_created_before(wanted[number], posts):
            yield from remove_draft(draft)
    told = [(once, posts) for number, posts in there.items() if (once := wanted[number].once) is not None]
    yield from store_responses(told)
    return [there.get(number, []) for number in range(len(wanted))]


def was_created_before(wanted: NewPosts, posts: Sequence[Written]) -> bool:
    """By an earlier try of the same call, whose answer was lost: the draft went with it."""
    return any(not one.created and one.post.job.id == job.id for one, job in zip(posts, wanted.jobs, strict=True))


def reserve_requests(wanted: Sequence[NewPosts]) -> Operation[list[int]]:
    """Where in the list those are that nobody has answered before."""
    asked = {number: one.once.asked for number, one in enumerate(wanted) if one.once is not None}
    taken = {id(one) for one in (yield from reserve_responses([*asked.values()]))}
    others = {number for number, one in asked.items() if id(one) not in taken}
    if others:
        yield from find_responses([asked[number] for number in sorted(others)])
    return [number for number in range(len(wanted)) if number not in others]


def insert_posts(wanted: Sequence[NewPosts], again: bool) -> Operation[list[list[Written]]]:
    posts = {post.id: (one.content, post) for one in wanted for post in one.posts}
    guarded = [post for _, post in posts.values() if post.guard]
    if guarded:
        yield ask("lock_fingerprints", names=sorted(f"{post.account} {post.fingerprint}" for post in guarded))
    enqueued = yield from enqueue([job for one in wanted for job in one.jobs], again)
    created = {found.job.id for found in enqueued if found.created}
    twins = yield from find_duplicates([post for post in guarded if post.id in created])
    if twins:
        # Raised after the jobs were written, so all of it is undone.
        raise Conflict(describe_duplicates(twins))
    new = [posts[post_id] for post_id in posts if post_id in created]
    states = yield from write_posts(new)
    fresh = {found.job.id: found.job for found in enqueued if found.job.id in states}
    there = {post_id: make_stored_post(job, *posts[post_id], states[post_id]) for post_id, job in fresh.items()}
    there |= yield from read_existing_posts([found.job.id for found in enqueued if found.job.id not in there])
    found_all = iter(enqueued)
    return [[Written(there[one.job.id], one.created) for one in islice(found_all, len(those.jobs))] for those in wanted]


def write_posts(new: Sequence[tuple[NewContent, NewPost]]) -> Operation[dict[UUID, AccountState | None]]:
    """With their contents; and how the accounts stand of those that are now as they were wanted."""
    yield from write_contents([*{content.id: content for content, _ in new}.values()])
    pressing = [post.id for _, post in new if post.regardless]
    if pressing:
        yield ask("ignore_blackouts", ids=pressing)
    found = yield each("insert_posts", [make_post_values(post) | {"content_id": content.id} for content, post in new])
    states = {row["id"]: row["account_state"] for row in found if row["id"] not in pressing}
    return {post_id: None if state is None else AccountState(state) for post_id, state in states.items()}


def make_stored_post(job: Job, content: NewContent, post: NewPost, state: AccountState | None) -> StoredPost:
    """The post as it was just written, without reading it back."""
    return StoredPost(
        job=job,
        content_id=content.id,
        content=content.text,
        version=1,
        publish_until_at=post.publish_until_at,
        account_state=state,
    )


def read_existing_posts(ids: Sequence[UUID]) -> Operation[dict[UUID, StoredPost]]:
    there = {post.job.id: post for post in (yield from find_posts(ids))}
    for post_id in ids:
        if post_id not in there:
            raise NotFound(no_post(post_id))
    return there


def find_duplicates(posts: Sequence[NewPost]) -> Operation[list[Twin]]:
    wanted = [{"account": post.account, "fingerprint": post.fingerprint} for post in posts]
    found = yield each("find_duplicates", wanted, seconds=SAME_WITHIN.total_seconds())
    return [Twin(row["id"], row["account"]) for row in found]


def describe_duplicates(twins: Sequence[Twin]) -> str:
    others = ", ".join(f"post {twin.id} ({twin.account})" for twin in twins)
    return (
        f"The same was published now by the same account within the last ten minutes: {others}. Nothing was queued."
        " If it is meant to appear twice, say so with `allow_duplicate`."
    )


def write_contents(contents: Sequence[NewContent], version: int = 1) -> Operation[None]:
    names = ("id", "text", "words", "brand", "user_id")
    said = [{name: getattr(content, name) for name in names} | {"version": version} for content in contents]
    yield each("insert_contents", said)


def make_post_values(post: NewPost) -> dict[str, Any]:
    return {name: getattr(post, name) for name in ("id", "network", "account", "fingerprint", "publish_until_at")}
