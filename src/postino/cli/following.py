"""Watching posts until nothing more happens to them by itself."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from postino.rules.standing import PostStatus

if TYPE_CHECKING:
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
    waits = post["reasons"].get("deferred", PARKED)
    return post["status"] in OVER or post["needs_person"] or not waits.startswith(PARKED)
