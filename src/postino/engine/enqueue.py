"""Writing new jobs down, once each, although the store may go away in the middle of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from postino.engine.batcher import Batcher
from postino.errors import StoreUnreachable
from postino.stores.records import EnqueuedJob, NewJob
from postino.stores.store import Store
from postino.values.post import NewPosts, Once, Written

T = TypeVar("T")
SHARED_PATIENCE = 0.1
MOST_JOBS = 500
MOST_TOGETHER = 100  # contents
FEW = 10  # posts of one content: of more, others would have to wait
KEEP_TRYING = 5.0
AGAIN_AFTER = 0.25


def enqueuer(store: Store) -> Batcher[NewJob, EnqueuedJob]:
    """Jobs of several callers in one batch: a key held by somebody's open transaction delays its own caller only."""

    async def write(jobs: list[NewJob], again: bool = False) -> Sequence[EnqueuedJob]:
        return await enqueue_with_retry(store, jobs, patience=shared_patience(jobs), again=again)

    return Batcher(write, MOST_JOBS, partial(write, again=True))


def shared_patience(together: Sequence[object]) -> float | None:
    return None if len(together) == 1 else SHARED_PATIENCE


async def enqueue_with_retry(
    store: Store,
    jobs: Sequence[NewJob],
    patience: float | None = None,
    once: Once | None = None,
    again: bool = False,
) -> Sequence[EnqueuedJob]:
    """Asks again where no answer came: the ids stay, so that what got through the first time is not there twice.

    What is there by the id that was offered for it, this call has created: at the first try or at another.
    """

    async def enqueue(again: bool) -> Sequence[EnqueuedJob]:
        return await store.enqueue(jobs, patience=patience, again=again, once=once)

    found = await retry_store(enqueue, again=again)
    if all(one.created for one in found):
        return found
    return [replace(one, created=one.job.id == job.id) for one, job in zip(found, jobs, strict=True)]


async def create_posts_with_retry(
    store: Store, wanted: Sequence[NewPosts], patience: float | None = None, again: bool = False
) -> Sequence[Sequence[Written]]:
    """The same for posts, with what they say."""

    async def create(again: bool) -> Sequence[Sequence[Written]]:
        return await store.create_posts(wanted, again=again, patience=patience)

    found = await retry_store(create, again=again)
    return [[*map(as_created, those, one.jobs)] for those, one in zip(found, wanted, strict=True)]


def as_created(written: Written, job: NewJob) -> Written:
    return Written(written.post, written.post.job.id == job.id)


class PostBatcher:
    """Many callers, few writes. What is large, a draft's, or perhaps a second click is written by itself."""

    def __init__(self, store: Store) -> None:
        self.store = store
        rewrite = partial(self.create_together, again=True)
        self.together: Batcher[NewPosts, Sequence[Written]] = Batcher(self.create_together, MOST_TOGETHER, rewrite)

    async def create(self, wanted: NewPosts) -> Sequence[Written]:
        alone = wanted.draft is not None or any(post.guard for post in wanted.posts)
        if alone or len(wanted.posts) > FEW:
            return (await create_posts_with_retry(self.store, [wanted]))[0]
        return await self.together.put(wanted)

    async def create_together(self, wanted: list[NewPosts], again: bool = False) -> Sequence[Sequence[Written]]:
        """A key held by somebody's open transaction delays its own caller only."""
        return await create_posts_with_retry(self.store, wanted, shared_patience(wanted), again)


async def retry_store(
    act: Callable[[bool], Awaitable[T]], keep_trying: float | None = None, *, again: bool = False
) -> T:
    """Does it, again for some seconds while the store is away; tells what it does whether it is not the first time."""
    started, patience = time.monotonic(), KEEP_TRYING if keep_trying is None else keep_trying
    while True:
        try:
            return await act(again)
        except StoreUnreachable:
            if time.monotonic() - started > patience:
                raise
            again = True
            await asyncio.sleep(AGAIN_AFTER)
