"""Actions of a person on one job: each compares and sets, and writes an audit entry in the same transaction."""

from datetime import datetime
from typing import NoReturn
from uuid import UUID

from postino.errors import Conflict, WrongUse
from postino.rules.ledger import SUSPICIONS, can_be_live, has_live_step, list_open_intents, list_uncertain_intents
from postino.rules.replay import find_payload_objection
from postino.rules.settlement import choose_retry_time, settle_resolution
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.jobs import get_job
from postino.stores.operations.ledger import claim_remote_id, get_ledger, record_receipt
from postino.stores.operations.post_events import make_action_event, write_post_events
from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, AuditContext, SettledJob
from postino.stores.rows import set_owner, to_unfinished_jobs
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.ledger import ReceiptEntry, ReceiptSource, Verdict
from postino.values.outcome import Done, Reject, Retry
from postino.values.post import POST
from postino.values.provider import Receipt


def cancel_job(job_id: UUID, audit: AuditContext) -> Operation[Job]:
    """Cancel a job of which nothing was sent. Raises Conflict otherwise.

    A running post loses its claim, so that its worker cannot send it any more. Any other running job may have done
    something that Postino does not know of.
    """
    rows = yield ask("cancel_job", id=job_id, post=POST)
    if not rows:
        yield from refuse_action(job_id, "cancelled")
    return (yield from record_action(job_id, EventType.CANCELLED, audit))


def edit_job(job_id: UUID, payload: bytes, audit: AuditContext) -> Operation[Job]:
    """Replace the payload of a job of which nothing was sent, and forget its steps. Raises Conflict otherwise.

    Raises WrongUse for a post, whose payload changes only with its content: see `edit_post`.
    """
    check_payload((yield from get_job(job_id)))
    return (yield from replace_payload(job_id, payload, audit))


def check_payload(job: Job) -> None:
    """Raise WrongUse if the payload of this job cannot be replaced."""
    if objection := find_payload_objection(job.type, job.id):
        raise WrongUse(objection, field="payload")


def replace_payload(job_id: UUID, payload: bytes, audit: AuditContext) -> Operation[Job]:
    """Replace the payload, which must be that of the post's new content if the job is a post."""
    rows = yield ask("set_payload", id=job_id, payload=payload)
    if not rows:
        yield from refuse_action(job_id, "edited")
    yield ask("delete_steps", job_id=job_id)
    return (yield from record_action(job_id, EventType.EDITED, audit))


def reschedule_job(
    job_id: UUID, run_at: datetime | None, audit: AuditContext, ignore_blackouts: bool = False
) -> Operation[Job]:
    """Move a job of which nothing was sent to another time, or to now. Raises Conflict otherwise.

    `ignore_blackouts` lets it run in blackouts, until it is rescheduled again. That a post was due is noted: if the
    database turns out to be a backup, the post may have been published at its former time.
    """
    former = yield ask("lock_job", id=job_id)
    rows = yield ask("reschedule_job", id=job_id, run_at=run_at, ignore_blackouts=ignore_blackouts)
    if not rows:
        yield from refuse_action(job_id, "rescheduled")
    yield ask("mark_post_immediate" if run_at is None else "mark_post_scheduled", id=job_id)
    yield ask("mark_post_postponed", id=job_id, former_at=former[0]["scheduled_at"])
    return (yield from record_action(job_id, EventType.RESCHEDULED, audit))


def resolve_job(
    job_id: UUID, verdict: Done | Retry | Reject, audit: AuditContext, *, id_scope: str = ""
) -> Operation[Job]:
    """Settle an uncertain job as a person decided. Raises Conflict if it is not uncertain.

    A remote id of a job without a visible call in doubt is unique in `id_scope`.
    """
    locked = yield ask("lock_job", id=job_id)
    if not locked or locked[0]["state"] != State.UNCERTAIN:
        yield from refuse_action(job_id, "resolved")
    clock = yield ask("get_time")
    job = to_unfinished_jobs(locked)[0]
    continues = yield from record_verdict(job, verdict, audit, id_scope)
    # With the verdict in its ledger the job can run again: it skips the steps that are live and sends the others.
    now = clock[0]["now_at"]
    is_begun = can_be_live((yield from get_ledger(job_id)))
    at = choose_retry_time(job, now, is_begun=is_begun) if isinstance(verdict, Retry) else now
    settlement = settle_resolution(Retry("") if continues else verdict, at, job.last_error or job.deferral_reason)
    message = f"{audit.actor} decided: {audit.reason}" if audit.reason else f"{audit.actor} decided."
    owned = set_owner(job, f"person:{audit.actor}", now)
    yield from settle([SettledJob(owned, settlement, AttemptError(None, message))])
    return (yield from record_action(job_id, EventType.RESOLVED, audit))


