"""Where credentials are sealed: AES-256-GCM, bound to what they are about, opened only for the call that needs them.

VaultError
├── SealBroken  changed, cut short, or about something else
└── KeyLost     sealed with a key that is not here
No message, and no repr, ever shows a key or what was sealed.

A sealed text is: version (1 byte), length of the key's id (1 byte), the id, nonce (12 bytes), ciphertext and tag. All
before the nonce is authenticated together with what it is about.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from postino.errors import PostinoError
from postino.vault.key_file import KEY_BYTES, add_key, id_of, read_or_create

VERSION = 1
NONCE_BYTES = 12
TAG_BYTES = 16


class VaultError(PostinoError):
    """The vault refuses."""


class SealBroken(VaultError):
    """What is stored cannot be opened."""


class KeyLost(VaultError):
    """What is stored was sealed with a key that is not here."""


class Vault:
    """Seals with the current key, opens with any it has."""

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

    def seal(self, plain: Mapping[str, str], about: str) -> bytes:
        """`about` is whose and what it is, such as an account's id and the field: it opens for nothing else."""
        if not all(isinstance(part, str) for pair in plain.items() for part in pair):
            raise TypeError(f"only texts are sealed, and there is something else in what is about {about}")
        header = _header(self.current)
        nonce = os.urandom(NONCE_BYTES)
        text = json.dumps(dict(plain), sort_keys=True, separators=(",", ":")).encode()
        return header + nonce + self._ciphers[self.current].encrypt(nonce, text, header + about.encode())

    def open(self, sealed: bytes, about: str) -> dict[str, str]:
        key_id = _key_id(sealed, about)
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise KeyLost(
                f"What is stored for {about} was sealed with the key {key_id!r}, which is not in this vault. Put back"
                " the vault.key that was in use then, from a backup. Without it nobody can read these credentials: the"
                " account has to be connected again. Its posts are kept, and wait."
            )
        header = _header(key_id)
        nonce, text = sealed[len(header) :][:NONCE_BYTES], sealed[len(header) + NONCE_BYTES :]
        try:
            opened: dict[str, str] = json.loads(cipher.decrypt(nonce, text, header + about.encode()))
        except InvalidTag:
            raise _broken(about) from None
        return opened

    def is_current(self, sealed: bytes, about: str) -> bool:
        """Whether it is sealed with the current key, or is due to be sealed anew."""
        return _key_id(sealed, about) == self.current

    def reseal(self, sealed: bytes, about: str) -> bytes:
        """The same, under the current key."""
        return self.seal(self.open(sealed, about), about)


def load_or_create(path: Path) -> Vault:
    """The vault whose keys are in this file, which is made if there is none. Raises KeyFileRefused."""
    return _vault(read_or_create(path))


def turn_key(path: Path) -> Vault:
    """The vault with a new current key; what older ones sealed still opens. Raises KeyFileRefused."""
    return _vault(add_key(path))


def _vault(keys: list[bytes]) -> Vault:
    return Vault({id_of(key): key for key in keys}, current=id_of(keys[-1]))


def _header(key_id: str) -> bytes:
    encoded = key_id.encode()
    return bytes([VERSION, len(encoded)]) + encoded


def _key_id(sealed: bytes, about: str) -> str:
    if sealed and sealed[0] > VERSION:
        raise SealBroken(f"What is stored for {about} was sealed by a newer Postino. Run that version, or a later one.")
    if len(sealed) < 2 or sealed[0] != VERSION or len(sealed) < 2 + sealed[1] + NONCE_BYTES + TAG_BYTES:
        raise _broken(about)
    try:
        return bytes(sealed[2 : 2 + sealed[1]]).decode()
    except UnicodeDecodeError:
        raise _broken(about) from None


def _broken(about: str) -> SealBroken:
    return SealBroken(
        f"What is stored for {about} cannot be opened: it was changed, cut short, or belongs to something else. Nothing"
        " was read from it. Restore it from a backup, or connect the account again."
    )
