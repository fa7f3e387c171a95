"""Putting jobs in: each key is one job, for ever."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import Conflict
from postino.stores import rows
from postino.stores.operations.stored_responses import find_response, store_response
from postino.stores.records import EnqueuedJob, NewJob
from postino.stores.statement import Operation, ask, each
from postino.values.job import Job, State, lane_of, make_job
from postino.values.post import Once


def enqueue(jobs: Sequence[NewJob], again: bool = False) -> Operation[list[EnqueuedJob]]:
    # After a lost answer: the first call may have got through, and its jobs may have ended since.
    known = (yield from find_jobs_by_id(jobs)) if again else {}
    new = [job for job in jobs if job.id not in known] if known else jobs
    made = yield each("insert_jobs", [make_job_values(job) for job in new])
    created = {row["id"] for row in made}
    if created != {None}:  # one row without an id: all of them
        known |= yield from find_jobs_by_key([job for job in new if job.id not in created])
    if not known:
        return [EnqueuedJob(make_new_job(job, made[0]["created_at"]), True) for job in jobs]
    return [
        EnqueuedJob(known[job.id], False)
        if job.id in known
        else EnqueuedJob(make_new_job(job, made[0]["created_at"]), True)
        for job in jobs
    ]


def enqueue_once(jobs: Sequence[NewJob], again: bool, once: Once) -> Operation[list[EnqueuedJob]]:
    if (yield from find_response(once.asked, keep=True)) is not None:
        return []
    enqueued = yield from enqueue(jobs, again)
    yield from store_response(once, enqueued)
    return enqueued


def find_jobs_by_id(jobs: Sequence[NewJob]) -> Operation[dict[UUID, Job]]:
    """Those that are there already and have no key to tell."""
    found = yield ask("find_jobs", ids=[job.id for job in jobs if job.key is None])
    return {row["id"]: rows.any_job(row) for row in found}


def find_jobs_by_key(jobs: Sequence[NewJob]) -> Operation[dict[UUID, Job]]:
    """The jobs that have these keys, by the id that was offered for them."""
    found = yield each("find_jobs_by_key", [{"channel": job.channel, "key": job.key} for job in jobs])
    by_key = {(row["channel"], row["wanted_key"]): rows.any_job(row) for row in found}
    for job in jobs:
        if (job.channel, job.key) not in by_key:
            raise Conflict(
                f"This key was used before on channel {job.channel}, by a job that ended so long ago that it is not"
                " kept any more. Nothing was enqueued. To do it again, give another key."
            )
    return {job.id: by_key[job.channel, job.key] for job in jobs}


def make_job_values(job: NewJob) -> dict[str, Any]:
    return {
        "id": job.id,
        "type": job.type,
        "channel": job.channel,
        "queue": job.queue,
        "lane": lane_of(job.account, job.brand),
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
    """The job as just written, without reading it back."""
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
