"""Watching posts until nothing more happens to them by itself, and telling what keeps one."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postino.cli import output
from postino.rules.post_status import PostStatus

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi, Target

LOOK_EVERY = 0.1
PATIENCE = 120.0  # seconds: longer than a lost answer is waited for, and a look takes
PARKED = "waiting until"  # something that a network prepares; it goes on by itself
OVER = (PostStatus.PUBLISHED, PostStatus.FAILED, PostStatus.CANCELLED)
JsonDict = Mapping[str, Any]


def now(postino: "QueueApi", posts: Sequence[JsonDict]) -> list[JsonDict]:
    """The same posts, as they are now."""
    found = {it["id"]: it for it in postino.posts.content(posts[0]["content_id"])["posts"]}
    return [found[it["id"]] for it in posts]


def follow(postino: "QueueApi", posts: Sequence[JsonDict], changed: Callable[[JsonDict], None]) -> list[JsonDict]:
    """As they are in the end, or when patience ends; each change is told."""
    shown: dict[str, object] = {}
    end = time.monotonic() + PATIENCE
    while True:
        posts = now(postino, posts)
        for post in posts:
            if shown.get(post["id"]) != visible(post):
                shown[post["id"]] = visible(post)
                changed(post)
        if all(is_over(post) for post in posts) or time.monotonic() > end:
            return [*posts]
        time.sleep(LOOK_EVERY)


def visible(post: JsonDict) -> object:
    return post["status"], post["attempts"], post["flags"], post["last_error"]


def is_over(post: JsonDict) -> bool:
    """For a person's word, or for a closed gate, nobody waits at a terminal."""
    return post["status"] in OVER or post["needs_person"] or find_deferral(post) is not None


def find_deferral(post: JsonDict) -> str | None:
    """The closed gate that it waits for, in words."""
    waits: str = post["reasons"].get("deferred", PARKED)
    return None if waits.startswith(PARKED) else waits


def describe_deferral(post: JsonDict, target: "Target") -> str | None:
    why = find_deferral(post)
    if why is None:
        return None
    more = target.format_command(f"posts explain {post['id']}")
    return f"Post {post['id']} is kept, and goes out once this is over: {output.end_sentence(why)} `{more}` tells more."
