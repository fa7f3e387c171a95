"""Reads about jobs: one, a list, a page, attempts, queue depths. Nothing here changes a job except `dispatch_due`."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import NotFound
from postino.stores.operations.pagination import LAST_ID, MAX_PAGE_BYTES, count_fitting, cut_page, next_scan_size
from postino.stores.records import Attempt, JobFilter, JobPage, QueueDepth
from postino.stores.rows import to_attempt, to_job, to_queue_depth
from postino.stores.statement import Operation, ask, each
from postino.values.job import Job, State, no_job

BUSY_STATES = frozenset({State.RUNNING, State.UNCERTAIN})  # few at any time
MAX_SCANNED = 10_000  # jobs that one page reads


def get_job(job_id: UUID) -> Operation[Job]:
    """Return a job, unfinished or finished. Raises NotFound."""
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
    every_brand = filter.brands is None
    name = "list_busy_jobs" if is_busy_filter(filter) else "list_jobs" if every_brand else "list_jobs_by_brand"
    brands = None if filter.brands is None else list(filter.brands)
    bounds = {"before": filter.before, "limit": filter.limit, "max_bytes": filter.max_bytes}
    rows = yield ask(name, **make_filter_params(filter), brands=brands, **bounds)
    return [to_job(row) for row in rows]


def get_jobs_page(filter: JobFilter) -> Operation[JobPage]:
    """Return one page of the jobs that match the filter, reading a bounded number of jobs and of bytes.

    Busy jobs and jobs of a brand have an index; for other filters the newest jobs are scanned.
    """
    if is_busy_filter(filter) or filter.brands is not None:
        jobs = yield from list_jobs(replace(filter, limit=filter.limit + 1, max_bytes=MAX_PAGE_BYTES))
        page, has_more = cut_page(jobs, filter.limit, measure_job)
        return JobPage(page, page[-1].id if has_more else None)
    ids: list[UUID] = []
    sizes: list[int] = []
    place: UUID | None = filter.before or LAST_ID
    scan, left = filter.limit + 1, MAX_SCANNED
    while place is not None and scan > 0 and len(ids) <= filter.limit:
        rows = yield ask("scan_jobs", **make_filter_params(filter), before=place, scan=scan)
        matches = [row["id"] for row in rows if row["fits"]]
        ids, left = [*ids, *matches], left - scan
        sizes += [row["bytes"] for row in rows if row["fits"]]
        place = rows[-1]["id"] if rows and rows[0]["walked"] == scan else None
        scan = next_scan_size(scan, len(matches), filter.limit + 1 - len(ids), left)
    count = min(filter.limit, count_fitting(sizes))
    if len(ids) > count:
        ids = ids[:count]
        place = ids[-1]
    jobs_by_id = {row["id"]: to_job(row) for row in (yield ask("find_jobs", ids=ids))}
    return JobPage([jobs_by_id[job_id] for job_id in ids if job_id in jobs_by_id], place)


def measure_job(job: Job) -> int:
    """Return the size of what callers and handlers put into a job, as the queries measure it."""
    return len(job.payload) + len(job.result or "")


def is_busy_filter(filter: JobFilter) -> bool:
    """Return whether the filter asks for running and uncertain jobs only."""
    return bool(filter.states) and BUSY_STATES.issuperset(filter.states)


def make_filter_params(filter: JobFilter) -> dict[str, Any]:
    """Return the filter as query parameters."""
    states = filter.states or tuple(State)
    return {
        "unfinished": any(not state.is_final for state in states),
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


def list_waiting_types(handled: Collection[str]) -> Operation[list[str]]:
    """Return the types of unfinished jobs that are not among these, at most a hundred."""
    return [row["type"] for row in (yield ask("list_waiting_types", handled=list(handled)))]


def list_queue_depths() -> Operation[list[QueueDepth]]:
    """Return the number of unfinished jobs by channel, queue and state."""
    return [to_queue_depth(row) for row in (yield ask("count_queue_depths"))]


def count_jobs_by_worker() -> Operation[dict[str, int]]:
    """Return the number of running jobs by the worker that claimed them."""
    return {row["claimed_by"]: row["jobs"] for row in (yield ask("count_jobs_by_worker"))}


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
