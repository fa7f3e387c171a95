"""Watching posts until nothing more happens to them by itself, and telling what keeps one."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from postino.cli import output
from postino.rules.standing import PostStatus

if TYPE_CHECKING:
    from postino.cli.session import Where
    from postino.wiring import Postino

LOOK_EVERY = 0.1
PATIENCE = 120.0  # seconds: longer than a lost answer is waited for, and a look takes
PARKED = "waiting until"  # something that a network prepares; it goes on by itself
OVER = (PostStatus.PUBLISHED, PostStatus.FAILED, PostStatus.CANCELLED)


async def follow(
    app: "Postino", ids: Sequence[UUID], changed: Callable[[dict[str, Any]], None]
) -> list[dict[str, Any]]:
    """As they are in the end, or when patience ends; each change is told."""
    shown: dict[str, object] = {}
    end = time.monotonic() + PATIENCE
    while True:
        posts = await app.teller.posts([await app.posts.get(post_id) for post_id in ids])
        for post in posts:
            if shown.get(post["id"]) != visible(post):
                shown[post["id"]] = visible(post)
                changed(post)
        if all(is_over(post) for post in posts) or time.monotonic() > end:
            return posts
        await asyncio.sleep(LOOK_EVERY)


def visible(post: dict[str, Any]) -> object:
    return post["status"], post["attempts"], post["flags"], post["last_error"]


def is_over(post: dict[str, Any]) -> bool:
    """For a person's word, or for a closed gate, nobody waits at a terminal."""
    return post["status"] in OVER or post["needs_person"] or kept_by(post) is not None


def kept_by(post: dict[str, Any]) -> str | None:
    """The closed gate that it waits for, in words."""
    waits: str = post["reasons"].get("deferred", PARKED)
    return None if waits.startswith(PARKED) else waits


def told_of_kept(post: dict[str, Any], where: "Where") -> str | None:
    why = kept_by(post)
    if why is None:
        return None
    more = where.command(f"posts explain {post['id']}")
    return f"Post {post['id']} is kept, and goes out once this is over: {output.ended(why)} `{more}` tells more."
