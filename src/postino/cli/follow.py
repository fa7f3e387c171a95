"""Follow posts until they end or wait for something that takes longer."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postino.cli import output
from postino.rules.post_status import PostStatus

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi, Target

POLL_INTERVAL = 0.1  # seconds
TIMEOUT = 120.0  # seconds: longer than the wait for a lost response and its lookup
PARKED = "waiting until"  # the network processes an upload; the job continues by itself
FINAL = (PostStatus.PUBLISHED, PostStatus.FAILED, PostStatus.CANCELLED)
JsonDict = Mapping[str, Any]


def refresh(postino: "QueueApi", posts: Sequence[JsonDict]) -> list[JsonDict]:
    """Return the posts in their current state."""
    current = {it["id"]: it for it in postino.posts.content(posts[0]["content_id"])["posts"]}
    return [current[it["id"]] for it in posts]


def follow(postino: "QueueApi", posts: Sequence[JsonDict], on_change: Callable[[JsonDict], None]) -> list[JsonDict]:
    """Call `on_change` for each change and return the posts when they have ended, or after the timeout."""
    seen_states: dict[str, object] = {}
    end = time.monotonic() + TIMEOUT
    while True:
        posts = refresh(postino, posts)
        for post in posts:
            if seen_states.get(post["id"]) != make_progress_key(post):
                seen_states[post["id"]] = make_progress_key(post)
                on_change(post)
        if all(is_settled(post) for post in posts) or time.monotonic() > end:
            return [*posts]
        time.sleep(POLL_INTERVAL)


def make_progress_key(post: JsonDict) -> object:
    return post["status"], post["attempts"], post["flags"], post["last_error"]


def is_settled(post: JsonDict) -> bool:
    """Return True if the post ended, or waits for a person or a closed gate."""
    return post["status"] in FINAL or post["needs_person"] or find_deferral(post) is not None


def find_deferral(post: JsonDict) -> str | None:
    """Return the reason of a deferral by a closed gate, or None."""
    reason: str = post["reasons"].get("deferred", PARKED)
    return None if reason.startswith(PARKED) else reason


def describe_deferral(post: JsonDict, target: "Target") -> str | None:
    reason = find_deferral(post)
    if reason is None:
        return None
    more = target.format_command(f"posts explain {post['id']}")
    return f"Post {post['id']} is deferred: {output.end_sentence(reason)} Run `{more}` for details."
