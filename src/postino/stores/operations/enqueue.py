"""Putting jobs in: each key is one job, for ever."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from postino.errors import Conflict
from postino.job import Job, State, lane_of
from postino.store import Enqueued, NewJob
from postino.stores import rows
from postino.stores.statement import Operation, Row, ask, each

FIELDS = (
    "id", "type", "channel", "queue", "account", "brand", "user_id", "parent_id", "correlation_id", "key", "payload",
    "run_at", "max_attempts", "backoff", "time_limit",
)  # fmt: skip


def enqueue(jobs: Sequence[NewJob], again: bool = False) -> Operation[list[Enqueued]]:
    made = yield each("enqueue", [values(job) for job in jobs], again=again)
    created = {row["id"]: row for row in made}
    lost = [job for job in jobs if job.id not in created]
    existing = yield from existing_jobs(lost)
    return [
        Enqueued(fresh(job, created[job.id]), True) if job.id in created else Enqueued(existing[job.id], False)
        for job in jobs
    ]


def existing_jobs(lost: Sequence[NewJob]) -> Operation[dict[UUID, Job]]:
    """The jobs that were there already, by the id that was offered for them."""
    keyed = [job for job in lost if job.key is not None]
    known = yield each("find_by_keys", [{"channel": job.channel, "key": job.key} for job in keyed])
    by_key = {(row["channel"], row["wanted_key"]): rows.any_job(row) for row in known}
    existing: dict[UUID, Job] = {}
    for job in keyed:
        if (job.channel, job.key) not in by_key:
            raise Conflict(
                f"This key was used before on channel {job.channel}, by a job that ended so long ago that it is not"
                " kept any more. Nothing was enqueued. To do it again, give another key."
            )
        existing[job.id] = by_key[job.channel, job.key]
    for job in lost:
        if job.key is None:
            existing[job.id] = rows.any_job((yield ask("get", id=job.id))[0])
    return existing


def values(job: NewJob) -> dict[str, Any]:
    return {name: getattr(job, name) for name in FIELDS} | {"lane": lane_of(job.account, job.brand)}


def fresh(job: NewJob, row: Row) -> Job:
    """The job as just written, without reading it back."""
    return Job(
        id=job.id,
        type=job.type,
        channel=job.channel,
        queue=job.queue,
        state=State.PENDING,
        payload=job.payload,
        idempotency_key=job.key or str(job.id),
        scheduled_at=row["scheduled_at"],
        run_at=row["run_at"],
        created_at=row["created_at"],
        account=job.account,
        brand=job.brand,
        user_id=job.user_id,
        parent_id=job.parent_id,
        correlation_id=job.correlation_id,
        max_attempts=job.max_attempts,
        backoff=job.backoff,
        time_limit=job.time_limit,
    )
