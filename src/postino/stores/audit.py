"""The audit trail: append-only, each line's hash covers the line before it, written with the change itself."""

import hashlib
from collections.abc import Iterable

from postino.stores.records import AuditEntry

START = "0" * 64


def chained(previous: str, *parts: str) -> str:
    """The hash of one line. Length-prefixed, so that words cannot move from one field to the next unnoticed."""
    digest = hashlib.sha256(previous.encode())
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def first_broken(entries: Iterable[AuditEntry]) -> AuditEntry | None:
    """The first line, oldest first from the very beginning, that does not follow from the one before it."""
    previous = START
    for entry in entries:
        if entry.hash != entry_hash(previous, entry):
            return entry
        previous = entry.hash
    return None


def entry_hash(previous: str, entry: AuditEntry) -> str:
    return chained(previous, entry.at.isoformat(), entry.actor, entry.action, entry.subject, entry.reason, entry.detail)
