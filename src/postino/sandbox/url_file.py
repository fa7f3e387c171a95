"""The URL of a data directory's sandbox, in a file that the sandbox holds locked while it runs.

The kernel releases the lock however the sandbox ends. After that, any program may listen on its port: Postino connects
to the port only while the file is locked.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from postino.errors import Conflict

FILE = "sandbox.url"
STARTING = "starting"  # after the URL of the last run
MAX_WAIT, INTERVAL = 15.0, 0.05  # seconds; a sandbox whose parent was killed ends a moment later
MAX_BYTES = 300


@contextmanager
def hold_url_file(folder: Path) -> Iterator[Callable[[str], None]]:
    """Hold the file locked, and yield the function that stores the URL. Raises Conflict if another sandbox holds it."""
    descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def store(text: str) -> None:
        os.pwrite(descriptor, text.ljust(MAX_BYTES).encode(), 0)  # one write: a reader never gets a half

    try:
        lock(descriptor, folder)
        store(f"{read_last_url(folder)} {STARTING}")
        yield store
    finally:
        os.close(descriptor)


def lock(descriptor: int, folder: Path) -> None:
    for _ in range(int(MAX_WAIT / INTERVAL)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(INTERVAL)
        else:
            return
    raise Conflict(f"A sandbox of {folder} runs already. Stop it first, or pass another --data-dir.")


def read_last_url(folder: Path) -> str:
    """Return the URL of the sandbox, which may have ended; "" if there was none."""
    try:
        words = (folder / FILE).read_text()[:MAX_BYTES].split()
    except (OSError, UnicodeDecodeError):
        return ""
    return words[0] if words and words[0] != STARTING else ""


def is_stopped(folder: Path, url: str) -> bool:
    """Return whether this is the URL of the folder's sandbox, and the sandbox does not run."""
    if read_last_url(folder).rstrip("/") != url.rstrip("/"):
        return False  # another sandbox, which a setting names
    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return STARTING in os.pread(descriptor, MAX_BYTES, 0).decode(errors="replace").split()
    else:
        return True
    finally:
        os.close(descriptor)
