"""Where an SQLite database is: machine, path and file. A copy is another file; a moved disk is in another machine."""

import ctypes
import json
import os
import struct
from functools import cache
from pathlib import Path
from typing import Any

LOCATE = "postino_locate"  # the SQL function that returns the place of the open file
MACHINE = Path("/etc/machine-id")  # not the host name, which changes with every container
# A cloned virtual machine often keeps its machine-id, and gets another id from its host. Usually only root can read it.
PRODUCT = Path("/sys/class/dmi/id/product_uuid")
CURRENT_FOLDER, BIRTH_TIME = -100, 0x800  # AT_FDCWD, STATX_BTIME
ANSWER = struct.Struct("<I76xqI")  # of statx: which fields are set, then seconds and nanoseconds of the birth time
ANSWER_SIZE = 256


def locate_file(path: Path) -> str:
    """Return the place of the file at this path, as a JSON list.

    A file may get the inode of a deleted one, but not its time of birth. Reading that opens no descriptor: to close one
    would drop the locks that SQLite holds on the file in this process.
    """
    return json.dumps(["sqlite", read_machine(), str(path.resolve()), path.stat().st_ino, read_birth_time(path)])


def read_machine() -> str:
    """Return the id of this machine, and that of its hardware if this process may read it: `rules.restore` knows."""
    product = read_id(PRODUCT)
    return f"{read_id(MACHINE)}/{product}" if product else read_id(MACHINE)


def read_id(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def is_file_there(place: str) -> bool:
    """Return whether there is a file at the path of this place, or may be one where this process may not look."""
    kind, *where = json.loads(place)
    try:
        return kind == "sqlite" and Path(where[1]).exists()
    except PermissionError:
        return True


def read_birth_time(path: Path) -> float | None:
    """Return when the file was created, or None where the system does not say."""
    statx = load_statx()
    if statx is None:
        return getattr(path.stat(), "st_birthtime", None)
    answer = ctypes.create_string_buffer(ANSWER_SIZE)
    if statx(CURRENT_FOLDER, os.fsencode(path), 0, BIRTH_TIME, answer):
        return None
    known, seconds, nanoseconds = ANSWER.unpack_from(answer)
    return float(f"{seconds}.{nanoseconds:09}") if known & BIRTH_TIME else None


@cache
def load_statx() -> Any:
    """Return the system call `statx`, or None where there is none."""
    return getattr(ctypes.CDLL(None), "statx", None)
