"""What a person does: compare-and-set, with a line in the audit trail in the same transaction."""

from datetime import datetime
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.rules.ledger import is_out
from postino.rules.replay import why_not
from postino.stores import rows
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.job_actions import record_action, refuse_action
from postino.stores.operations.jobs import get_job
from postino.stores.operations.ledger import get_ledger, get_lookup_time
from postino.stores.records import AuditContext, DeadLetter, DeadLetterFilter
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job, lane_of


def replay_dead_letter(
    job_id: UUID, payload: bytes | None, force: bool, act: AuditContext, run_at: datetime | None = None
) -> Operation[Job]:
    letter = yield from lock_open_letter(job_id, "replayed")
    if letter.job.remote_id is not None:
        return (yield from get_job(job_id))  # it is out already: the existing job comes back
    refusal = why_not(letter.cause, edited=payload is not None, force=force)
    if refusal:
        raise Conflict(f"Job {job_id} was not replayed. {refusal}")
    known = yield from get_ledger(job_id)
    out = is_out(known)
    if out and payload is not None:
        told = "something of it is out there, or may be, and what is out there cannot be edited. Replay it as it is."
        raise Conflict(f"Job {job_id} was not replayed: {told}")
    if not out:
        yield ask("delete_steps", job_id=job_id)
    lane = lane_of(letter.job.account, letter.job.brand)
    yield ask(
        "replay_dead_letter", id=job_id, generation=letter.job.generation, payload=payload, lane=lane, run_at=run_at
    )
    if out:
        yield ask("requeue_uncertain", job_id=job_id, look_at=get_lookup_time(known))
    return (yield from record_action(job_id, EventType.REPLAYED, act))


def discard_dead_letter(job_id: UUID, act: AuditContext) -> Operation[DeadLetter]:
    letter = yield from lock_open_letter(job_id, "discarded")
    discarded = yield ask("discard_dead_letter", id=job_id, generation=letter.job.generation)
    yield from write_audit_entry(act, "dead_letter.discarded", str(job_id))
    return rows.dead_letter(discarded[0])


def lock_open_letter(job_id: UUID, wanted: str) -> Operation[DeadLetter]:
    found = yield ask("lock_dead_letter", id=job_id)
    if not found or found[0]["resolved_at"] is not None:
        yield from refuse_action(job_id, wanted)
    return rows.dead_letter(found[0])


def get_dead_letter(job_id: UUID) -> Operation[DeadLetter]:
    found = yield from list_dead_letters(DeadLetterFilter(ids=(job_id,), resolved=True, limit=1))
    if not found:
        raise NotFound(f"There is no dead letter of job {job_id}. The list of dead letters shows those there are.")
    return found[0]


def list_dead_letters(wanted: DeadLetterFilter) -> Operation[list[DeadLetter]]:
    found = yield ask(
        "list_dead_letters",
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
