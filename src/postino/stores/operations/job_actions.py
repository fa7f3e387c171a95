"""What a person does: compare-and-set, with a line in the audit trail in the same transaction."""

from datetime import datetime
from typing import NoReturn
from uuid import UUID

from postino.errors import Conflict, WrongUse
from postino.rules.ledger import doubts, unanswered
from postino.rules.settlement import verdict as verdict_on
from postino.stores import rows
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.jobs import get_job
from postino.stores.operations.ledger import claim_remote_id, get_ledger, record_receipt
from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, AuditContext, SettledJob
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.ledger import Fact, Source, Verdict
from postino.values.outcome import Done, Reject, Retry
from postino.values.post import POST
from postino.values.provider import Receipt


def cancel_job(job_id: UUID, act: AuditContext) -> Operation[Job]:
    yield ask("clear_may_be_live", id=job_id)
    done = yield ask("cancel_job", id=job_id)
    if not done:
        yield from refuse_action(job_id, "cancelled")
    return (yield from record_action(job_id, EventType.CANCELLED, act))


def edit_job(job_id: UUID, payload: bytes, act: AuditContext) -> Operation[Job]:
    yield ask("clear_may_be_live", id=job_id)
    done = yield ask("set_payload", id=job_id, payload=payload)
    if not done:
        yield from refuse_action(job_id, "edited")
    yield ask("delete_steps", job_id=job_id)
    return (yield from record_action(job_id, EventType.EDITED, act))


def reschedule_job(
    job_id: UUID, run_at: datetime | None, act: AuditContext, regardless: bool = False
) -> Operation[Job]:
    """`regardless` of blackouts, if a person says so of this very time."""
    yield ask("clear_may_be_live", id=job_id)
    done = yield ask("reschedule_job", id=job_id, run_at=run_at, regardless=regardless)
    if not done:
        yield from refuse_action(job_id, "rescheduled")
    return (yield from record_action(job_id, EventType.RESCHEDULED, act))


def resolve_job(job_id: UUID, verdict: Done | Retry | Reject, act: AuditContext) -> Operation[Job]:
    locked = yield ask("lock_job", id=job_id)
    if not locked or locked[0]["state"] != State.UNCERTAIN:
        yield from refuse_action(job_id, "resolved")
    clock = yield ask("get_time")
    job = rows.live_jobs(locked)[0]
    goes_on = yield from record_verdict(job, verdict, act)
    # With the answer in the ledger the job goes on by itself: nothing is sent that is out there, and what follows is.
    # Sent again it is only when nothing can be on its way any more.
    now = clock[0]["now_at"]
    at = max(now, job.look_at or now) if isinstance(verdict, Retry) else now
    settlement = verdict_on(Retry("") if goes_on else verdict, at, job.last_error or job.deferred)
    said = f"{act.actor} decided: {act.reason}" if act.reason else f"{act.actor} decided."
    taken = rows.with_owner(job, f"person:{act.actor}", now)
    yield from settle([SettledJob(taken, settlement, AttemptError(None, said))])
    return (yield from record_action(job_id, EventType.RESOLVED, act))


def record_verdict(job: Job, verdict: Done | Retry | Reject, act: AuditContext) -> Operation[bool]:
    """A person's word in the place of the network's, about each visible call that is in doubt."""
    known = yield from get_ledger(job.id)
    in_doubt = doubts(known)
    if not in_doubt and isinstance(verdict, Done) and verdict.remote_id and job.account is not None:
        held_by = yield from claim_remote_id(job, verdict.remote_id)
        if held_by != job.id:
            raise Conflict(f"That remote post belongs to job {held_by}, not to {job.id}. Nothing was changed.")
    if not in_doubt or isinstance(verdict, Reject):
        return False
    if isinstance(verdict, Done):
        if not verdict.remote_id:
            told = f"remote_id: say which post job {job.id} became, by its id on the network. Nothing was changed."
            raise WrongUse(told, field="remote_id")
        step, number = in_doubt[-1].step, in_doubt[-1].number
        facts = [make_person_fact(step, number, act, Receipt(remote_id=verdict.remote_id))]
    else:
        facts = [make_person_fact(intent.step, intent.number, act) for intent in unanswered(known)]
    for fact in facts:
        noted = yield from record_receipt(job.id, fact)
        if noted.held_by is not None:
            raise Conflict(f"That remote post belongs to job {noted.held_by}, not to {job.id}. Nothing was changed.")
    return True


def make_person_fact(step: str, number: int, act: AuditContext, receipt: Receipt | None = None) -> Fact:
    verdict = Verdict.REFUSED if receipt is None else Verdict.ACCEPTED
    why = act.reason or None
    return Fact(step=step, number=number, verdict=verdict, told_by=Source.PERSON, receipt=receipt, why=why)


def record_action(job_id: UUID, done: EventType, act: AuditContext) -> Operation[Job]:
    yield from insert_event(done, job_id, {"actor": act.actor, "reason": act.reason})
    yield from write_audit_entry(act, done, str(job_id))
    return (yield from get_job(job_id))


def refuse_action(job_id: UUID, wanted: str) -> Operation[NoReturn]:
    """Says why not, from what the job is now."""
    job = yield from get_job(job_id)
    because = {
        State.PENDING: "it has already sent something" if job.sent else "it is waiting for its turn, it did not fail",
        State.RUNNING: "it is running now",
        State.UNCERTAIN: "something may already have been sent, and a person has to say whether it was",
        State.COMPLETED: f"it is {'published' if job.type == POST else 'completed'}, and that is final",
        State.FAILED: "it failed; an open dead letter can be replayed or discarded, a discarded one stays as it is",
        State.CANCELLED: "it was cancelled, and that is final",
    }[job.state]
    raise Conflict(f"Job {job_id} cannot be {wanted}: {because}. Nothing was changed.")
