"""What a person does: compare-and-set, with a line in the audit trail in the same transaction."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import NotFound
from postino.stores import rows
from postino.stores.operations.pagination import LAST_ID, next_scan_size
from postino.stores.records import Attempt, JobFilter, JobPage, QueueDepth
from postino.stores.statement import Operation, ask, each
from postino.values.job import Job, State

BUSY_STATES = frozenset({State.RUNNING, State.UNCERTAIN})  # of which there is never much
MAX_SCANNED = 10_000  # jobs that one answer looks through


def get_job(job_id: UUID) -> Operation[Job]:
    found = yield ask("get_job", id=job_id)
    if not found:
        raise NotFound(f"There is no job {job_id}. The list of jobs shows the newest ones.")
    return rows.any_job(found[0])


def find_job_by_key(channel: str, key: str) -> Operation[Job | None]:
    found = yield each("find_jobs_by_key", [{"channel": channel, "key": key}])
    return rows.any_job(found[0]) if found else None


def list_jobs(wanted: JobFilter) -> Operation[list[Job]]:
    name = (
        "list_busy_jobs"
        if is_busy_filter(wanted)
        else "list_jobs"
        if get_filter_brands(wanted) is None
        else "list_jobs_by_brand"
    )
    found = yield ask(
        name, **make_filter_params(wanted), brands=get_filter_brands(wanted), before=wanted.before, limit=wanted.limit
    )
    return [rows.any_job(row) for row in found]


def get_jobs_page(wanted: JobFilter) -> Operation[JobPage]:
    """What is busy and what a brand has is found by an index of its own; for the rest, jobs are walked over."""
    if is_busy_filter(wanted) or get_filter_brands(wanted) is not None:
        jobs = yield from list_jobs(replace(wanted, limit=wanted.limit + 1))
        return JobPage(jobs[: wanted.limit], jobs[wanted.limit - 1].id if len(jobs) > wanted.limit else None)
    found: list[UUID] = []
    place: UUID | None = wanted.before or LAST_ID
    scan, left = wanted.limit + 1, MAX_SCANNED
    while place is not None and scan > 0 and len(found) <= wanted.limit:
        walked = yield ask("scan_jobs", **make_filter_params(wanted), before=place, scan=scan)
        fitting = [row["id"] for row in walked if row["fits"]]
        found, left = [*found, *fitting], left - scan
        place = walked[-1]["id"] if walked and walked[0]["walked"] == scan else None
        scan = next_scan_size(scan, len(fitting), wanted.limit + 1 - len(found), left)
    if len(found) > wanted.limit:
        found = found[: wanted.limit]
        place = found[-1]
    there = {row["id"]: rows.any_job(row) for row in (yield ask("find_jobs", ids=found))}
    return JobPage([there[job_id] for job_id in found if job_id in there], place)


def is_busy_filter(wanted: JobFilter) -> bool:
    return bool(wanted.states) and BUSY_STATES.issuperset(wanted.states)


def get_filter_brands(wanted: JobFilter) -> list[str] | None:
    if wanted.brand is not None:
        return [wanted.brand]
    return None if wanted.brands is None else list(wanted.brands)


def make_filter_params(wanted: JobFilter) -> dict[str, Any]:
    states = wanted.states or tuple(State)
    return {
        "live": any(not state.is_final for state in states),
        "ended": any(state.is_final for state in states),
        "states": [state.value for state in wanted.states],
        "type": wanted.type,
        "channel": wanted.channel,
        "account": wanted.account,
        "queue": None if wanted.queue is None else wanted.queue.value,
        "parent_id": wanted.parent_id,
    }


def list_attempts(job_id: UUID) -> Operation[list[Attempt]]:
    return [rows.attempt(row) for row in (yield ask("list_attempts", id=job_id))]


def list_queue_depths() -> Operation[list[QueueDepth]]:
    return [rows.depth(row) for row in (yield ask("count_queue_depths"))]


def has_collision(
    channel: str, account: str | None, brand: str | None, after_at: datetime, before_at: datetime
) -> Operation[bool]:
    whose = {"channel": channel, "account": account, "brand": brand}
    found = yield ask("has_collision", after_at=after_at, before_at=before_at, **whose)
    return bool(found[0]["collides"])


def dispatch_due() -> Operation[int]:
    counted = yield ask("mark_dispatched")
    dispatched: int = counted[0]["dispatched"]
    return dispatched
