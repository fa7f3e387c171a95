"""Writing new jobs down, once each, although the store may go away in the middle of it."""

import asyncio
import time
from collections.abc import Sequence

from postino.engine.crashpoints import crashpoint
from postino.errors import StoreUnreachable
from postino.store import Enqueued, NewJob, Store

SHARED_PATIENCE = 0.1
KEEP_TRYING = 5.0
AGAIN_AFTER = 0.25


async def enqueue_together(store: Store, jobs: list[NewJob]) -> Sequence[Enqueued]:
    """Jobs of several callers in one batch: a key held by somebody's open transaction delays its own caller only."""
    return await enqueue_surely(store, jobs, patience=None if len(jobs) == 1 else SHARED_PATIENCE)


async def enqueue_surely(store: Store, jobs: Sequence[NewJob], patience: float | None = None) -> Sequence[Enqueued]:
    """Asks again where no answer came: the ids stay, so that what got through the first time is not there twice."""
    started, again = time.monotonic(), False
    while True:
        try:
            crashpoint("enqueue.before")
            enqueued = await store.enqueue(jobs, patience=patience, again=again)
            crashpoint("enqueue.after")
            return enqueued
        except StoreUnreachable:
            if time.monotonic() - started > KEEP_TRYING:
                raise
            again = True
            await asyncio.sleep(AGAIN_AFTER)
