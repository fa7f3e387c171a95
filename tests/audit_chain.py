"""Verify the hash chain of an audit trail."""

from collections.abc import Iterable

from postino.stores.audit import FIRST_HASH, compute_entry_hash
from postino.stores.records import AuditEntry


def find_broken_entry(entries: Iterable[AuditEntry]) -> AuditEntry | None:
    """Return the first entry, oldest first, whose hash does not follow from the entry before it."""
    previous = FIRST_HASH
    for entry in entries:
        if entry.hash != compute_entry_hash(previous, entry):
            return entry
        previous = entry.hash
    return None
