"""Looking things up, and the small bookkeeping of workers and listeners: one statement each."""

from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import NotFound
from postino.rules.blockers import MOST_AHEAD, Busy, Doubt, Facts
from postino.rules.settlement import Cause
from postino.stores import rows
from postino.stores.operations.gates import known_from, known_gates
from postino.stores.operations.listing import LAST, further
from postino.stores.records import (
    Attempt,
    AuditEntry,
    Circumstances,
    DeadFilter,
    DeadLetter,
    JobFilter,
    JobPage,
    QueueDepth,
    WorkerInfo,
)
from postino.stores.statement import Operation, Row, ask, each
from postino.values.event import Cursor, Event, EventType
from postino.values.job import Job, State

BUSY = frozenset({State.RUNNING, State.UNCERTAIN})  # of which there is never much
MOST_WALKED = 10_000  # jobs that one answer looks through


def find(channel: str, key: str) -> Operation[Job | None]:
    found = yield each("find_by_keys", [{"channel": channel, "key": key}])
    return rows.any_job(found[0]) if found else None


def list_jobs(wanted: JobFilter) -> Operation[list[Job]]:
    name = "list_busy" if is_busy(wanted) else "list" if brands_in(wanted) is None else "list_of_brands"
    found = yield ask(name, **said(wanted), brands=brands_in(wanted), before=wanted.before, limit=wanted.limit)
    return [rows.any_job(row) for row in found]


def page_of_jobs(wanted: JobFilter) -> Operation[JobPage]:
    """What is busy and what a brand has is found by an index of its own; for the rest, jobs are walked over."""
    if is_busy(wanted) or brands_in(wanted) is not None:
        jobs = yield from list_jobs(replace(wanted, limit=wanted.limit + 1))
        return JobPage(jobs[: wanted.limit], jobs[wanted.limit - 1].id if len(jobs) > wanted.limit else None)
    found: list[UUID] = []
    place: UUID | None = wanted.before or LAST
    scan, left = wanted.limit + 1, MOST_WALKED
    while place is not None and scan > 0 and len(found) <= wanted.limit:
        walked = yield ask("walk_jobs", **said(wanted), before=place, scan=scan)
        fitting = [row["id"] for row in walked if row["fits"]]
        found, left = [*found, *fitting], left - scan
        place = walked[-1]["id"] if walked and walked[0]["walked"] == scan else None
        scan = further(scan, len(fitting), wanted.limit + 1 - len(found), left)
    if len(found) > wanted.limit:
        found = found[: wanted.limit]
        place = found[-1]
    there = {row["id"]: rows.any_job(row) for row in (yield ask("find_by_ids", ids=found))}
    return JobPage([there[job_id] for job_id in found if job_id in there], place)


def is_busy(wanted: JobFilter) -> bool:
    return bool(wanted.states) and BUSY.issuperset(wanted.states)


def brands_in(wanted: JobFilter) -> list[str] | None:
    if wanted.brand is not None:
        return [wanted.brand]
    return None if wanted.brands is None else list(wanted.brands)


def said(wanted: JobFilter) -> dict[str, Any]:
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


def attempts(job_id: UUID) -> Operation[list[Attempt]]:
    return [rows.attempt(row) for row in (yield ask("attempts", id=job_id))]


def dead_letter(job_id: UUID) -> Operation[DeadLetter]:
    found = yield from dead_letters(DeadFilter(ids=(job_id,), resolved=True, limit=1))
    if not found:
        raise NotFound(f"There is no dead letter of job {job_id}. The list of dead letters shows those there are.")
    return found[0]


def dead_letters(wanted: DeadFilter) -> Operation[list[DeadLetter]]:
    found = yield ask(
        "dead_letters",
        ids=list(wanted.ids),
        type=wanted.type,
        channel=wanted.channel,
        cause=wanted.cause,
        account=wanted.account,
        brands=None if wanted.brands is None else list(wanted.brands),
        resolved=wanted.resolved,
        before=wanted.before,
        limit=wanted.limit,
    )
    return [rows.dead_letter(row) for row in found]


def depths() -> Operation[list[QueueDepth]]:
    return [rows.depth(row) for row in (yield ask("depths"))]


