"""Tell the children of one job apart that differ only in their time, so that a second run makes none twice.

Their times cannot be part of their keys: a handler that computes `at` from the clock gives another time in each run. So
a run numbers them, and its n-th one is that of the former run. Where their times contradict that, none is lost: the
handler gets the child with its time, or an error.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from postino.errors import Conflict
from postino.rules.idempotency import has_moved_with_clock, make_sibling_key
from postino.stores.records import EnqueuedJob, JobFilter, NewJob
from postino.stores.store import Store
from postino.values.job import Job

log = structlog.get_logger("postino.worker")
MAX_SIBLINGS = 1000  # children that are searched for the one of a time


@dataclass(slots=True)
class ChildCounter:
    """The children that one run of a handler has enqueued without a key of their own."""

    now: Callable[[], datetime]
    started_at: datetime
    times: dict[str, list[datetime | None]] = field(default_factory=dict)  # by key
    keys: dict[str, str] = field(default_factory=dict)  # the chosen key, with the number, to the one without


current_counter: ContextVar[ChildCounter | None] = ContextVar("current_counter", default=None)


@contextmanager
def count_children(now: Callable[[], datetime]) -> Iterator[None]:
    """Number the children that are enqueued during the block, also from its tasks and threads."""
    token = current_counter.set(ChildCounter(now, now()))
    try:
        yield
    finally:
        current_counter.reset(token)


def choose_child_key(key: str, at: datetime | None) -> str:
    """Return the key that tells a child from others with this key: by its number in the run, or its time outside a run.

    The first child of a run, and one without a time outside a run, need nothing more than the key.
    """
    counter = current_counter.get()
    if counter is None:
        return key if at is None else make_sibling_key(key, at.isoformat())
    times = counter.times.setdefault(key, [])
    if at not in times:
        times.append(at)
    number = times.index(at)
    chosen = make_sibling_key(key, str(number)) if number else key
    counter.keys[chosen] = key
    return chosen


async def find_children(store: Store | None, new: Sequence[NewJob], enqueued: Sequence[EnqueuedJob]) -> list[Job]:
    """Return the enqueued jobs; where a run enqueued a child of a former run for another time, the child it means.

    Without a store, it compares only times. Raises Conflict where it cannot tell whether it is the same child.
    """
    counter = current_counter.get()
    if counter is None:
        return [result.job for result in enqueued]
    return [await find_child(store, counter, job, result) for job, result in zip(new, enqueued, strict=True)]


async def find_child(store: Store | None, counter: ChildCounter, new: NewJob, enqueued: EnqueuedJob) -> Job:
    """Return the job, or the child of a former run that it means."""
    existing, now = enqueued.job, counter.now()
    if enqueued.created or new.key not in counter.keys or new.run_at == existing.scheduled_at:
        return existing
    sibling = None if store is None or new.run_at is None else await find_sibling(store, new, counter.keys[new.key])
    if sibling is not None:
        return sibling
    if has_moved_with_clock(
        new.run_at or now,
        existing.scheduled_at,
        enqueued_at=existing.created_at,
        started_at=counter.started_at,
        now=now,
    ):
        if new.run_at is not None:
            log.info("child.kept", job=str(existing.id), parent=str(new.parent_id), at=str(existing.scheduled_at))
        return existing
    wanted = "now" if new.run_at is None else f"{new.run_at:%Y-%m-%dT%H:%M:%SZ}"
    raise Conflict(
        f"No child was made for {wanted}: an earlier run of job {new.parent_id} enqueued the same child for"
        f" {existing.scheduled_at:%Y-%m-%dT%H:%M:%SZ} (job {existing.id}), and this run has not. Postino cannot"
        " tell whether they are one child or two. Give each child its own `key`."
    )


async def find_sibling(store: Store, new: NewJob, key: str) -> Job | None:
    """Return the child for the same time among those that only their numbers tell apart."""
    jobs = await store.jobs(JobFilter(type=new.type, channel=new.channel, parent_id=new.parent_id, limit=MAX_SIBLINGS))
    keys = {key, *(make_sibling_key(key, str(number)) for number in range(1, len(jobs)))}
    return next((job for job in jobs if job.idempotency_key in keys and job.scheduled_at == new.run_at), None)
