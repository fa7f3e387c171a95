"""The check value of each vault key: a process whose keys open none of them must not use this database's secrets."""

from collections.abc import Sequence

from postino.stores.operations.audit import write_audit_entry
from postino.stores.records import AuditContext, VaultKey
from postino.stores.statement import Operation, ask


def list_vault_keys() -> Operation[list[VaultKey]]:
    """Return the keys that this database has check values of, oldest first."""
    return [VaultKey(row["id"], bytes(row["proof"]), row["source"]) for row in (yield ask("list_vault_keys"))]


def add_vault_keys(keys: Sequence[VaultKey], *, first: bool = False) -> Operation[list[VaultKey]]:
    """Insert check values and return all. With `first` they are inserted only into a database that has none."""
    yield ask("lock_vault_keys")
    known = yield from list_vault_keys()
    if not (first and known):
        ids = {key.id for key in known}
        for key in keys:
            if key.id not in ids:
                yield ask("insert_vault_key", id=key.id, proof=key.proof, source=key.source)
    return (yield from list_vault_keys())


def replace_vault_keys(keys: Sequence[VaultKey], audit: AuditContext) -> Operation[list[VaultKey]]:
    """Forget all check values and insert these: what other keys sealed can no longer be opened."""
    yield ask("lock_vault_keys")
    yield ask("delete_vault_keys")
    yield from write_audit_entry(audit, "vault.reset", "vault", " ".join(key.id for key in keys))
    return (yield from add_vault_keys(keys))
