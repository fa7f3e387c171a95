"""Dead letters: list them, replay or discard one. A resolved dead letter is never changed again."""

from datetime import datetime
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.rules.ledger import can_be_live
from postino.rules.replay import find_replay_objection
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.job_actions import check_payload, record_action, refuse_action
from postino.stores.operations.jobs import get_job
from postino.stores.operations.ledger import get_ledger, get_lookup_time
from postino.stores.records import AuditContext, DeadLetter, DeadLetterFilter
from postino.stores.rows import to_dead_letter
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job, get_lane, no_dead_letter
from postino.values.post import POST


def replay_dead_letter(
    job_id: UUID, payload: bytes | None, force: bool, audit: AuditContext, run_at: datetime | None = None
) -> Operation[Job]:
    """Put a failed job back in its queue, now or at `run_at`. Raises Conflict where a replay is not allowed, and
    WrongUse for another payload of a post.

    A job that is already published comes back as it is. What may be live is looked up before anything is sent again.
    """
    letter = yield from lock_open_letter(job_id, "replayed")
    if payload is not None:
        check_payload(letter.job)
    if letter.job.remote_id is not None:
        return (yield from get_job(job_id))  # published already
    is_post = letter.job.type == POST
    refusal = find_replay_objection(letter.cause, edited=payload is not None, force=force, is_post=is_post)
    if refusal:
        raise Conflict(f"Job {job_id} was not replayed. {refusal}")
    ledger = yield from get_ledger(job_id)
    may_be_live = can_be_live(ledger)
    if may_be_live and payload is not None:
        message = "part of it may be live already, so its payload cannot change. Replay it as it is."
        raise Conflict(f"Job {job_id} was not replayed: {message}")
    if not may_be_live:
        yield ask("delete_steps", job_id=job_id)
    lane = get_lane(letter.job.account, letter.job.brand)
    yield ask(
        "replay_dead_letter",
        id=job_id,
        generation=letter.job.generation,
        payload=payload,
        lane=lane,
        run_at=run_at,
        may_be_live=may_be_live,
        lookup_at=get_lookup_time(ledger),
    )
    return (yield from record_action(job_id, EventType.REPLAYED, audit))


def discard_dead_letter(job_id: UUID, audit: AuditContext) -> Operation[DeadLetter]:
    """Resolve a dead letter without a replay. Raises Conflict if it is not open."""
    letter = yield from lock_open_letter(job_id, "discarded")
    discarded = yield ask("discard_dead_letter", id=job_id, generation=letter.job.generation)
    yield from write_audit_entry(audit, "dead_letter.discarded", str(job_id))
    return to_dead_letter(discarded[0])


def lock_open_letter(job_id: UUID, action: str) -> Operation[DeadLetter]:
    """Lock the dead letter of a job. Raises Conflict if it is not open."""
    rows = yield ask("lock_dead_letter", id=job_id)
    if not rows or rows[0]["resolved_at"] is not None:
        yield from refuse_action(job_id, action)
    return to_dead_letter(rows[0])


def get_dead_letter(job_id: UUID) -> Operation[DeadLetter]:
    """Return the latest dead letter of a job. Raises NotFound."""
    letters = yield from list_dead_letters(DeadLetterFilter(ids=(job_id,), resolved=True, limit=1))
    if not letters:
        raise NotFound(no_dead_letter(job_id))
    return letters[0]


def list_dead_letters(filter: DeadLetterFilter) -> Operation[list[DeadLetter]]:
    """Return the dead letters that match the filter, newest first."""
    rows = yield ask(
        "list_dead_letters",
        ids=list(filter.ids),
        type=filter.type,
        channel=filter.channel,
        cause=filter.cause,
        account=filter.account,
        brands=None if filter.brands is None else list(filter.brands),
        resolved=filter.resolved,
        before=filter.before,
        limit=filter.limit,
        max_bytes=filter.max_bytes,
    )
    return [to_dead_letter(row) for row in rows]


def measure_dead_letter(letter: DeadLetter) -> int:
    """Return the size of the payload and the trace of a dead letter, as the query measures it."""
    return len(letter.job.payload) + len(letter.trace or "")
