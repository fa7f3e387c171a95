"""The audit trail: append entries and read them. Each entry's hash covers the entry before it."""

from datetime import datetime

from postino.stores.audit import FIRST_HASH, INSERT, compute_chain_hash
from postino.stores.operations.text import clean_text
from postino.stores.records import AuditContext, AuditEntry
from postino.stores.rows import to_audit_entry
from postino.stores.statement import Operation, ask


def write_audit_entry(audit: AuditContext, action: str, subject: str, detail: str = "") -> Operation[None]:
    """Append an entry under the trail's lock, so that the chain of hashes has one order."""
    turn = yield ask("lock_audit")
    at: datetime = turn[0]["now_at"]
    last = yield ask("get_last_audit_entry")
    previous, seq = (last[0]["hash"], last[0]["seq"]) if last else (FIRST_HASH, 0)
    reason = clean_text(audit.reason) or ""
    line = {"actor": audit.actor, "action": action, "subject": subject, "reason": reason, "detail": detail}
    hashed = compute_chain_hash(previous, at.isoformat(), *line.values())
    yield ask(INSERT, seq=seq + 1, at=at, **line, hash=hashed, proof=None)  # the store adds the proof


def list_audit_page(before: int | None, limit: int) -> Operation[list[AuditEntry]]:
    """Return entries before a sequence number, newest first."""
    return [to_audit_entry(row) for row in (yield ask("list_audit_page", before=before, limit=limit))]


def list_audit_after(seq: int, limit: int) -> Operation[list[AuditEntry]]:
    """Return entries after a sequence number, oldest first."""
    return [to_audit_entry(row) for row in (yield ask("list_audit_after", seq=seq, limit=limit))]


def list_audit_entries(limit: int = 100) -> Operation[list[AuditEntry]]:
    """Return the newest entries, newest first."""
    return [to_audit_entry(row) for row in (yield ask("list_audit_entries", limit=limit))]
