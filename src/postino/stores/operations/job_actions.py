"""Actions of a person on one job: each compares and sets, and writes an audit entry in the same transaction."""

from datetime import datetime
from typing import NoReturn
from uuid import UUID

from postino.errors import Conflict, WrongUse
from postino.rules.ledger import list_open_intents, list_uncertain_intents
from postino.rules.settlement import settle_resolution as verdict_on
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.jobs import get_job
from postino.stores.operations.ledger import claim_remote_id, get_ledger, record_receipt
from postino.stores.operations.post_events import make_action_event, write_post_events
from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, AuditContext, SettledJob
from postino.stores.rows import set_owner, to_live_jobs
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.ledger import ReceiptEntry, ReceiptSource, Verdict
from postino.values.outcome import Done, Reject, Retry
from postino.values.post import POST
from postino.values.provider import Receipt


def cancel_job(job_id: UUID, audit: AuditContext) -> Operation[Job]:
    """Cancel a job of which nothing was sent. Raises Conflict otherwise."""
    yield ask("clear_may_be_live", id=job_id)
    rows = yield ask("cancel_job", id=job_id)
    if not rows:
        yield from refuse_action(job_id, "cancelled")
    return (yield from record_action(job_id, EventType.CANCELLED, audit))


def edit_job(job_id: UUID, payload: bytes, audit: AuditContext) -> Operation[Job]:
    """Replace the payload of a job of which nothing was sent, and forget its steps. Raises Conflict otherwise."""
    yield ask("clear_may_be_live", id=job_id)
    rows = yield ask("set_payload", id=job_id, payload=payload)
    if not rows:
        yield from refuse_action(job_id, "edited")
    yield ask("delete_steps", job_id=job_id)
    return (yield from record_action(job_id, EventType.EDITED, audit))


def reschedule_job(
    job_id: UUID, run_at: datetime | None, audit: AuditContext, ignore_blackouts: bool = False
) -> Operation[Job]:
    """Move a job of which nothing was sent to another time, or to now. Raises Conflict otherwise.

    `ignore_blackouts` lets it run in blackouts, until it is rescheduled again.
    """
    yield ask("clear_may_be_live", id=job_id)
    rows = yield ask("reschedule_job", id=job_id, run_at=run_at, ignore_blackouts=ignore_blackouts)
    if not rows:
        yield from refuse_action(job_id, "rescheduled")
    return (yield from record_action(job_id, EventType.RESCHEDULED, audit))


def resolve_job(job_id: UUID, verdict: Done | Retry | Reject, audit: AuditContext) -> Operation[Job]:
    """Settle an uncertain job as a person decided. Raises Conflict if it is not uncertain."""
    locked = yield ask("lock_job", id=job_id)
    if not locked or locked[0]["state"] != State.UNCERTAIN:
        yield from refuse_action(job_id, "resolved")
    clock = yield ask("get_time")
    job = to_live_jobs(locked)[0]
    goes_on = yield from record_verdict(job, verdict, audit)
    # With the verdict in the ledger the job goes on by itself: it skips what is live and sends what follows. It sends
    # again only when no earlier request can still arrive.
    now = clock[0]["now_at"]
    at = max(now, job.lookup_at or now) if isinstance(verdict, Retry) else now
    settlement = verdict_on(Retry("") if goes_on else verdict, at, job.last_error or job.deferral_reason)
    message = f"{audit.actor} decided: {audit.reason}" if audit.reason else f"{audit.actor} decided."
    owned = set_owner(job, f"person:{audit.actor}", now)
    yield from settle([SettledJob(owned, settlement, AttemptError(None, message))])
    return (yield from record_action(job_id, EventType.RESOLVED, audit))


def record_verdict(job: Job, verdict: Done | Retry | Reject, audit: AuditContext) -> Operation[bool]:
    """Record a person's verdict on the visible calls in doubt; return whether the job goes on by itself."""
    ledger = yield from get_ledger(job.id)
    in_doubt = list_uncertain_intents(ledger)
    if not in_doubt and isinstance(verdict, Done) and verdict.remote_id and job.account is not None:
        held_by = yield from claim_remote_id(job, verdict.remote_id)
        if held_by != job.id:
            raise Conflict(f"That remote post belongs to job {held_by}, not to {job.id}. Nothing was changed.")
    if not in_doubt or isinstance(verdict, Reject):
        return False
    if isinstance(verdict, Done):
        if not verdict.remote_id:
            message = f"remote_id: say which post job {job.id} became, by its id on the network. Nothing was changed."
            raise WrongUse(message, field="remote_id")
        step, number = in_doubt[-1].step, in_doubt[-1].number
        facts = [make_person_fact(step, number, audit, Receipt(remote_id=verdict.remote_id))]
    else:
        facts = [make_person_fact(intent.step, intent.number, audit) for intent in list_open_intents(ledger)]
    for fact in facts:
        recorded = yield from record_receipt(job.id, fact)
        if recorded.held_by is not None:
            raise Conflict(f"That remote post belongs to job {recorded.held_by}, not to {job.id}. Nothing was changed.")
    return True


def make_person_fact(step: str, number: int, audit: AuditContext, receipt: Receipt | None = None) -> ReceiptEntry:
    """Return the fact that a person states: accepted with a receipt, otherwise refused."""
    verdict = Verdict.REFUSED if receipt is None else Verdict.ACCEPTED
    why = audit.reason or None
    return ReceiptEntry(
        step=step, number=number, verdict=verdict, source=ReceiptSource.PERSON, receipt=receipt, why=why
    )


def record_action(job_id: UUID, event: EventType, audit: AuditContext) -> Operation[Job]:
    """Insert the event and the audit entry of an action; return the job as it is now."""
    yield from insert_event(event, job_id, {"actor": audit.actor, "reason": audit.reason})
    yield from write_audit_entry(audit, event, str(job_id))
    job = yield from get_job(job_id)
    post_event = make_action_event(job, event, audit)
    if post_event is not None:
        yield from write_post_events([post_event])
    return job


def refuse_action(job_id: UUID, action: str) -> Operation[NoReturn]:
    """Raise Conflict with the reason, taken from the job's state."""
    job = yield from get_job(job_id)
    because = {
        State.PENDING: "it has already sent something" if job.may_be_live else "it is waiting and has not failed",
        State.RUNNING: "it is running now",
        State.UNCERTAIN: "something may already have been sent; resolve it first",
        State.COMPLETED: f"it is {'published' if job.type == POST else 'completed'}, and that is final",
        State.FAILED: "it failed; only an open dead letter can be replayed or discarded",
        State.CANCELLED: "it was cancelled, and that is final",
    }[job.state]
    raise Conflict(f"Job {job_id} cannot be {action}: {because}. Nothing was changed.")
