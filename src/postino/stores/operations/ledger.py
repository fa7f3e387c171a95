"""What is remembered about steps, and what is known about visible calls."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.rules.ledger import doubled, doubts
from postino.stores import rows
from postino.stores.operations.text import clean_text
from postino.stores.statement import Operation, Row, ask, each
from postino.values.event import EventType
from postino.values.job import Job
from postino.values.ledger import Fact, IntentEntry, Ledger, NewIntent, Noted, Source, StepEntry, Verdict
from postino.values.provider import Receipt


def get_ledger(job_id: UUID) -> Operation[Ledger]:
    steps = yield ask("list_steps", job_id=job_id)
    intents = yield ask("list_intents", job_id=job_id)
    receipts = yield ask("list_receipts", job_id=job_id)
    return Ledger(
        tuple(StepEntry(**row) for row in steps),
        tuple(IntentEntry(**row) for row in intents),
        tuple(to_fact(row) for row in receipts),
    )


def save_step(
    job: Job, name: str, position: int, result: str | None, *, done: bool, limit: float | None = None
) -> Operation[StepEntry | None]:
    kept = yield ask(
        "save_step",
        job_id=job.id, token=job.token, name=name, position=position, result=result, done=done, limit=limit,
    )  # fmt: skip
    return StepEntry(**kept[0]) if kept else None


def forget_step(job: Job, name: str) -> Operation[bool]:
    return bool((yield ask("delete_step", job_id=job.id, token=job.token, name=name)))


def record_intents(intents: Sequence[NewIntent]) -> Operation[list[IntentEntry | None]]:
    names = NewIntent.__slots__
    found = yield each("insert_intents", [{name: getattr(intent, name) for name in names} for intent in intents])
    written = {(row["job_id"], row["step"], row["number"]): to_intent(row) for row in found}
    return [written.get((intent.job_id, intent.step, intent.number)) for intent in intents]


def record_receipt(job_id: UUID, fact: Fact) -> Operation[Noted]:
    """Under the job's lock, if it is live, so that what is known is not written down by two at once."""
    yield ask("lock_job", id=job_id)
    found = yield ask("get_job", id=job_id)
    job = rows.any_job(found[0]) if found else None
    fact = clean_fact(fact)
    receipt = fact.receipt
    if receipt is not None and job is not None:
        held_by = yield from claim_remote_id(job, receipt.remote_id)
        if held_by != job_id:
            return Noted(job.look_at, held_by=held_by)
    written = yield ask("insert_receipt", job_id=job_id, **make_fact_values(fact))
    known = yield from get_ledger(job_id)
    twice = bool(written) and doubled(known, fact)
    if twice:
        yield ask(
            "insert_event",
            type=EventType.DUPLICATED,
            job_id=job_id,
            data=json.dumps(describe_duplicate(known, fact.step)),
        )
    look_at = get_lookup_time(known)
    yield ask("requeue_uncertain", job_id=job_id, look_at=look_at)
    return Noted(look_at, doubled=twice)


def claim_remote_id(job: Job, remote_id: str) -> Operation[UUID]:
    held = yield ask(
        "claim_remote_id", channel=job.channel, account=job.account or "", remote_id=remote_id, job_id=job.id
    )
    holder: UUID = held[0]["job_id"]
    return holder


def find_remote_ids_of_others(job: Job, remote_ids: Sequence[str]) -> Operation[set[str]]:
    wanted = {"channel": job.channel, "account": job.account or "", "job_id": job.id}
    named = {clean_text(remote_id): remote_id for remote_id in remote_ids}
    found = yield ask("find_foreign_remote_ids", remote_ids=list(named), **wanted)
    return {named[row["remote_id"]] for row in found}


def get_lookup_time(known: Ledger) -> datetime | None:
    """When the network may be asked about all that is in doubt; None: nothing is."""
    return max((intent.look_at for intent in doubts(known)), default=None)


def describe_duplicate(known: Ledger, step: str) -> dict[str, Any]:
    ids = {fact.receipt.remote_id for fact in known.facts if fact.step == step and fact.receipt is not None}
    return {"step": step, "remote_ids": sorted(ids)}


def clean_fact(fact: Fact) -> Fact:
    """A network may say anything, and no answer may be lost because a database cannot keep it."""
    receipt = fact.receipt
    if receipt is not None:
        receipt = replace(receipt, remote_id=clean_text(receipt.remote_id) or "", url=clean_text(receipt.url))
    return replace(fact, receipt=receipt, why=clean_text(fact.why))


def make_fact_values(fact: Fact) -> dict[str, Any]:
    receipt = fact.receipt
    return {
        "step": fact.step,
        "number": fact.number,
        "verdict": fact.verdict,
        "told_by": fact.told_by,
        "why": fact.why,
        "remote_id": receipt.remote_id if receipt else "",
        "url": receipt.url if receipt else None,
        "data": json.dumps(dict(receipt.data)) if receipt else "{}",
    }


def to_fact(row: Row) -> Fact:
    receipt = Receipt(remote_id=row["remote_id"], url=row["url"], data=json.loads(row["data"]))
    return Fact(
        step=row["step"],
        number=row["number"],
        verdict=Verdict(row["verdict"]),
        told_by=Source(row["told_by"]),
        receipt=receipt if row["remote_id"] else None,
        why=row["why"],
        at=row["at"],
    )


def to_intent(row: Row) -> IntentEntry:
    return IntentEntry(**{name: row[name] for name in IntentEntry.__slots__})
