"""Reads about jobs: one, a list, a page, attempts, queue depths. Nothing here changes a job except `dispatch_due`."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import NotFound
from postino.stores.operations.pagination import LAST_ID, next_scan_size
from postino.stores.records import Attempt, JobFilter, JobPage, QueueDepth
from postino.stores.rows import to_attempt, to_job, to_queue_depth
from postino.stores.statement import Operation, ask, each
from postino.values.job import Job, State, no_job

BUSY_STATES = frozenset({State.RUNNING, State.UNCERTAIN})  # few at any time
MAX_SCANNED = 10_000  # jobs that one page reads


def get_job(job_id: UUID) -> Operation[Job]:
    """Return a job, live or finished. Raises NotFound."""
    rows = yield ask("get_job", id=job_id)
    if not rows:
        raise NotFound(no_job(job_id))
    return to_job(rows[0])


def find_job_by_key(channel: str, key: str) -> Operation[Job | None]:
    """Return the job that has this idempotency key on the channel, if any."""
    rows = yield each("find_jobs_by_key", [{"channel": channel, "key": key}])
    return to_job(rows[0]) if rows else None


def list_jobs(filter: JobFilter) -> Operation[list[Job]]:
    """Return the jobs that match the filter, newest first."""
    name = (
        "list_busy_jobs"
        if is_busy_filter(filter)
        else "list_jobs"
        if get_filter_brands(filter) is None
        else "list_jobs_by_brand"
    )
    rows = yield ask(
        name, **make_filter_params(filter), brands=get_filter_brands(filter), before=filter.before, limit=filter.limit
    )
    return [to_job(row) for row in rows]


def get_jobs_page(filter: JobFilter) -> Operation[JobPage]:
    """Return one page of the jobs that match the filter, reading no more than a bounded number of jobs.

    Busy jobs and jobs of a brand have an index; for other filters the newest jobs are scanned.
    """
    if is_busy_filter(filter) or get_filter_brands(filter) is not None:
        jobs = yield from list_jobs(replace(filter, limit=filter.limit + 1))
        return JobPage(jobs[: filter.limit], jobs[filter.limit - 1].id if len(jobs) > filter.limit else None)
    ids: list[UUID] = []
    place: UUID | None = filter.before or LAST_ID
    scan, left = filter.limit + 1, MAX_SCANNED
    while place is not None and scan > 0 and len(ids) <= filter.limit:
        rows = yield ask("scan_jobs", **make_filter_params(filter), before=place, scan=scan)
        matches = [row["id"] for row in rows if row["fits"]]
        ids, left = [*ids, *matches], left - scan
        place = rows[-1]["id"] if rows and rows[0]["walked"] == scan else None
        scan = next_scan_size(scan, len(matches), filter.limit + 1 - len(ids), left)
    if len(ids) > filter.limit:
        ids = ids[: filter.limit]
        place = ids[-1]
    jobs_by_id = {row["id"]: to_job(row) for row in (yield ask("find_jobs", ids=ids))}
    return JobPage([jobs_by_id[job_id] for job_id in ids if job_id in jobs_by_id], place)


def is_busy_filter(filter: JobFilter) -> bool:
    """Return whether the filter asks for running and uncertain jobs only."""
    return bool(filter.states) and BUSY_STATES.issuperset(filter.states)


def get_filter_brands(filter: JobFilter) -> list[str] | None:
    """Return the brands the filter is limited to; None for all."""
    if filter.brand is not None:
        return [filter.brand]
    return None if filter.brands is None else list(filter.brands)


def make_filter_params(filter: JobFilter) -> dict[str, Any]:
    """Return the filter as query parameters."""
    states = filter.states or tuple(State)
    return {
        "live": any(not state.is_final for state in states),
        "ended": any(state.is_final for state in states),
        "states": [state.value for state in filter.states],
        "type": filter.type,
        "channel": filter.channel,
        "account": filter.account,
        "queue": None if filter.queue is None else filter.queue.value,
        "parent_id": filter.parent_id,
    }


def list_attempts(job_id: UUID) -> Operation[list[Attempt]]:
    """Return the attempts of a job, oldest first."""
    return [to_attempt(row) for row in (yield ask("list_attempts", id=job_id))]


def list_queue_depths() -> Operation[list[QueueDepth]]:
    """Return the number of live jobs by channel, queue and state."""
    return [to_queue_depth(row) for row in (yield ask("count_queue_depths"))]


def has_collision(
    channel: str, account: str | None, brand: str | None, after_at: datetime, before_at: datetime
) -> Operation[bool]:
    """Return whether another job is planned between two times for the account, else the channel, or its brand."""
    scope = {"channel": channel, "account": account, "brand": brand}
    rows = yield ask("has_collision", after_at=after_at, before_at=before_at, **scope)
    return bool(rows[0]["collides"])


def dispatch_due() -> Operation[int]:
    """Mark due jobs as dispatched and return how many there were."""
    counted = yield ask("mark_dispatched")
    dispatched: int = counted[0]["dispatched"]
    return dispatched
