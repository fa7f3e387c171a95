"""Find out which files an SQLite connection has open, and what to do when other files replace them.

A database is three files: its own, the write-ahead log (`-wal`) and the log's index in shared memory (`-shm`). SQLite
continues to use each of them after it was deleted or renamed. So each connection remembers its files.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import structlog

from postino.errors import StoreUnreachable
from postino.stores.sqlite_waits import LOCK_SECONDS, retry_while_locked

log = structlog.get_logger("postino.store")
Inode = tuple[int, int]  # device and number; unique while the file is open


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The files that a path and its companions led to when these were read; None for one that did not exist."""

    path: Path
    database: Inode | None
    log: Inode | None
    index: Inode | None

    def check(self) -> None:
        """Raise StoreUnreachable if a name no longer leads to its file."""
        now = read_files(self.path)
        if now == self:
            return
        for suffix, before, after in (
            ("", self.database, now.database),
            ("-wal", self.log, now.log),
            ("-shm", self.index, now.index),
        ):
            if before != after:
                name = name_companion(self.path, suffix)
                raise StoreUnreachable(
                    f"{name} was deleted or replaced while it was open. What was asked for may be lost with the old"
                    " file; Postino opens the new one. Try again."
                )

    def are_current(self) -> bool:
        return read_files(self.path) == self

    def set_aside(self) -> None:
        """Rename the write-ahead log of a replaced database, if it was left behind, and delete its index.

        SQLite would apply the log to the new database, and would trust an index that belongs to another log. Call this
        under the folder's lock and before the connection is closed: no new file can have the same number then.
        """
        now = read_files(self.path)
        is_replaced = self.database != now.database
        stale = name_companion(self.path, "-wal")
        aside = name_companion(self.path, "-wal-replaced")
        renames = is_replaced and self.log is not None and self.log == now.log
        try:
            if renames:
                os.replace(stale, aside)
            if self.index is not None and self.index == now.index and (is_replaced or self.log != now.log):
                with suppress(FileNotFoundError):
                    os.unlink(name_companion(self.path, "-shm"))
        except OSError as error:
            raise StoreUnreachable(f"{stale} belongs to the replaced file. Delete it: {error.strerror}.") from error
        if renames:
            log.warning(
                "sqlite.log_set_aside",
                path=str(stale),
                renamed_to=str(aside),
                next="delete the renamed file if the old database is gone",
            )


def read_files(path: Path) -> OpenFiles:
    """Return which files have this path and the names of its companions now."""
    return OpenFiles(path, *(read_inode(name_companion(path, suffix)) for suffix in ("", "-wal", "-shm")))


def read_inode(path: Path) -> Inode | None:
    """Return which file has this path now; None if there is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreUnreachable(f"{path} cannot be used: {error.strerror}.") from error
    return found.st_dev, found.st_ino


@lru_cache(64)  # each transaction asks
def name_companion(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


@contextmanager
def hold_folder_lock(path: Path) -> Iterator[None]:
    """Lock the folder of a database while its files are opened, closed or set aside.

    SQLite deletes the write-ahead log by its name when the last connection closes. Under this lock no other process
    opens a new database in the meantime, whose log would have the same name.
    """
    try:
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):  # it was moved away with its files
        yield
        return
    except OSError as error:
        raise StoreUnreachable(f"{path.parent} cannot be used: {error.strerror}.") from error
    try:
        try:
            retry_while_locked(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB), BlockingIOError)
        except BlockingIOError as error:
            raise StoreUnreachable(
                f"Another process opens or closes {path} for more than {LOCK_SECONDS:.0f} s. Nothing was changed; try"
                " again."
            ) from error
        yield
    finally:
        os.close(descriptor)
