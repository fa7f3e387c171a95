"""What a person does: compare-and-set, with a line in the audit trail in the same transaction."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn
from uuid import UUID

from postino.errors import Conflict, NotFound, WrongUse
from postino.rules.ledger import doubts, is_out, unanswered
from postino.rules.replay import why_not
from postino.rules.settlement import verdict as verdict_on
from postino.stores import rows
from postino.stores.audit import START, chained
from postino.stores.operations import ledger
from postino.stores.operations.settle import clean, settle
from postino.stores.records import Act, DeadLetter, Ending, Failure
from postino.stores.statement import Operation, ask
from postino.values.event import EventType, account_in
from postino.values.job import Job, State, lane_of
from postino.values.ledger import Fact, Source, Verdict
from postino.values.outcome import Done, Reject, Retry
from postino.values.post import POST
from postino.values.provider import Receipt


def get(job_id: UUID) -> Operation[Job]:
    found = yield ask("get", id=job_id)
    if not found:
        raise NotFound(f"There is no job {job_id}. The list of jobs shows the newest ones.")
    return rows.any_job(found[0])


def cancel(job_id: UUID, act: Act) -> Operation[Job]:
    yield ask("take_back", id=job_id)
    done = yield ask("cancel", id=job_id)
    if not done:
        yield from refuse(job_id, "cancelled")
    return (yield from recorded(job_id, EventType.CANCELLED, act))


def edit(job_id: UUID, payload: bytes, act: Act) -> Operation[Job]:
    yield ask("take_back", id=job_id)
    done = yield ask("edit", id=job_id, payload=payload)
    if not done:
        yield from refuse(job_id, "edited")
    yield ask("forget_steps", job_id=job_id)
    return (yield from recorded(job_id, EventType.EDITED, act))


def reschedule(job_id: UUID, run_at: datetime | None, act: Act, regardless: bool = False) -> Operation[Job]:
    """`regardless` of blackouts, if a person says so of this very time."""
    yield ask("take_back", id=job_id)
    done = yield ask("reschedule", id=job_id, run_at=run_at, regardless=regardless)
    if not done:
        yield from refuse(job_id, "rescheduled")
    return (yield from recorded(job_id, EventType.RESCHEDULED, act))


def resolve(job_id: UUID, verdict: Done | Retry | Reject, act: Act) -> Operation[Job]:
    locked = yield ask("lock_job", id=job_id)
    if not locked or locked[0]["state"] != State.UNCERTAIN:
        yield from refuse(job_id, "resolved")
    clock = yield ask("clock")
    job = rows.live_jobs(locked)[0]
    goes_on = yield from answer_for(job, verdict, act)
    # With the answer in the ledger the job goes on by itself: nothing is sent that is out there, and what follows is.
    # Sent again it is only when nothing can be on its way any more.
    now = clock[0]["now_at"]
    at = max(now, job.look_at or now) if isinstance(verdict, Retry) else now
    settlement = verdict_on(Retry("") if goes_on else verdict, at, job.last_error or job.deferred)
    said = f"{act.actor} decided: {act.reason}" if act.reason else f"{act.actor} decided."
    taken = rows.with_owner(job, f"person:{act.actor}", now)
    yield from settle([Ending(taken, settlement, Failure(None, said))])
    return (yield from recorded(job_id, EventType.RESOLVED, act))


def answer_for(job: Job, verdict: Done | Retry | Reject, act: Act) -> Operation[bool]:
    """A person's word in the place of the network's, about each visible call that is in doubt."""
    known = yield from ledger.ledger(job.id)
    in_doubt = doubts(known)
    if not in_doubt and isinstance(verdict, Done) and verdict.remote_id and job.account is not None:
        held_by = yield from ledger.hold(job, verdict.remote_id)
        if held_by != job.id:
            raise Conflict(f"That remote post belongs to job {held_by}, not to {job.id}. Nothing was changed.")
    if not in_doubt or isinstance(verdict, Reject):
        return False
    if isinstance(verdict, Done):
        if not verdict.remote_id:
            told = f"remote_id: say which post job {job.id} became, by its id on the network. Nothing was changed."
            raise WrongUse(told, field="remote_id")
        step, number = in_doubt[-1].step, in_doubt[-1].number
        facts = [said_by_person(step, number, act, Receipt(remote_id=verdict.remote_id))]
    else:
        facts = [said_by_person(intent.step, intent.number, act) for intent in unanswered(known)]
    for fact in facts:
        noted = yield from ledger.note(job.id, fact)
        if noted.held_by is not None:
            raise Conflict(f"That remote post belongs to job {noted.held_by}, not to {job.id}. Nothing was changed.")
    return True


def said_by_person(step: str, number: int, act: Act, receipt: Receipt | None = None) -> Fact:
    verdict = Verdict.REFUSED if receipt is None else Verdict.ACCEPTED
    why = act.reason or None
    return Fact(step=step, number=number, verdict=verdict, told_by=Source.PERSON, receipt=receipt, why=why)


def replay(
    job_id: UUID, payload: bytes | None, force: bool, act: Act, run_at: datetime | None = None
) -> Operation[Job]:
    letter = yield from open_letter(job_id, "replayed")
    if letter.job.remote_id is not None:
        return (yield from get(job_id))  # it is out already: the existing job comes back
    refusal = why_not(letter.cause, edited=payload is not None, force=force)
    if refusal:
        raise Conflict(f"Job {job_id} was not replayed. {refusal}")
    known = yield from ledger.ledger(job_id)
    out = is_out(known)
    if out and payload is not None:
        told = "something of it is out there, or may be, and what is out there cannot be edited. Replay it as it is."
        raise Conflict(f"Job {job_id} was not replayed: {told}")
    if not out:
        yield ask("forget_steps", job_id=job_id)
    lane = lane_of(letter.job.account, letter.job.brand)
    yield ask("replay", id=job_id, generation=letter.job.generation, payload=payload, lane=lane, run_at=run_at)
    if out:
        yield ask("doubt", job_id=job_id, look_at=ledger.open_until(known))
    return (yield from recorded(job_id, EventType.REPLAYED, act))


def discard(job_id: UUID, act: Act) -> Operation[DeadLetter]:
    letter = yield from open_letter(job_id, "discarded")
    discarded = yield ask("discard", id=job_id, generation=letter.job.generation)
    yield from write_audit(act, "dead_letter.discarded", str(job_id))
    return rows.dead_letter(discarded[0])


def open_letter(job_id: UUID, wanted: str) -> Operation[DeadLetter]:
    found = yield ask("lock_dead_letter", id=job_id)
    if not found or found[0]["resolved_at"] is not None:
        yield from refuse(job_id, wanted)
    return rows.dead_letter(found[0])


def recorded(job_id: UUID, done: EventType, act: Act) -> Operation[Job]:
    yield from told(done, job_id, {"actor": act.actor, "reason": act.reason})
    yield from write_audit(act, done, str(job_id))
    return (yield from get(job_id))


def told(event: EventType, job_id: UUID | None, data: Mapping[str, Any]) -> Operation[None]:
    """What is about an account keeps the brand that it has now: whose it is later is not whom it was about."""
    name = account_in(data) if job_id is None else None
    known = [] if name is None else (yield ask("accounts_named", ids=[name]))
    whose = {"brand": known[0]["brand"]} if known and known[0]["brand"] is not None else {}
    yield ask("tell", type=event, job_id=job_id, data=json.dumps({**data, **whose}))


def refuse(job_id: UUID, wanted: str) -> Operation[NoReturn]:
    """Says why not, from what the job is now."""
    job = yield from get(job_id)
    because = {
        State.PENDING: "it has already sent something" if job.sent else "it is waiting for its turn, it did not fail",
        State.RUNNING: "it is running now",
        State.UNCERTAIN: "something may already have been sent, and a person has to say whether it was",
        State.COMPLETED: f"it is {'published' if job.type == POST else 'completed'}, and that is final",
        State.FAILED: "it failed; an open dead letter can be replayed or discarded, a discarded one stays as it is",
        State.CANCELLED: "it was cancelled, and that is final",
    }[job.state]
    raise Conflict(f"Job {job_id} cannot be {wanted}: {because}. Nothing was changed.")


def write_audit(act: Act, action: str, subject: str, detail: str = "") -> Operation[None]:
    turn = yield ask("lock_audit")
    at: datetime = turn[0]["now_at"]
    last = yield ask("last_audit")
    previous, seq = (last[0]["hash"], last[0]["seq"]) if last else (START, 0)
    reason = clean(act.reason) or ""
    line = {"actor": act.actor, "action": action, "subject": subject, "reason": reason, "detail": detail}
    yield ask("write_audit", seq=seq + 1, at=at, **line, hash=chained(previous, at.isoformat(), *line.values()))
