"""Seal credentials with AES-256-GCM, bound to the account they belong to and to the server they are sent to.

VaultError
├── SealBroken  changed, truncated, or sealed for another account or server
└── KeyLost     sealed with a key that is not in vault.key
No message and no repr contains a key or sealed values.

A sealed value is: version (1 byte), length of the key's id (1 byte), the id, nonce (12 bytes), ciphertext and tag.
Everything before the nonce is authenticated together with the account's id (`about`) and the values in `bound`.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from postino.errors import PostinoError
from postino.vault.key_file import KEY_BYTES, add_key, compute_key_id

VERSION = 1
NONCE_BYTES = 12
TAG_BYTES = 16
PROOF = "postino vault key check"  # part of every stored check value


class VaultError(PostinoError):
    """A sealed value cannot be opened."""


class SealBroken(VaultError):
    """A sealed value was changed, truncated, or belongs to another account or server."""


class KeyLost(VaultError):
    """A value was sealed with a key that is not in vault.key."""


class Vault:
    """Seals with the current key, and opens with any of its keys."""

    __slots__ = ("_ciphers", "current")

    def __init__(self, keys: Mapping[str, bytes], current: str) -> None:
        if current not in keys:
            raise ValueError(f"the current key {current!r} is not among the vault's keys")
        for key_id, key in keys.items():
            if len(key) != KEY_BYTES or not 0 < len(key_id.encode()) < 256:
                raise ValueError(f"key {key_id!r} must have {KEY_BYTES} bytes and an id of at most 255")
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self.current = current

    def __repr__(self) -> str:
        return f"Vault(current={self.current!r}, keys={len(self._ciphers)})"

    def seal(self, plain: Mapping[str, str], about: str, bound: Sequence[str] = ()) -> bytes:
        """Return the sealed values. They open only with the same `about`, such as an account's id, and `bound`."""
        if not all(isinstance(part, str) for pair in plain.items() for part in pair):
            raise TypeError(f"the values sealed for {about} must be strings")
        header = _make_header(self.current)
        nonce = os.urandom(NONCE_BYTES)
        text = json.dumps(dict(plain), sort_keys=True, separators=(",", ":")).encode()
        return header + nonce + self._ciphers[self.current].encrypt(nonce, text, header + _bind(about, bound))

    def open(self, sealed: bytes, about: str, bound: Sequence[str] = ()) -> dict[str, str]:
        key_id = read_key_id(sealed, about)
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise KeyLost(
                f"The credentials of {about} were sealed with the key {key_id!r}, which is not in vault.key. Restore"
                " the vault.key of that time from a backup. Without it, reconnect the account. Its posts"
                " are kept and wait."
            )
        header = _make_header(key_id)
        nonce, text = sealed[len(header) :][:NONCE_BYTES], sealed[len(header) + NONCE_BYTES :]
        try:
            opened: dict[str, str] = json.loads(cipher.decrypt(nonce, text, header + _bind(about, bound)))
        except InvalidTag:
            raise _make_error(about) from None
        return opened

    def is_current(self, sealed: bytes, about: str) -> bool:
        """Return whether a value is sealed with the current key."""
        return read_key_id(sealed, about) == self.current

    def reseal(self, sealed: bytes, about: str, bound: Sequence[str] = ()) -> bytes:
        """Return the value sealed with the current key."""
        return self.seal(self.open(sealed, about, bound), about, bound)


def make_vault(keys: Sequence[bytes]) -> Vault:
    """Return the vault with these keys; the last one is current."""
    return Vault({compute_key_id(key): key for key in keys}, current=compute_key_id(keys[-1]))


def make_proof(key: bytes) -> bytes:
    """Return the check value of a key, which only this key opens."""
    return make_vault([key]).seal({"proof": PROOF}, PROOF)


def is_proof(key: bytes, proof: bytes) -> bool:
    """Return whether this is the check value of the key."""
    try:
        return make_vault([key]).open(proof, PROOF) == {"proof": PROOF}
    except VaultError:
        return False


def rotate_key(path: Path) -> Vault:
    """Add a new current key to this file and return the vault. Older keys still open. Raises KeyFileRefused."""
    return make_vault(add_key(path))


def _make_header(key_id: str) -> bytes:
    encoded = key_id.encode()
    return bytes([VERSION, len(encoded)]) + encoded


def _bind(about: str, bound: Sequence[str]) -> bytes:
    """Return what a sealed value is bound to. JSON keeps the parts apart: no text moves from one to the next."""
    return (json.dumps([about, *bound]) if bound else about).encode()


def read_key_id(sealed: bytes, about: str) -> str:
    """Return the id of the key that sealed a value."""
    if sealed and sealed[0] > VERSION:
        raise SealBroken(
            f"The credentials of {about} were sealed by a newer Postino. Run that version, or a later one."
        )
    if len(sealed) < 2 or sealed[0] != VERSION or len(sealed) < 2 + sealed[1] + NONCE_BYTES + TAG_BYTES:
        raise _make_error(about)
    try:
        return bytes(sealed[2 : 2 + sealed[1]]).decode()
    except UnicodeDecodeError:
        raise _make_error(about) from None


def _make_error(about: str) -> SealBroken:
    return SealBroken(
        f"The credentials of {about} cannot be opened: they, or the account's network, server or remote id, were"
        " changed in the database, or an early Postino sealed them. Restore the database from a backup, or"
        " reconnect the account."
    )
