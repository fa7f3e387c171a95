"""How posts stand, told to whoever asks: read and derived each time, never stored."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from postino.errors import NotFound
from postino.post import PostFilter, StoredPost
from postino.publishing import shapes
from postino.publishing.posts import Written
from postino.rules.gates import closed
from postino.rules.standing import STATUS, PostStatus, Standing, content_status
from postino.store import Store

MOST_POSTS = 1000  # of one content


class Teller:
    def __init__(self, store: Store, most_attempts: Callable[[str], int | None]) -> None:
        self.store = store
        self.most_attempts = most_attempts  # of a network's posts

    async def standings(self, posts: Sequence[StoredPost]) -> list[Standing]:
        known, now = await self.store.known_gates()
        gates = closed(replace(known, gates=tuple(await self.store.gates())), now).gates
        return [shapes.standing_of(post, gates, self.most_attempts(post.job.channel), now) for post in posts]

    async def posts(self, posts: Sequence[StoredPost]) -> list[dict[str, Any]]:
        return [*map(shapes.of_post, posts, await self.standings(posts))]

    async def post(self, post: StoredPost) -> dict[str, Any]:
        return (await self.posts([post]))[0]

    async def details(self, post: StoredPost) -> dict[str, Any]:
        """With every try, step, intent and receipt."""
        history, ledger = await self.store.attempts(post.job.id), await self.store.ledger(post.job.id)
        return await self.post(post) | shapes.of_history(history, ledger)

    async def content(self, content_id: UUID) -> dict[str, Any]:
        found = await self.store.posts(PostFilter(content_id=content_id, limit=MOST_POSTS))
        if not found:
            raise NotFound(f"There is no content {content_id} that a post has.")
        standings = await self.standings(found)
        told: dict[str, Any] = shapes.of_content(
            content_id, found[0].content, [*map(shapes.of_post, found, standings)], standings
        )
        return told


def together(posts: Sequence[dict[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    """What was made of one wish. For a single account it is also the post itself: a simple client need not look into
    `posts`.
    """
    whole = {
        "content_id": posts[0]["content_id"],
        "status": content_status(PostStatus(post["status"]) for post in posts).value,
    }
    return (whole if len(posts) > 1 else posts[0]) | {"posts": [*posts], "notes": [*notes]}


def known_already(written: Sequence[Written]) -> list[str]:
    """What to say of posts whose key was known, where they are no longer as they were asked for."""
    notes = []
    for one in written:
        job = one.post.job
        if one.created:
            continue
        match STATUS[job.state]:
            case PostStatus.CANCELLED:
                said = "was cancelled, and that is final. To publish it all the same, say so with allow_duplicate."
            case PostStatus.FAILED:
                said = f"failed: {job.last_error} Replay it to publish it all the same."
            case _ if one.post.version > 1:
                said = "was edited since. It goes out as it was edited."
            case status:
                when = "" if job.run_at is None else f" for {job.scheduled_at:%Y-%m-%d %H:%M} UTC"
                said = f"is {status}{when}. This call changed nothing."
        notes.append(f"Post {job.id} ({job.account}) is the same, and {said}")
    return notes
