"""Whatever SQLite reports, a store closes the connection and works again by itself, and never mixes two databases."""

import fcntl
import filecmp
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from postino.errors import StoreUnreachable
from postino.stores import sqlite_thread, sqlite_waits
from postino.stores.migrations import check_complete
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from tests.stores.other_process import open_in_other_process
from tests.stores.test_sqlite_replaced import add_jobs, backup, count_directly, count_jobs, path, store

__all__ = ["backup", "path", "store"]  # fixtures
BREAKING_CODES = (
    "SQLITE_IOERR",
    "SQLITE_IOERR_READ",
    "SQLITE_IOERR_SHORT_READ",
    "SQLITE_IOERR_WRITE",
    "SQLITE_IOERR_FSYNC",
    "SQLITE_IOERR_SHMMAP",
    "SQLITE_IOERR_SHMOPEN",
    "SQLITE_PROTOCOL",
    "SQLITE_BUSY_SNAPSHOT",
    "SQLITE_BUSY_RECOVERY",
    "SQLITE_CORRUPT",
    "SQLITE_NOTADB",
    "SQLITE_CANTOPEN",
    "SQLITE_READONLY_DBMOVED",
)
breaking = pytest.mark.parametrize("code", BREAKING_CODES)


def fail_once(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Make the next query of an operation raise this error of SQLite."""
    execute = sqlite_thread.execute

    def fail(*_: object) -> list[object]:
        monkeypatch.setattr(sqlite_thread, "execute", execute)
        raise apsw.exception_for(getattr(apsw, code))

    monkeypatch.setattr(sqlite_thread, "execute", fail)


@breaking
async def test_writer_and_reader_reopen_after_an_error_of_the_writer(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    await add_jobs(store, 2)
    assert await count_jobs(store) == 2
    fail_once(monkeypatch, code)
    with pytest.raises(StoreUnreachable):
        await add_jobs(store, 1)
    driver = store.driver
    assert isinstance(driver, Sqlite)
    assert driver.writer is not None
    assert driver.reader is not None
    assert (driver.writer.connection, driver.reader.connection) == (None, None)
    await add_jobs(store, 1)
    assert await count_jobs(store) == count_directly(path) == 3


@breaking
async def test_writer_and_reader_reopen_after_an_error_of_the_reader(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    await add_jobs(store, 2)
    fail_once(monkeypatch, code)
    with pytest.raises(StoreUnreachable):
        await count_jobs(store)
    driver = store.driver
    assert isinstance(driver, Sqlite)
    assert driver.writer is not None
    assert driver.reader is not None
    assert (driver.writer.connection, driver.reader.connection) == (None, None)
    assert await count_jobs(store) == 2
    await add_jobs(store, 1)
    assert await count_jobs(store) == count_directly(path) == 3


async def test_error_of_one_operation_keeps_the_connection(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_jobs(store, 1)
    driver = store.driver
    assert isinstance(driver, Sqlite)
    assert driver.writer is not None
    connection = driver.writer.connection
    fail_once(monkeypatch, "SQLITE_BUSY")
    with pytest.raises(StoreUnreachable):
        await add_jobs(store, 1)
    await add_jobs(store, 1)
    assert driver.writer.connection is connection


def remove_companions(path: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        os.unlink(f"{path}{suffix}")


COMPANIONS = pytest.mark.parametrize("suffixes", [["-wal"], ["-shm"], ["-wal", "-shm"]], ids=" ".join)


async def add_one_job(store: Store) -> None:
    await add_jobs(store, 1)


FIRST = pytest.mark.parametrize("first", [add_one_job, count_jobs])


@FIRST
@COMPANIONS
async def test_deleted_log_or_index_is_opened_anew(
    store: Store, path: Path, suffixes: list[str], first: Callable[[Store], Awaitable[object]]
) -> None:
    await add_jobs(store, 3)
    assert await count_jobs(store) == 3
    remove_companions(path, *suffixes)
    with pytest.raises(StoreUnreachable, match="deleted or replaced"):
        await first(store)
    before = 3 if suffixes == ["-shm"] else 0  # the jobs were in the log
    assert await read_after_reopening(store) == before
    await add_jobs(store, 2)
    assert await count_jobs(store) == before + 2
    await store.close()
    assert count_directly(path) == before + 2
    check_integrity(path)


async def read_after_reopening(store: Store) -> int:
    """The thread that did not notice may notice now."""
    try:
        return await count_jobs(store)
    except StoreUnreachable:
        return await count_jobs(store)


def check_integrity(path: Path) -> None:
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


async def test_deleted_log_is_never_written_to_a_backup_copied_over(store: Store, backup: Path, path: Path) -> None:
    """The file keeps its number, so SQLite itself would write the log of the lost database to the backup."""
    await add_jobs(store, 3)
    await count_jobs(store)
    remove_companions(path, "-wal", "-shm")
    shutil.copy(backup, path)
    await store.close()
    assert filecmp.cmp(path, backup, shallow=False)
    assert count_directly(path) == 0


@pytest.mark.parametrize("suffixes", [[""], ["", "-wal"], ["", "-shm"]], ids=["database", "and log", "and index"])
async def test_first_look_at_a_replaced_database_ignores_the_old_log(
    store: Store, backup: Path, path: Path, suffixes: list[str]
) -> None:
    """A connection that was not open before knows from the others of its process which log is old."""
    await add_jobs(store, 3)
    remove_companions(path, *suffixes)
    shutil.copy(backup, path)
    other = Store(Sqlite(path))
    assert await count_jobs(other) == 0
    await add_jobs(other, 1)
    with pytest.raises(StoreUnreachable):
        await add_jobs(store, 1)
    await add_jobs(store, 1)
    assert await count_jobs(store) == await count_jobs(other) == 2
    await other.close()
    await store.close()
    assert count_directly(path) == 2
    check_integrity(path)


async def test_index_that_another_process_keeps_alive_ends_with_that_process(backup: Path, path: Path) -> None:
    """Its old index promises pages that the new log does not have: SQLite reports disk I/O errors."""
    writer = Store(Sqlite(path))
    await writer.open()
    await add_jobs(writer, 3)
    with open_in_other_process(path) as other:
        assert other.count_jobs() == "3"
        await writer.close()
        remove_companions(path, "", "-wal")
        shutil.copy(backup, path)
        store = Store(Sqlite(path))
        with pytest.raises(StoreUnreachable, match="disk I/O error"):
            await count_jobs(store)
        assert other.count_jobs() == "unreachable"
        assert await read_after_reopening(store) == 0
        await add_jobs(store, 2)
        assert other.count_jobs() == "2"
        await store.close()
    check_integrity(path)


async def test_migration_leaves_the_locks_of_an_open_store(store: Store, path: Path) -> None:
    """A process that closes a descriptor of a file loses all its locks on it; then others delete the log."""
    await add_jobs(store, 3)
    await Store(Sqlite(path)).migrate()
    with open_in_other_process(path) as other:
        assert other.count_jobs() == "3"
    assert read_size(path.with_name("postino.db-wal")) > 0
    await add_jobs(store, 1)
    assert await count_jobs(store) == 4


async def test_empty_file_stays_empty(store: Store, backup: Path, path: Path) -> None:
    """It may be a copy that has just begun."""
    await add_jobs(store, 1)
    os.truncate(replace_by_copy(backup, path), 0)
    for match in ("deleted or replaced", "is empty"):
        with pytest.raises(StoreUnreachable, match=match):
            await add_jobs(store, 1)
    assert read_size(path) == 0


def replace_by_copy(backup: Path, path: Path) -> Path:
    path.unlink()
    return Path(shutil.copy(backup, path))


def read_size(path: Path) -> int:
    return path.stat().st_size


async def test_locked_folder_is_an_error(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_waits, "LOCK_SECONDS", 0.0)
    descriptor = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(StoreUnreachable, match="opens or closes"):
        await add_jobs(store, 1)
    os.close(descriptor)
    await add_jobs(store, 1)


async def test_database_replaced_while_it_is_opened_leaves_no_log_behind(
    store: Store, backup: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log that was there belongs to the database that left, and no process may apply it to the new one."""
    with open_in_other_process(path) as other:
        await add_jobs(store, 3)
        assert other.count_jobs() == "3"
        await store.close()
        await store.open()  # its threads remember no file

        def replace_first(*arguments: Any) -> None:
            monkeypatch.setattr(sqlite_thread, "check_complete", check_complete)
            replace_by_copy(backup, path)
            check_complete(*arguments)

        monkeypatch.setattr(sqlite_thread, "check_complete", replace_first)
        with pytest.raises(StoreUnreachable, match="while it was opened"):
            await add_jobs(store, 1)
        await add_jobs(store, 1)
        assert await count_jobs(store) == 1
        assert other.count_jobs() == "unreachable"
        assert other.count_jobs() == "1"
    assert count_directly(path) == 1
    check_integrity(path)
