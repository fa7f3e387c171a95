"""Putting jobs in: each key is one job, for ever."""

from collections.abc import Sequence
from typing import Any

from postino.job import Job, State, lane_of
from postino.store import Enqueued, NewJob
from postino.stores import rows
from postino.stores.statement import Operation, Row, each

FIELDS = (
    "id", "type", "channel", "queue", "account", "brand", "user_id", "parent_id", "correlation_id", "key", "payload",
    "run_at", "max_attempts", "backoff", "time_limit",
)  # fmt: skip


def enqueue(jobs: Sequence[NewJob]) -> Operation[list[Enqueued]]:
    made = yield each("enqueue", [values(job) for job in jobs])
    created = {row["id"]: row for row in made}
    lost = [job for job in jobs if job.id not in created]
    known = yield each("find_by_keys", [{"channel": job.channel, "key": job.key} for job in lost])
    existing = {(row["channel"], row["wanted_key"]): rows.any_job(row) for row in known}
    return [
        Enqueued(fresh(job, created[job.id]), True)
        if job.id in created
        else Enqueued(existing[job.channel, job.key], False)
        for job in jobs
    ]


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
