"""Write new jobs and posts to the store, each exactly once, even if the store goes away meanwhile."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from postino.engine.batcher import Batcher
from postino.engine.children import find_children
from postino.engine.store_retry import retry_store
from postino.stores.records import EnqueuedJob, NewJob
from postino.stores.store import Store
from postino.values.job import Job
from postino.values.post import NewPosts, ResponseRecorder, SavedPost

SHARED_LOCK_TIMEOUT = 0.1  # seconds that a batch waits for a key which an open transaction holds
MAX_JOBS_PER_BATCH = 500
MAX_CONTENTS_PER_BATCH = 100
MAX_BATCHED_POSTS = 10  # posts of one content: a larger one would make others wait


def make_job_batcher(store: Store) -> Batcher[NewJob, EnqueuedJob]:
    """Return a batcher that enqueues the jobs of several callers in one transaction."""

    async def write(jobs: list[NewJob], again: bool = False) -> Sequence[EnqueuedJob]:
        return await enqueue_with_retry(store, jobs, lock_timeout=choose_lock_timeout(jobs), again=again)

    return Batcher(write, MAX_JOBS_PER_BATCH, partial(write, again=True))


def choose_lock_timeout(batch: Sequence[object]) -> float | None:
    """Return a short lock timeout for shared batches: a key in an open transaction delays only its own caller."""
    return None if len(batch) == 1 else SHARED_LOCK_TIMEOUT


async def enqueue_with_retry(
    store: Store,
    jobs: Sequence[NewJob],
    lock_timeout: float | None = None,
    once: ResponseRecorder | None = None,
    again: bool = False,
) -> Sequence[EnqueuedJob]:
    """Enqueue these jobs; repeat the insert if the store did not answer. The ids stay, so no job is inserted twice.

    A job counts as created if it has the id that this call chose, whichever attempt inserted it.
    """
    results = await retry_store(
        lambda again: store.enqueue(jobs, lock_timeout=lock_timeout, again=again, once=once), again=again
    )
    if all(result.created for result in results):
        return results
    return [replace(result, created=result.job.id == job.id) for result, job in zip(results, jobs, strict=True)]


async def enqueue_jobs(store: Store, jobs: Sequence[NewJob], connection: Any = None) -> list[Job]:
    """Enqueue these jobs, in the open transaction of a connection if given; return existing jobs for known keys.

    Raises Conflict for a child that may be one of an earlier run: see `find_children`.
    """
    if connection is None:
        return await find_children(store, jobs, await enqueue_with_retry(store, jobs))
    return await find_children(None, jobs, await store.enqueue_on(connection, jobs))


async def enqueue_in_batch(store: Store, batcher: Batcher[NewJob, EnqueuedJob], job: NewJob) -> Job:
    """Do what `enqueue_jobs` does for one job, in one transaction with those of other callers."""
    return (await find_children(store, [job], [await batcher.put(job)]))[0]


async def create_posts_with_retry(
    store: Store, contents: Sequence[NewPosts], lock_timeout: float | None = None, again: bool = False
) -> Sequence[Sequence[SavedPost]]:
    """Create contents with their posts; repeat the insert if the store did not answer."""
    results = await retry_store(
        lambda again: store.create_posts(contents, again=again, lock_timeout=lock_timeout), again=again
    )
    return [[*map(mark_created, posts, content.jobs)] for posts, content in zip(results, contents, strict=True)]


def mark_created(written: SavedPost, job: NewJob) -> SavedPost:
    """Mark a post as created if it has the id that this call chose."""
    return SavedPost(written.post, written.post.job.id == job.id)


class PostBatcher:
    """Creates the posts of several requests in one transaction.

    Large contents, drafts and possible duplicates get a transaction of their own.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        rewrite = partial(self.create_batch, again=True)
        self.batcher: Batcher[NewPosts, Sequence[SavedPost]] = Batcher(
            self.create_batch, MAX_CONTENTS_PER_BATCH, rewrite
        )

    async def create(self, content: NewPosts) -> Sequence[SavedPost]:
        """Create a content with its posts and return them in order."""
        alone = content.draft is not None or any(post.guard for post in content.posts)
        if alone or len(content.posts) > MAX_BATCHED_POSTS:
            return (await create_posts_with_retry(self.store, [content]))[0]
        return await self.batcher.put(content)

    async def create_batch(self, contents: list[NewPosts], again: bool = False) -> Sequence[Sequence[SavedPost]]:
        return await create_posts_with_retry(self.store, contents, choose_lock_timeout(contents), again)
