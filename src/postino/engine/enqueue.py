"""Writing new jobs down, once each, although the store may go away in the middle of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from postino.engine.batcher import Batcher
from postino.engine.crashpoints import crashpoint
from postino.errors import StoreUnreachable
from postino.post import NewPosts, Once, Written
from postino.store import Enqueued, NewJob, Store

T = TypeVar("T")
SHARED_PATIENCE = 0.1
MOST_TOGETHER = 100  # contents
FEW = 10  # posts of one content: of more, others would have to wait
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
    store: Store, wanted: Sequence[NewPosts], patience: float | None = None
) -> Sequence[Sequence[Written]]:
    """The same for posts, with what they say."""

    async def create(again: bool) -> Sequence[Sequence[Written]]:
        crashpoint("create_posts.before")
        written = await store.create_posts(wanted, again=again, patience=patience)
        crashpoint("create_posts.after")
        return written

    return await surely(create)


class Creator:
    """Many callers, few writes. What is large, a draft's, or perhaps a second click is written by itself."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.together: Batcher[NewPosts, Sequence[Written]] = Batcher(self.create_together, MOST_TOGETHER)

    async def create(self, wanted: NewPosts) -> Sequence[Written]:
        alone = wanted.draft is not None or any(post.guard for post in wanted.posts)
        if alone or len(wanted.posts) > FEW:
            return (await create_posts_surely(self.store, [wanted]))[0]
        return await self.together.put(wanted)

    async def create_together(self, wanted: list[NewPosts]) -> Sequence[Sequence[Written]]:
        """A key held by somebody's open transaction delays its own caller only."""
        return await create_posts_surely(self.store, wanted, None if len(wanted) == 1 else SHARED_PATIENCE)


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
