"""One `postino up` per data directory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postino.errors import Conflict


@contextmanager
def hold_instance_lock(folder: Path) -> Iterator[None]:
    """Held by the kernel on behalf of this process: it is free again however the process ends."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            raise Conflict(
                f"Postino is already up on {folder} (process {holder}). Stop that one first, or give this one another"
                " --data-dir."
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)
