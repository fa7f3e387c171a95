"""Open SQLite as Postino uses it, close it, and turn its errors into Postino's."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from postino.errors import StoreError, StoreUnreachable
from postino.stores.sqlite_place import LOCATE, locate_file
from postino.stores.sqlite_waits import LOCK_SECONDS, retry_while_locked

BUSY_TIMEOUT_MS = int(LOCK_SECONDS * 1000)
CHECKPOINT_PAGES = 8000  # of 4 kB
# A file that was deleted, cut or replaced under the connection looks like this. Only a new connection is sure to work.
BREAKING = (
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.IOError,
    apsw.NotADBError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)


def connect(path: Path) -> apsw.Connection:
    """Open a connection to an existing file; a committed transaction is on disk. Nothing is written to the file."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute("PRAGMA synchronous = FULL")
        # A queue writes the same pages over and over, so checkpoints are rare.
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        place = locate_file(path)
        connection.create_scalar_function(LOCATE, lambda *_: place, 0)
    except BaseException:
        close_without_checkpoint(connection)
        raise
    return connection


def close_without_checkpoint(connection: apsw.Connection) -> None:
    """Close a connection, and neither write its log to the database nor delete what has the log's name now."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close(True)


def read_applied(connection: apsw.Connection) -> dict[int, str]:
    """Return the checksums of the applied migrations, by number."""
    if not connection.table_exists("main", "postino_migrations"):
        return {}
    return dict(connection.execute("SELECT number, checksum FROM postino_migrations"))


def use_write_ahead_log(connection: apsw.Connection) -> None:
    """Switch to WAL, retrying while another process switches the same new file: SQLite does not wait there."""
    retry_while_locked(lambda: connection.execute("PRAGMA journal_mode = WAL"), apsw.BusyError)


def is_breaking(error: BaseException | None) -> bool:
    """Return whether the connection may never work again after this error, or the one that it was made from."""
    while error is not None:
        if isinstance(error, BREAKING):
            return True
        if isinstance(error, apsw.BusyError):  # a plain one passes: another process holds the lock
            return getattr(error, "extendedresult", apsw.SQLITE_BUSY) != apsw.SQLITE_BUSY
        error = error.__cause__
    return False


@contextmanager
def convert_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into Postino's."""
    try:
        yield
    except apsw.BusyError as error:
        raise StoreUnreachable(
            f"Another process has locked {path} for more than {LOCK_SECONDS:.0f} s. Nothing was changed; try again."
        ) from error
    except apsw.FullError as error:
        raise StoreUnreachable(
            f"The disk of {path} is full. Nothing was lost; free some space and try again."
        ) from error
    except BREAKING as error:
        raise StoreUnreachable(f"{path} cannot be used: {error}.") from error
    except FileNotFoundError as error:  # deleted while it was opened
        raise StoreUnreachable(f"{path} cannot be used: {error.strerror}.") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
