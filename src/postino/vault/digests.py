"""What proves a secret without keeping it: HMAC-SHA-256 under a key that is derived from those in vault.key.

A copy of the database alone lets nobody in, and nobody can check a guess against it. Secrets are compared in constant
time, and found by something beside them that is no secret.
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence

from postino.vault.key_file import id_of

DERIVED_FOR = b"postino people 1"


class SecretDigests:
    """Proves with the current key, and checks with any that there is."""

    def __init__(self, read_keys: Callable[[], Sequence[bytes]]) -> None:
        self.read_keys = read_keys
        self.secrets: dict[str, bytes] = {}
        self.current = ""

    def __repr__(self) -> str:
        return f"Seals(current={self.current!r})"

    def digest(self, purpose: str, secret: str) -> str:
        """What proves it, for this purpose only."""
        if not self.secrets:
            self.read()
        return f"{self.current}:{authenticated(self.secrets[self.current], purpose, secret)}"

    def matches(self, purpose: str, secret: str, digest: str) -> bool:
        key_id, _, proof = digest.partition(":")
        if key_id not in self.secrets:
            self.read()  # another process has turned the key meanwhile
        key = self.secrets.get(key_id)
        return key is not None and hmac.compare_digest(authenticated(key, purpose, secret), proof)

    def read(self) -> None:
        keys = self.read_keys()
        self.secrets = {id_of(key): hmac.digest(key, DERIVED_FOR, hashlib.sha256) for key in keys}
        self.current = id_of(keys[-1])


def authenticated(key: bytes, purpose: str, secret: str) -> str:
    told = purpose.encode() + b"\0" + secret.encode("utf-8", "surrogatepass")
    return hmac.new(key, told, hashlib.sha256).hexdigest()
