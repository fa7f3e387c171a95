"""The ledger: results of steps, intents to send, and receipts.

A step or an intent is written only by the worker that holds the job; a receipt is accepted from anyone, at any time.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.rules.ledger import is_duplicate_receipt, list_uncertain_intents
from postino.stores.operations.text import clean_text
from postino.stores.rows import to_job
from postino.stores.statement import Operation, Row, ask, each
from postino.values.event import EventType
from postino.values.job import Job
from postino.values.ledger import (
    IntentEntry,
    Ledger,
    NewIntent,
    ReceiptEntry,
    ReceiptSource,
    RecordedReceipt,
    StepEntry,
    Verdict,
)
from postino.values.provider import Receipt


def get_ledger(job_id: UUID) -> Operation[Ledger]:
    """Return the steps, intents and receipts of a job."""
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
    """Store the result of a step; return None if the worker no longer holds the job."""
    rows = yield ask(
        "save_step",
        job_id=job.id, token=job.token, name=name, position=position, result=result, done=done, limit=limit,
    )  # fmt: skip
    return StepEntry(**rows[0]) if rows else None


def forget_step(job: Job, name: str) -> Operation[bool]:
    """Forget a step, and all others if nothing was sent yet, so that the next run starts anew."""
    return bool((yield ask("delete_step", job_id=job.id, token=job.token, name=name)))


def record_intents(intents: Sequence[NewIntent]) -> Operation[list[IntentEntry | None]]:
    """Store intents to send. The job counts as sent from here on.

    None for an intent whose worker no longer holds the job. An intent that exists stays as it is.
    """
    names = NewIntent.__slots__
    rows = yield each("insert_intents", [{name: getattr(intent, name) for name in names} for intent in intents])
    entries = {(row["job_id"], row["step"], row["number"]): to_intent(row) for row in rows}
    return [entries.get((intent.job_id, intent.step, intent.number)) for intent in intents]


def record_receipt(job_id: UUID, fact: ReceiptEntry) -> Operation[RecordedReceipt]:
    """Store a fact about a visible call, under the job's lock if it is live.

    An uncertain job becomes due for its next lookup at once. A remote id that belongs to another job is not stored.
    """
    yield ask("lock_job", id=job_id)
    rows = yield ask("get_job", id=job_id)
    job = to_job(rows[0]) if rows else None
    fact = clean_fact(fact)
    receipt = fact.receipt
    if receipt is not None and job is not None:
        held_by = yield from claim_remote_id(job, receipt.remote_id)
        if held_by != job_id:
            return RecordedReceipt(job.lookup_at, held_by=held_by)
    rows = yield ask("insert_receipt", job_id=job_id, **make_fact_values(fact))
    ledger = yield from get_ledger(job_id)
    is_duplicate = bool(rows) and is_duplicate_receipt(ledger, fact)
    if is_duplicate:
        yield ask(
            "insert_event",
            type=EventType.DUPLICATED,
            job_id=job_id,
            data=json.dumps(describe_duplicate(ledger, fact.step)),
        )
    lookup_at = get_lookup_time(ledger)
    yield ask("requeue_uncertain", job_id=job_id, lookup_at=lookup_at)
    return RecordedReceipt(lookup_at, is_duplicate=is_duplicate)


def claim_remote_id(job: Job, remote_id: str) -> Operation[UUID]:
    """Claim a remote id for a job; return the job that has it."""
    rows = yield ask(
        "claim_remote_id", channel=job.channel, account=job.account or "", remote_id=remote_id, job_id=job.id
    )
    holder: UUID = rows[0]["job_id"]
    return holder


def find_remote_ids_of_others(job: Job, remote_ids: Sequence[str]) -> Operation[set[str]]:
    """Return those of the remote ids that belong to other jobs of the account."""
    scope = {"channel": job.channel, "account": job.account or "", "job_id": job.id}
    names = {clean_text(remote_id): remote_id for remote_id in remote_ids}
    rows = yield ask("find_foreign_remote_ids", remote_ids=list(names), **scope)
    return {names[row["remote_id"]] for row in rows}


def get_lookup_time(ledger: Ledger) -> datetime | None:
    """Return when the network may be asked about all that is in doubt; None if nothing is."""
    return max((intent.lookup_at for intent in list_uncertain_intents(ledger)), default=None)


def describe_duplicate(ledger: Ledger, step: str) -> dict[str, Any]:
    """Return the event data of a step with two remote ids."""
    ids = {fact.receipt.remote_id for fact in ledger.receipts if fact.step == step and fact.receipt is not None}
    return {"step": step, "remote_ids": sorted(ids)}


def clean_fact(fact: ReceiptEntry) -> ReceiptEntry:
    """Return a fact that every database can store, whatever the network said."""
    receipt = fact.receipt
    if receipt is not None:
        receipt = replace(receipt, remote_id=clean_text(receipt.remote_id) or "", url=clean_text(receipt.url))
    return replace(fact, receipt=receipt, why=clean_text(fact.why))


def make_fact_values(fact: ReceiptEntry) -> dict[str, Any]:
    """Return the columns of a fact."""
    receipt = fact.receipt
    return {
        "step": fact.step,
        "number": fact.number,
        "verdict": fact.verdict,
        "source": fact.source,
        "why": fact.why,
        "remote_id": receipt.remote_id if receipt else "",
        "url": receipt.url if receipt else None,
        "data": json.dumps(dict(receipt.data)) if receipt else "{}",
    }


def to_fact(row: Row) -> ReceiptEntry:
    """Return the fact in a row."""
    receipt = Receipt(remote_id=row["remote_id"], url=row["url"], data=json.loads(row["data"]))
    return ReceiptEntry(
        step=row["step"],
        number=row["number"],
        verdict=Verdict(row["verdict"]),
        source=ReceiptSource(row["source"]),
        receipt=receipt if row["remote_id"] else None,
        why=row["why"],
        at=row["at"],
    )


def to_intent(row: Row) -> IntentEntry:
    """Return the intent in a row."""
    return IntentEntry(**{name: row[name] for name in IntentEntry.__slots__})
