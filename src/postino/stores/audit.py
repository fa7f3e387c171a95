"""The hash chain of the audit trail: each entry's hash covers the entry before it.

Whoever can write the database can compute these hashes, too. So a process that has the vault's key adds a proof, which
only that key makes, and remembers the last entry outside the database.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from postino.stores.records import AuditEntry
from postino.stores.statement import Operation, Query, Row

T = TypeVar("T")
FIRST_HASH = "0" * 64
INSERT = "insert_audit_entry"  # the query that inserts an entry


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The last entry of the trail: how many there are, the hash that covers them all, and its time if that is known."""

    seq: int
    hash: str
    at: datetime | None = field(default=None, compare=False)


class ProofNeeded(Exception):
    """An operation writes an entry, and the key has not been loaded yet. The operation runs again after that."""


@dataclass(slots=True)
class AuditSigner:
    """Adds proofs to new entries. Without `prove`, as in a store of a test, entries have none."""

    prove: Callable[[str], str | None] = lambda _: None  # the proof of a hash; None: the key is not loaded
    load: Callable[[], Awaitable[None]] | None = None
    on_entry: Callable[[AuditHead], None] = lambda _: None  # called after the commit

    def sign(self, operation: Operation[T], written: list[AuditHead], *, is_loaded: bool) -> Operation[T]:
        """Run an operation with a proof in each entry that it inserts. Raises ProofNeeded before it inserts one."""
        try:
            query = next(operation)
            while True:
                if query.name == INSERT:
                    query = self.add_proof(query, is_loaded)
                    written.append(AuditHead(query.params["seq"], query.params["hash"]))
                rows: Sequence[Row] = yield query
                query = operation.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result

    def add_proof(self, query: Query, is_loaded: bool) -> Query:
        proof = self.prove(query.params["hash"])
        if proof is None and not is_loaded and self.load is not None:
            raise ProofNeeded
        return replace(query, params={**query.params, "proof": proof})

    async def run(self, make: Callable[[], Operation[T]], run: Callable[[Operation[T]], Awaitable[T]]) -> T:
        """Run an operation that may insert entries. The key is loaded when the first entry needs it."""
        written: list[AuditHead] = []
        try:
            result = await run(self.sign(make(), written, is_loaded=False))
        except ProofNeeded:
            assert self.load is not None
            await self.load()
            written.clear()
            result = await run(self.sign(make(), written, is_loaded=True))
        if written:
            self.on_entry(written[-1])
        return result


def compute_chain_hash(previous: str, *parts: str) -> str:
    """Return the hash of one entry. Parts are length-prefixed, so no text can move from one field to the next."""
    digest = hashlib.sha256(previous.encode())
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def compute_entry_hash(previous: str, entry: AuditEntry) -> str:
    """Return the hash that an entry should have."""
    return compute_chain_hash(
        previous, entry.at.isoformat(), entry.actor, entry.action, entry.subject, entry.reason, entry.detail
    )
