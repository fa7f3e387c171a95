"""Digests of API keys, cookies and links: HMAC-SHA-256 under a key derived from those in vault.key.

The database has digests only: a copy of it authenticates nobody, and no guess can be checked against it. Digests are
compared in constant time; rows are found by an id that is not secret.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Sequence

from postino.vault.key_file import compute_key_id

LoadKeys = Callable[[], Awaitable[Sequence[bytes]]]
DERIVATION = b"postino people 1"  # part of every stored digest: changing it invalidates all of them


class SecretDigests:
    """Computes digests with the current key, and compares with any of the vault's keys."""

    def __init__(self, load_keys: LoadKeys, reload_keys: LoadKeys) -> None:
        self.load_keys = load_keys
        self.reload_keys = reload_keys
        self.keys: list[bytes] = []
        self.secrets: dict[str, bytes] = {}
        self.current = ""

    def __repr__(self) -> str:
        return f"SecretDigests(current={self.current!r})"

    async def digest(self, purpose: str, secret: str) -> str:
        """Return the digest of a secret. It matches for this purpose only."""
        self.derive_secrets(await self.reload_keys())  # `postino vault reset` may have given up the keys
        return f"{self.current}:{compute_hmac(self.secrets[self.current], purpose, secret)}"

    async def matches(self, purpose: str, secret: str, digest: str) -> bool:
        key_id, _, proof = digest.partition(":")
        self.derive_secrets(await self.load_keys())
        if key_id not in self.secrets:
            self.derive_secrets(await self.reload_keys())  # another process may have rotated the key
        key = self.secrets.get(key_id)
        return key is not None and hmac.compare_digest(compute_hmac(key, purpose, secret), proof)

    def derive_secrets(self, keys: Sequence[bytes]) -> None:
        if keys == self.keys:
            return
        self.keys = [*keys]
        self.secrets = {compute_key_id(key): hmac.digest(key, DERIVATION, hashlib.sha256) for key in keys}
        self.current = compute_key_id(keys[-1])


def compute_hmac(key: bytes, purpose: str, secret: str) -> str:
    message = purpose.encode() + b"\0" + secret.encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()
