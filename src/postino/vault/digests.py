"""Digests of API keys, cookies and links: HMAC-SHA-256 under a key derived from those in vault.key.

The database has digests only: a copy of it authenticates nobody, and no guess can be checked against it. Digests are
compared in constant time; rows are found by an id that is not secret.
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence

from postino.vault.key_file import compute_key_id

DERIVATION = b"postino people 1"  # part of every stored digest: changing it invalidates all of them


class SecretDigests:
    """Computes digests with the current key, and compares with any key of the file."""

    def __init__(self, read_keys: Callable[[], Sequence[bytes]]) -> None:
        self.read_keys = read_keys
        self.secrets: dict[str, bytes] = {}
        self.current = ""

    def __repr__(self) -> str:
        return f"SecretDigests(current={self.current!r})"

    def digest(self, purpose: str, secret: str) -> str:
        """Return the digest of a secret. It matches for this purpose only."""
        if not self.secrets:
            self.read_key_file()
        return f"{self.current}:{compute_hmac(self.secrets[self.current], purpose, secret)}"

    def matches(self, purpose: str, secret: str, digest: str) -> bool:
        key_id, _, proof = digest.partition(":")
        if key_id not in self.secrets:
            self.read_key_file()  # another process may have rotated the key
        key = self.secrets.get(key_id)
        return key is not None and hmac.compare_digest(compute_hmac(key, purpose, secret), proof)

    def read_key_file(self) -> None:
        keys = self.read_keys()
        self.secrets = {compute_key_id(key): hmac.digest(key, DERIVATION, hashlib.sha256) for key in keys}
        self.current = compute_key_id(keys[-1])


def compute_hmac(key: bytes, purpose: str, secret: str) -> str:
    message = purpose.encode() + b"\0" + secret.encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()
