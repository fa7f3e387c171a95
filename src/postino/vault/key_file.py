"""The file vault.key: one line per key, the last one is current. Without it every account must be reconnected.

The file is written atomically, readable by its owner only, and never replaced by a new one while it exists.
"""

import base64
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from postino.errors import PostinoError

KEY_BYTES = 32
MAX_BYTES = 1_000_000
HEADER = "postino vault 1"
NOTE = (
    "# The key to the credentials in Postino's database. Nobody can read them without it. Keep a safe copy,\n"
    "# apart from copies of the database.\n"
)


class KeyFileRefused(PostinoError):
    """The key file is missing, damaged or readable by others."""


def read_or_create(path: Path) -> list[bytes]:
    """Return the keys of this file. A missing file is created with a new key."""
    with _translate_errors(path):
        if not os.path.lexists(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _lock_folder(path.parent):
                if not os.path.lexists(path):
                    _write(path, [secrets.token_bytes(KEY_BYTES)])
        return _read(path)


def read_if_exists(path: Path) -> list[bytes]:
    """Return the keys of this file; none if it does not exist."""
    with _translate_errors(path):
        return _read(path) if os.path.lexists(path) else []


def add_key(path: Path) -> list[bytes]:
    """Add a new current key and return all keys. Older keys stay, to open what they sealed."""
    with _translate_errors(path):
        path = path.resolve(strict=True)
        with _lock_folder(path.parent):
            keys = [*_read(path), secrets.token_bytes(KEY_BYTES)]
            _write(path, keys)
        return keys


def compute_key_id(key: bytes) -> str:
    """Return a key's id: it tells keys apart, detects damage, and reveals nothing about the key."""
    return hashlib.sha256(b"postino vault key " + key).hexdigest()[:16]


def _read(path: Path) -> list[bytes]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _check_permissions(os.fstat(descriptor), path)
        return parse_keys(os.read(descriptor, MAX_BYTES), path)
    finally:
        os.close(descriptor)


def _check_permissions(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyFileRefused(f"{path} is not a file. Move it away, or set another data directory.")
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise KeyFileRefused(
            f"Others can read or change {path} (mode {mode:04o}), and with it all credentials. Nothing was opened."
            f" Run `chmod 600 {path}`. If others may have read it, reconnect the accounts."
        )


def parse_keys(content: bytes, path: Path) -> list[bytes]:
    """Return the keys of a key file's content."""
    lines = [line for line in content.decode("ascii", "replace").splitlines() if line and not line.startswith("#")]
    if lines and lines[0].startswith("postino vault ") and lines[0] != HEADER:
        raise KeyFileRefused(f"{path} was written by a newer Postino. Run that version, or a later one.")
    keys = [_parse_key(line) for line in lines[1:]]
    if not keys or lines[0] != HEADER or not all(keys):
        raise KeyFileRefused(
            f"{path} is damaged. Postino does not replace it: a new key cannot open what the old one sealed. Restore it"
            " from a backup. Without a backup, move it away and reconnect the accounts."
        )
    return keys


def _parse_key(line: str) -> bytes:
    """Return the key of a line; empty if the line is damaged."""
    key_id, _, encoded = line.partition(" ")
    with suppress(ValueError):
        key = base64.b64decode(encoded, validate=True)
        if len(key) == KEY_BYTES and compute_key_id(key) == key_id:
            return key
    return b""


def _write(path: Path, keys: list[bytes]) -> None:
    lines = [f"{compute_key_id(key)} {base64.b64encode(key).decode()}\n" for key in keys]
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(NOTE + HEADER + "\n" + "".join(lines))
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder: of two processes that add a key at once, one would lose what the other sealed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system into KeyFileRefused."""
    try:
        yield
    except FileNotFoundError as error:
        raise KeyFileRefused(
            f"{path} is missing, or a link to a missing file. Postino creates no new key: it could not open what the"
            " old one sealed. Restore the file."
        ) from error
    except OSError as error:
        raise KeyFileRefused(f"{path} cannot be used: {error.strerror}. Nothing was opened.") from error
