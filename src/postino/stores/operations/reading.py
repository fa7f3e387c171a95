"""Looking things up, and the small bookkeeping of workers and listeners: one statement each."""

from uuid import UUID

from postino.errors import NotFound
from postino.event import Cursor, Event
from postino.job import Job
from postino.store import Attempt, AuditEntry, DeadFilter, DeadLetter, JobFilter, QueueDepth, WorkerInfo
from postino.stores import rows
from postino.stores.statement import Operation, ask, each


def find(channel: str, key: str) -> Operation[Job | None]:
    found = yield each("find_by_keys", [{"channel": channel, "key": key}])
    return rows.any_job(found[0]) if found else None


def list_jobs(wanted: JobFilter) -> Operation[list[Job]]:
    found = yield ask(
        "list",
        states=[state.value for state in wanted.states],
        type=wanted.type,
        channel=wanted.channel,
        account=wanted.account,
        brand=wanted.brand,
        queue=None if wanted.queue is None else wanted.queue.label,
        parent_id=wanted.parent_id,
        before=wanted.before,
        limit=wanted.limit,
    )
    return [rows.any_job(row) for row in found]


def attempts(job_id: UUID) -> Operation[list[Attempt]]:
    return [rows.attempt(row) for row in (yield ask("attempts", id=job_id))]


def dead_letter(job_id: UUID) -> Operation[DeadLetter]:
    found = yield from dead_letters(DeadFilter(ids=(job_id,), resolved=True, limit=1))
    if not found:
        raise NotFound(f"There is no dead letter of job {job_id}. `postino dead list` shows those there are.")
    return found[0]


def dead_letters(wanted: DeadFilter) -> Operation[list[DeadLetter]]:
    found = yield ask(
        "dead_letters",
        ids=list(wanted.ids),
        type=wanted.type,
        channel=wanted.channel,
        cause=wanted.cause,
        resolved=wanted.resolved,
        before=wanted.before,
        limit=wanted.limit,
    )
    return [rows.dead_letter(row) for row in found]


def depths() -> Operation[list[QueueDepth]]:
    return [rows.depth(row) for row in (yield ask("depths"))]


def workers() -> Operation[list[WorkerInfo]]:
    return [rows.worker(row) for row in (yield ask("workers"))]


def audit(limit: int) -> Operation[list[AuditEntry]]:
    return [rows.audit_entry(row) for row in (yield ask("audit", limit=limit))]


def events(after: Cursor, limit: int) -> Operation[list[Event]]:
    return [rows.event(row) for row in (yield ask("events", xid=after.xid, seq=after.seq, limit=limit))]


def hold_cursor(listener: str, holder: str, seconds: float) -> Operation[Cursor | None]:
    held = yield ask("hold_cursor", listener=listener, holder=holder, seconds=seconds)
    return Cursor(held[0]["xid"], held[0]["seq"]) if held else None


def move_cursor(listener: str, holder: str, cursor: Cursor, seconds: float) -> Operation[bool]:
    moved = yield ask(
        "move_cursor", listener=listener, holder=holder, xid=cursor.xid, seq=cursor.seq, seconds=seconds
    )
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
