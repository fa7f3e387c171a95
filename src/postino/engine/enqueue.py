"""Writing new jobs down, once each, although the store may go away in the middle of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

from postino.engine.crashpoints import crashpoint
from postino.errors import StoreUnreachable
from postino.post import NewContent, NewPost, Once
from postino.store import Enqueued, NewJob, Store

T = TypeVar("T")
SHARED_PATIENCE = 0.1
KEEP_TRYING = 5.0
AGAIN_AFTER = 0.25


async def enqueue_together(store: Store, jobs: list[NewJob]) -> Sequence[Enqueued]:
    """Jobs of several callers in one batch: a key held by somebody's open transaction delays its own caller only."""
    return await enqueue_surely(store, jobs, patience=None if len(jobs) == 1 else SHARED_PATIENCE)


async def enqueue_surely(
    store: Store, jobs: Sequence[NewJob], patience: float | None = None, once: Once | None = None
) -> Sequence[Enqueued]:
    """Asks again where no answer came: the ids stay, so that what got through the first time is not there twice."""

    async def enqueue(again: bool) -> Sequence[Enqueued]:
        crashpoint("enqueue.before")
        enqueued = await store.enqueue(jobs, patience=patience, again=again, once=once)
        crashpoint("enqueue.after")
        return enqueued

    return await surely(enqueue)


async def create_posts_surely(
    store: Store,
    content: NewContent,
    posts: Sequence[NewPost],
    jobs: Sequence[NewJob],
    once: Once | None = None,
    draft: UUID | None = None,
) -> Sequence[Enqueued]:
    """The same for posts, with what they say."""

    async def create(again: bool) -> Sequence[Enqueued]:
        crashpoint("create_posts.before")
        enqueued: Sequence[Enqueued] = await store.create_posts(
            content, posts, jobs, again=again, once=once, draft=draft
        )
        crashpoint("create_posts.after")
        return enqueued

    return await surely(create)


async def surely(act: Callable[[bool], Awaitable[T]], keep_trying: float = KEEP_TRYING) -> T:
    """Does it, again for some seconds while the store is away; tells what it does whether it is not the first time."""
    started, again = time.monotonic(), False
    while True:
        try:
            return await act(again)
        except StoreUnreachable:
            if time.monotonic() - started > keep_trying:
                raise
            again = True
            await asyncio.sleep(AGAIN_AFTER)
