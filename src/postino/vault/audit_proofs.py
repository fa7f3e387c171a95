"""Proofs of audit entries: HMAC-SHA-256 of an entry's hash, under a key derived from those in vault.key."""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from functools import lru_cache

from postino.vault.key_file import compute_key_id

DERIVATION = b"postino audit 1"  # part of every stored proof: changing it invalidates all of them


class AuditProofs:
    """Makes proofs with the current key, and checks those of any of the vault's keys."""

    def __init__(self, get_keys: Callable[[], Sequence[bytes]]) -> None:
        self.get_keys = get_keys

    def make(self, text: str) -> str | None:
        """Return the proof of a text; None without a key."""
        keys = self.get_keys()
        return make_proof(keys[-1], text) if keys else None

    def check(self, text: str, proof: str) -> bool | None:
        """Return whether this is the proof of a text; None if it was made with a key that is not here."""
        key_id = proof.partition(":")[0]
        for key in self.get_keys():
            if derive_audit_key(key)[0] == key_id:
                return hmac.compare_digest(make_proof(key, text).encode(), proof.encode())
        return None


def make_proof(key: bytes, text: str) -> str:
    key_id, derived = derive_audit_key(key)
    return f"{key_id}:{hmac.new(derived, text.encode(), hashlib.sha256).hexdigest()}"


@lru_cache(maxsize=16)
def derive_audit_key(key: bytes) -> tuple[str, bytes]:
    """Return the id of a vault key, and the key for proofs that is derived from it."""
    return compute_key_id(key), hmac.digest(key, DERIVATION, hashlib.sha256)
