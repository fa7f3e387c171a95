"""vault.key: a line for each key, the last one is current. Losing this file means connecting every account again.

It is written whole or not at all, readable by its owner only, and never replaced by a new one while it is there.
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
MOST_BYTES = 1_000_000
HEADER = "postino vault 1"
NOTE = (
    "# The key to the credentials in Postino's database, which nobody can read without it. Keep a copy elsewhere,\n"
    "# and apart from copies of the database.\n"
)


class KeyFileRefused(PostinoError):
    """The file of the keys is not as it must be."""


def read_or_create(path: Path) -> list[bytes]:
    """The keys of this file, which is made if there is none."""
    with _told(path):
        if not os.path.lexists(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(path.parent):
                if not os.path.lexists(path):
                    _write(path, [secrets.token_bytes(KEY_BYTES)])
        return _read(path)


def add_key(path: Path) -> list[bytes]:
    """With a new key, which is current from now on; the old ones stay, and open what they sealed."""
    with _told(path):
        path = path.resolve(strict=True)
        with _locked(path.parent):
            keys = [*_read(path), secrets.token_bytes(KEY_BYTES)]
            _write(path, keys)
        return keys


def id_of(key: bytes) -> str:
    """Tells keys apart and proves a line undamaged; says nothing about the key itself."""
    return hashlib.sha256(b"postino vault key " + key).hexdigest()[:16]


def _read(path: Path) -> list[bytes]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _check(os.fstat(descriptor), path)
        return _parse(os.read(descriptor, MOST_BYTES), path)
    finally:
        os.close(descriptor)


def _check(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise KeyFileRefused(f"{path} is not a file. Move it away, or set another data directory.")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise KeyFileRefused(
            f"{path} can be read or changed by others (mode {mode:04o}), and with it all credentials. Nothing was"
            f" opened. Run `chmod 600 {path}`; if others may have seen it, connect the accounts again."
        )


def _parse(content: bytes, path: Path) -> list[bytes]:
    lines = [line for line in content.decode("ascii", "replace").splitlines() if line and not line.startswith("#")]
    if lines and lines[0].startswith("postino vault ") and lines[0] != HEADER:
        raise KeyFileRefused(f"{path} was written by a newer Postino. Run that version, or a later one.")
    keys = [_key(line) for line in lines[1:]]
    if not keys or lines[0] != HEADER or not all(keys):
        raise KeyFileRefused(
            f"{path} is damaged. It is left as it is, because a new key opens nothing that was sealed with the old one."
            " Put it back from a backup; if there is none, move it away, and connect the accounts again."
        )
    return keys


def _key(line: str) -> bytes:
    """The key of a line; empty if it is not what it was when it was written."""
    key_id, _, encoded = line.partition(" ")
    with suppress(ValueError):
        key = base64.b64decode(encoded, validate=True)
        if len(key) == KEY_BYTES and id_of(key) == key_id:
            return key
    return b""


def _write(path: Path, keys: list[bytes]) -> None:
    lines = [f"{id_of(key)} {base64.b64encode(key).decode()}\n" for key in keys]
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
def _locked(folder: Path) -> Iterator[None]:
    """Two that make or change the key at once would each lose what the other sealed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the file system refuses, in words."""
    try:
        yield
    except FileNotFoundError as error:
        raise KeyFileRefused(
            f"{path} is missing, or a link to what is missing. No new key is made, because it would open nothing that"
            " was sealed with the old one. Put the file back."
        ) from error
    except OSError as error:
        raise KeyFileRefused(f"{path} cannot be used: {error.strerror}. Nothing was opened.") from error
