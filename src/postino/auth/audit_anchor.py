"""The anchor of the audit trail: the last entry that this machine has seen, in a file outside the database.

Whoever cuts off the end of the trail in the database, or puts an older one back, does not change this file, and nothing
that the database says chooses another one. Calls block.
"""

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from postino.errors import PostinoError
from postino.stores.audit import AuditHead

LINE = re.compile(r"postino audit 1 ([0-9]{1,18}) ([0-9a-f]{64})(?: ([0-9T:.+-]{1,40}))?\n", re.ASCII)
MAX_BYTES = 200


class AnchorUnavailable(PostinoError):
    """The file cannot be read or written, or says something else."""


def choose_path(state_dir: Path, key_id: str, where: str) -> Path:
    """Return the file for the database at a place. Databases with different vault keys have different files."""
    name = hashlib.sha256(f"{key_id} {where}".encode("utf-8", "replace")).hexdigest()
    return state_dir / "audit" / name[:32]


def read_anchor(path: Path) -> AuditHead | None:
    """Return what the file says; None if there is none yet. Raises AnchorUnavailable."""
    with convert_errors(path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        try:
            text = os.read(descriptor, MAX_BYTES).decode("ascii", "replace")
        finally:
            os.close(descriptor)
    with suppress(ValueError):
        if match := LINE.fullmatch(text):
            return AuditHead(int(match[1]), match[2], datetime.fromisoformat(match[3]) if match[3] else None)
    raise AnchorUnavailable(f"{path} is damaged. Delete it, if you know that the audit trail is complete.")


def write_anchor(path: Path, head: AuditHead, former: AuditHead | None = None) -> None:
    """Write the last entry, unless the file has a later one than `former`. Raises AnchorUnavailable."""
    with convert_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_folder(path.parent):
            known = read_anchor(path)
            if known is None or known.seq < head.seq or known == former:
                at = f" {head.at.isoformat()}" if head.at else ""
                replace_file(path, f"postino audit 1 {head.seq} {head.hash}{at}\n")


def replace_file(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder: of two processes that write at once, the later entry stays."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def convert_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AnchorUnavailable(f"{path} cannot be used: {error.strerror}.") from error
