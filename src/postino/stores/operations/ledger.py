"""The ledger: results of steps, intents to send, and receipts.

A step or an intent is written only by the worker that holds the job; a receipt is accepted from anyone, at any time.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.rules.ledger import can_be_live, is_duplicate_receipt, list_uncertain_intents
from postino.stores.operations.text import clean_text
from postino.stores.rows import to_job
from postino.stores.statement import Operation, Row, ask, each
from postino.values.database import Batch
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

INTENT_COLUMNS = ("job_id", "token", "step", "position", "number", "send_within", "lookup_delay", "limit", "id_scope")


def get_ledger(job_id: UUID) -> Operation[Ledger]:
    """Return the steps, intents and receipts of a job."""
    steps = yield ask("list_steps", job_id=job_id)
    intents = yield ask("list_intents", job_id=job_id)
    receipts = yield ask("list_receipts", job_id=job_id)
    return Ledger(
        tuple(StepEntry(**row) for row in steps),
        tuple(IntentEntry(**row) for row in intents),
        tuple(to_receipt_entry(row) for row in receipts),
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


def extend_deadline(job: Job, limit: float) -> Operation[None]:
    """Give a job so many seconds from now, if its worker still holds it."""
    yield ask("extend_deadline", job_id=job.id, token=job.token, limit=limit)


def forget_step(job: Job, name: str) -> Operation[bool]:
    """Forget a step, and all others if nothing was sent yet, so that the next run starts anew."""
    return bool((yield ask("delete_step", job_id=job.id, token=job.token, name=name)))


def record_intents(intents: Sequence[NewIntent], batch: Batch | None = None) -> Operation[list[IntentEntry | None]]:
    """Store intents to send. From here on the job may be live, until a receipt says that it is not.

    None for an intent whose worker no longer holds the job. An intent that exists stays as it is. Nothing is stored and
    nothing returned if the database is closed or is not as the witness of the batch knows it.
    """
    fence = (
        dict.fromkeys(Batch.__slots__) if batch is None else {name: getattr(batch, name) for name in Batch.__slots__}
    )
    rows = yield each(
        "insert_intents", [{name: getattr(intent, name) for name in INTENT_COLUMNS} for intent in intents], **fence
    )
    if batch is not None and all(row["job_id"] is not None for row in rows):
        return []
    entries = {(row["job_id"], row["step"], row["number"]): to_intent(row) for row in rows if row["job_id"] is not None}
    return [entries.get((intent.job_id, intent.step, intent.number)) for intent in intents]


def record_receipt(job_id: UUID, entry: ReceiptEntry) -> Operation[RecordedReceipt]:
    """Store the receipt of a visible call, under the job's lock if it is unfinished.

    The job may be live as long as its ledger says so: after a definite refusal of all that was sent, gates hold it
    like a job that sent nothing. An uncertain job becomes due for its next lookup at once. A remote id that belongs to
    another job is not stored.
    """
    yield ask("lock_job", id=job_id)
    rows = yield ask("get_job", id=job_id)
    job = to_job(rows[0]) if rows else None
    entry = clean_receipt(entry)
    receipt = entry.receipt
    if receipt is not None and job is not None:
        held_by = yield from claim_remote_id(job, receipt, entry.source, entry.step, entry.number)
        if held_by != job_id:
            return RecordedReceipt(job.lookup_at, held_by=held_by)
    rows = yield ask("insert_receipt", job_id=job_id, **make_receipt_values(entry))
    ledger = yield from get_ledger(job_id)
    is_duplicate = bool(rows) and is_duplicate_receipt(ledger, entry)
    if is_duplicate:
        yield ask(
            "insert_event",
            type=EventType.DUPLICATED,
            job_id=job_id,
            data=json.dumps(describe_duplicate(ledger, entry.step)),
        )
    lookup_at = get_lookup_time(ledger)
    yield ask("apply_ledger", job_id=job_id, may_be_live=can_be_live(ledger), lookup_at=lookup_at)
    return RecordedReceipt(lookup_at, is_duplicate=is_duplicate)


def claim_remote_id(
    job: Job, receipt: Receipt, source: ReceiptSource, step: str = "", number: int = 0, *, id_scope: str = ""
) -> Operation[UUID]:
    """Claim the remote id of a receipt for a job; return the job that has it.

    The id is unique where the response says, else in the scope of the intent; without an intent, in `id_scope`.
    """
    place = {"channel": job.channel, "account": job.account or "", "job_id": job.id, "step": step, "number": number}
    scope = receipt.id_scope
    if scope is None and source is ReceiptSource.PERSON:
        newest = yield ask("find_newest_scope", id_scope=id_scope, **place)
        scope = newest[0]["scope"] if newest else None
    rows = yield ask("claim_remote_id", remote_id=receipt.remote_id, response_scope=scope, id_scope=id_scope, **place)
    holder: UUID = rows[0]["job_id"]
    return holder


def find_remote_ids_of_others(job: Job, remote_ids: Sequence[str], scope: str = "") -> Operation[set[str]]:
    """Return those of the remote ids, unique in this scope, that belong to other jobs of the account."""
    owner = {"channel": job.channel, "account": job.account or "", "scope": scope, "job_id": job.id}
    names = {clean_text(remote_id): remote_id for remote_id in remote_ids}
    rows = yield ask("find_foreign_remote_ids", remote_ids=list(names), **owner)
    return {names[row["remote_id"]] for row in rows}


def get_lookup_time(ledger: Ledger) -> datetime | None:
    """Return when the network may be asked about all that is in doubt; None if nothing is."""
    return max((intent.lookup_at for intent in list_uncertain_intents(ledger)), default=None)


def describe_duplicate(ledger: Ledger, step: str) -> dict[str, Any]:
    """Return the event data of a step with two remote ids."""
    ids = {entry.receipt.remote_id for entry in ledger.receipts if entry.step == step and entry.receipt is not None}
    return {"step": step, "remote_ids": sorted(ids)}


def clean_receipt(entry: ReceiptEntry) -> ReceiptEntry:
    """Return a receipt that every database can store, whatever text the network returned."""
    receipt = entry.receipt
    if receipt is not None:
        receipt = replace(receipt, remote_id=clean_text(receipt.remote_id) or "", url=clean_text(receipt.url))
    return replace(entry, receipt=receipt, why=clean_text(entry.why))


def make_receipt_values(entry: ReceiptEntry) -> dict[str, Any]:
    """Return the columns of a receipt."""
    receipt = entry.receipt
    return {
        "step": entry.step,
        "number": entry.number,
        "verdict": entry.verdict,
        "source": entry.source,
        "why": entry.why,
        "remote_id": receipt.remote_id if receipt else "",
        "url": receipt.url if receipt else None,
        "data": json.dumps(dict(receipt.data)) if receipt else "{}",
    }


def to_receipt_entry(row: Row) -> ReceiptEntry:
    """Return the receipt in a row."""
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
