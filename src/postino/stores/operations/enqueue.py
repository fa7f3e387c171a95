"""Enqueue jobs. A key belongs to one job, for ever."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import Conflict
from postino.stores.operations.stored_responses import find_response, store_response
from postino.stores.records import EnqueuedJob, NewJob
from postino.stores.rows import to_job
from postino.stores.statement import Operation, ask, each
from postino.values.job import Job, State, get_lane, make_job
from postino.values.post import ResponseRecorder


def enqueue(jobs: Sequence[NewJob], again: bool = False) -> Operation[list[EnqueuedJob]]:
    """Insert jobs, all or none; where a key is known, return the job that has it.

    `again` repeats a call whose response was lost: its jobs may exist, and may even have ended since.
    """
    existing = (yield from find_jobs_by_id(jobs)) if again else {}
    new = [job for job in jobs if job.id not in existing] if existing else jobs
    inserted = yield each("insert_jobs", [make_job_values(job) for job in new])
    created = {row["id"] for row in inserted}
    if created != {None}:  # one row without an id means that all were inserted
        existing |= yield from find_jobs_by_key([job for job in new if job.id not in created])
    if not existing:
        return [EnqueuedJob(make_new_job(job, inserted[0]["created_at"]), True) for job in jobs]
    return [
        EnqueuedJob(existing[job.id], False)
        if job.id in existing
        else EnqueuedJob(make_new_job(job, inserted[0]["created_at"]), True)
        for job in jobs
    ]


def enqueue_once(jobs: Sequence[NewJob], again: bool, once: ResponseRecorder) -> Operation[list[EnqueuedJob]]:
    """Insert jobs and store the response to their request; return nothing if it was answered before."""
    if (yield from find_response(once.request, keep=True)) is not None:
        return []
    enqueued = yield from enqueue(jobs, again)
    yield from store_response(once, enqueued)
    return enqueued


def find_jobs_by_id(jobs: Sequence[NewJob]) -> Operation[dict[UUID, Job]]:
    """Return the jobs without a key that exist already."""
    rows = yield ask("find_jobs", ids=[job.id for job in jobs if job.key is None])
    return {row["id"]: to_job(row) for row in rows}


def find_jobs_by_key(jobs: Sequence[NewJob]) -> Operation[dict[UUID, Job]]:
    """Return the jobs that have these keys, by the id that was offered. Raises Conflict if one was pruned."""
    rows = yield each("find_jobs_by_key", [{"channel": job.channel, "key": job.key} for job in jobs])
    by_key = {(row["channel"], row["wanted_key"]): to_job(row) for row in rows}
    for job in jobs:
        if (job.channel, job.key) not in by_key:
            raise Conflict(
                f"This key was used on channel {job.channel} by a job that was pruned since. Nothing was enqueued."
                " To run it again, use another key."
            )
    return {job.id: by_key[job.channel, job.key] for job in jobs}


def make_job_values(job: NewJob) -> dict[str, Any]:
    """Return the columns of a new job."""
    return {
        "id": job.id,
        "type": job.type,
        "channel": job.channel,
        "queue": job.queue,
        "lane": get_lane(job.account, job.brand),
        "account": job.account,
        "brand": job.brand,
        "user_id": job.user_id,
        "parent_id": job.parent_id,
        "correlation_id": job.correlation_id,
        "key": job.key,
        "payload": job.payload,
        "run_at": job.run_at,
        "max_attempts": job.max_attempts,
        "backoff": job.backoff,
        "time_limit": job.time_limit,
    }


def make_new_job(job: NewJob, now: datetime) -> Job:
    """Return the job as just inserted, without reading it."""
    return make_job(
        job.id,
        job.type,
        job.channel,
        job.queue,
        State.PENDING,
        job.payload,
        job.key or str(job.id),
        job.run_at or now,
        now if job.run_at is None else max(job.run_at, now),
        now,
        job.account,
        job.brand,
        job.user_id,
        job.parent_id,
        job.correlation_id,
        0,
        job.max_attempts,
        job.backoff,
        job.time_limit,
    )
