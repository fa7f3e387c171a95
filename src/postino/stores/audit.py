"""The hash chain of the audit trail: each entry's hash covers the entry before it."""

import hashlib

from postino.stores.records import AuditEntry

FIRST_HASH = "0" * 64


def chain_hash(previous: str, *parts: str) -> str:
    """Return the hash of one entry. Parts are length-prefixed, so no text can move from one field to the next."""
    digest = hashlib.sha256(previous.encode())
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def compute_entry_hash(previous: str, entry: AuditEntry) -> str:
    """Return the hash that an entry should have."""
    return chain_hash(
        previous, entry.at.isoformat(), entry.actor, entry.action, entry.subject, entry.reason, entry.detail
    )