def workers() -> Operation[list[WorkerInfo]]:
    return [rows.worker(row) for row in (yield ask("workers"))]


def circumstances(job: Job) -> Operation[Circumstances]:
    """Counted by the statement that claims count with."""
    known, now = yield from known_gates()
    counted = yield ask("count_running", channels=[job.channel])
    found = yield ask(
        "circumstances",
        id=job.id,
        channel=job.channel,
        account=job.account,
        lane=job.lane,
        queue=job.queue.value,
        run_at=job.run_at or now,
        begun=job.lane is not None and (job.sent or job.regardless),
        most_ahead=MOST_AHEAD + 1,
    )
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in found:
        kinds[row["kind"]].append(row)
    cause, cancelled = yield from ending_of(job)
    facts = Facts(
        job=job,
        known=replace(known, gates=(*known.gates, *known_from(kinds).gates)),
        running={row["brand"]: row["running"] for row in counted},
        doubts=tuple(Doubt(row["detail"], row["name"], row["due_at"]) for row in kinds["doubt"]),
        busy=next((Busy(UUID(row["name"]), row["detail"], row["due_at"]) for row in kinds["busy"]), None),
        ahead=kinds["ahead"][0]["amount"],
        publish_until_at=next((row["due_at"] for row in kinds["until"]), None),
        cause=cause,
        cancelled=cancelled,
    )
    workers = tuple(WorkerInfo(id=row["name"], host=row["detail"], pid=row["amount"]) for row in kinds["worker"])
    return Circumstances(facts, workers, now)


def ending_of(job: Job) -> Operation[tuple[Cause | None, str | None]]:
    """Why it failed, or who cancelled it and why."""
    if job.state is State.FAILED:
        found = yield ask("cause_of", id=job.id, generation=job.generation)
        return (Cause(found[0]["cause"]) if found else None), None
    if job.state is State.CANCELLED:
        found = yield ask("audit_of", subject=str(job.id), action=EventType.CANCELLED.value)
        return None, told_of_deed(rows.audit_entry(found[0])) if found else None
    return None, None


def told_of_deed(entry: AuditEntry) -> str:
    return f"by {entry.actor} ({entry.reason.rstrip('.')})" if entry.reason else f"by {entry.actor}"


def collides(
    channel: str, account: str | None, brand: str | None, after_at: datetime, before_at: datetime
) -> Operation[bool]:
    whose = {"channel": channel, "account": account, "brand": brand}
    found = yield ask("collides", after_at=after_at, before_at=before_at, **whose)
    return bool(found[0]["collides"])


def audit(limit: int = 100) -> Operation[list[AuditEntry]]:
    return [rows.audit_entry(row) for row in (yield ask("audit", limit=limit))]


def events(after: Cursor, limit: int) -> Operation[list[Event]]:
    return [rows.event(row) for row in (yield ask("events", xid=after.xid, seq=after.seq, limit=limit))]


def hold_cursor(listener: str, holder: str, seconds: float) -> Operation[Cursor | None]:
    held = yield ask("hold_cursor", listener=listener, holder=holder, seconds=seconds)
    return Cursor(held[0]["xid"], held[0]["seq"]) if held else None


def move_cursor(listener: str, holder: str, cursor: Cursor, seconds: float = 0) -> Operation[bool]:
    moved = yield ask("move_cursor", listener=listener, holder=holder, xid=cursor.xid, seq=cursor.seq, seconds=seconds)
    return bool(moved)


def register(worker: WorkerInfo) -> Operation[None]:
    yield ask("register", id=worker.id, host=worker.host, pid=worker.pid)


def beat(worker: str) -> Operation[bool]:
    return bool((yield ask("beat", worker=worker)))


def suspect(worker: str, job_id: UUID) -> Operation[None]:
    yield ask("suspect", worker=worker, job_id=job_id)


def retire(worker: str) -> Operation[None]:
    yield ask("retire", id=worker)


def dispatch_due() -> Operation[int]:
    counted = yield ask("dispatch_due")
    dispatched: int = counted[0]["dispatched"]
    return dispatched