def record_verdict(job: Job, verdict: Done | Retry | Reject, audit: AuditContext, id_scope: str) -> Operation[bool]:
    """Record a person's verdict on the visible calls in doubt; return whether the job can run again."""
    ledger = yield from get_ledger(job.id)
    in_doubt = [intent for intent in list_uncertain_intents(ledger) if intent.step not in SUSPICIONS]
    if not in_doubt and isinstance(verdict, Done) and verdict.remote_id and job.account is not None:
        receipt = Receipt(remote_id=verdict.remote_id)
        held_by = yield from claim_remote_id(job, receipt, ReceiptSource.PERSON, id_scope=id_scope)
        if held_by != job.id:
            raise Conflict(f"That remote post belongs to job {held_by}, not to {job.id}. Nothing was changed.")
    if isinstance(verdict, Reject) or (isinstance(verdict, Done) and not in_doubt):
        return False
    if isinstance(verdict, Done):
        if not verdict.remote_id:
            message = f"remote_id: say which post job {job.id} became, by its id on the network. Nothing was changed."
            raise WrongUse(message, field="remote_id")
        step, number = in_doubt[-1].step, in_doubt[-1].number
        entries = [make_person_receipt(step, number, audit, Receipt(remote_id=verdict.remote_id))]
    else:
        entries = [make_person_receipt(intent.step, intent.number, audit) for intent in list_open_intents(ledger)]
    for entry in entries:
        recorded = yield from record_receipt(job.id, entry)
        if recorded.held_by is not None:
            raise Conflict(f"That remote post belongs to job {recorded.held_by}, not to {job.id}. Nothing was changed.")
    return bool(entries)


def make_person_receipt(step: str, number: int, audit: AuditContext, receipt: Receipt | None = None) -> ReceiptEntry:
    """Return a receipt from a person: accepted if the person names a post, otherwise refused."""
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
    if job.may_be_live and not job.state.is_final and has_live_step((yield from get_ledger(job_id))):
        raise Conflict(f"Job {job_id} cannot be {action}: {describe_live_part(job)}. Nothing was changed.")
    because = {
        State.PENDING: "it has already sent something" if job.may_be_live else "it is waiting and has not failed",
        State.RUNNING: describe_run(job),
        State.UNCERTAIN: "something may already have been sent; resolve it first",
        State.COMPLETED: f"it is {'published' if job.type == POST else 'completed'}, and that is final",
        State.FAILED: "it failed; only an open dead letter can be replayed or discarded",
        State.CANCELLED: "it was cancelled, and that is final",
    }[job.state]
    raise Conflict(f"Job {job_id} cannot be {action}: {because}. Nothing was changed.")


def describe_live_part(job: Job) -> str:
    """Say why a job cannot be changed of which a part is live, and what happens to the rest."""
    verb, noun = ("published", "post") if job.type == POST else ("done", "job")
    if job.state is State.UNCERTAIN:
        return f"a part of it is already {verb}, and another part may be; resolve the {noun} instead"
    return f"at least a part of it is already {verb}, and Postino continues with the rest"


def describe_run(job: Job) -> str:
    """Say why a running job cannot be changed, and what a person can do."""
    if job.type != POST:
        return "it is running now, and its handler may have done something already; try again when it waits"
    if job.may_be_live:
        return "its request may have left already; if the network refuses it, it waits, and you can try again"
    return "it is being published now; cancel it, or try again when it waits"
