"""A SQLite file that is deleted or replaced while it is open: nobody writes to the old one or reads from it."""

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from postino.errors import StoreUnreachable
from postino.stores import sqlite_file
from postino.stores.records import NewJob
from postino.stores.sqlite import Sqlite
from postino.stores.sqlite_place import is_file_there
from postino.stores.store import Store
from postino.values.job import Queue, new_id

JOB = NewJob(id=new_id(), type="t", channel="t", queue=Queue.DEFAULT, payload=b"null")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "postino.db"


@pytest.fixture
async def backup(path: Path, tmp_path: Path) -> Path:
    """Create a database without jobs, and return the path of a copy."""
    await Store(Sqlite(path)).migrate()
    return Path(shutil.copy(path, tmp_path / "backup.db"))


@pytest.fixture
async def store(path: Path, backup: Path) -> AsyncIterator[Store]:
    store = Store(Sqlite(path))
    await store.open()
    yield store
    await store.close()


def rename_over(backup: Path, path: Path) -> None:
    os.replace(backup, path)


def remove_and_copy(backup: Path, path: Path) -> None:
    path.unlink()
    shutil.copy(backup, path)


def remove_all_and_copy(backup: Path, path: Path) -> None:
    for part in path.parent.glob("postino.db*"):
        part.unlink()
    shutil.copy(backup, path)


def move_folder_and_copy(backup: Path, path: Path) -> None:
    path.parent.rename(path.parent.with_name("old"))
    path.parent.mkdir()
    shutil.copy(backup, path)


WAYS = pytest.mark.parametrize("put", [rename_over, remove_and_copy, remove_all_and_copy, move_folder_and_copy])
Put = Callable[[Path, Path], None]


async def add_jobs(store: Store, count: int) -> None:
    await store.enqueue([replace(JOB, id=new_id()) for _ in range(count)])


async def count_jobs(store: Store) -> int:
    return sum(depth.jobs for depth in await store.queue_depths())


def count_directly(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        [[count]] = connection.execute("SELECT count(*) FROM postino_jobs")
        return int(count)
    finally:
        connection.close()


@WAYS
async def test_replaced_file_is_opened_after_one_error(store: Store, backup: Path, path: Path, put: Put) -> None:
    await add_jobs(store, 3)
    assert await count_jobs(store) == 3
    put(backup, path)
    with pytest.raises(StoreUnreachable, match="deleted or replaced"):
        await add_jobs(store, 1)
    with pytest.raises(StoreUnreachable, match="deleted or replaced"):
        await count_jobs(store)
    assert await count_jobs(store) == 0
    await add_jobs(store, 2)
    assert (await count_jobs(store), count_directly(path)) == (2, 2)
    [[verdict]] = apsw.Connection(str(path)).execute("PRAGMA integrity_check")
    assert verdict == "ok"


@WAYS
async def test_two_processes_agree_on_the_new_file(store: Store, backup: Path, path: Path, put: Put) -> None:
    other = Store(Sqlite(path))
    await other.open()
    for one in (store, other):
        await add_jobs(one, 1)
        assert await count_jobs(one) == await count_jobs(store)
    put(backup, path)
    for one in (store, other):
        for _ in range(2):
            with pytest.raises(StoreUnreachable):
                await (add_jobs(one, 1) if _ else count_jobs(one))
        await add_jobs(one, 1)
    assert await count_jobs(store) == await count_jobs(other) == 2
    await other.close()


async def test_write_whose_file_is_replaced_before_the_response_is_an_error(
    store: Store, backup: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_jobs(store, 1)
    driver = store.driver
    assert isinstance(driver, Sqlite)
    assert driver.writer is not None
    transact = driver.writer.transact

    def replace_after_commit(*arguments: object) -> object:
        results = transact(*arguments)  # type: ignore[arg-type]
        remove_and_copy(backup, path)
        return results

    monkeypatch.setattr(driver.writer, "transact", replace_after_commit)
    with pytest.raises(StoreUnreachable, match="may be lost with the old"):
        await add_jobs(store, 1)
    monkeypatch.undo()
    await add_jobs(store, 1)
    assert count_directly(path) == 1


async def test_deleted_file_is_not_created_anew(store: Store, path: Path) -> None:
    await add_jobs(store, 1)
    os.unlink(path)
    for match in ("deleted or replaced", "There is no database"):
        with pytest.raises(StoreUnreachable, match=match):
            await add_jobs(store, 1)
    assert sqlite_file.read_inode(path) is None


async def test_file_that_is_still_being_copied_is_unreachable(store: Store, backup: Path, path: Path) -> None:
    await add_jobs(store, 1)
    os.unlink(path)
    for size in (0, 100, 50_000):
        copy_part(backup, path, size)
        with pytest.raises(StoreUnreachable):
            await add_jobs(store, 1)
    copy_part(backup, path, None)
    await add_jobs(store, 1)
    assert await count_jobs_soon(store) == 1


def copy_part(backup: Path, path: Path, size: int | None) -> None:
    path.write_bytes(backup.read_bytes()[:size])


async def count_jobs_soon(store: Store) -> int:
    try:
        return await count_jobs(store)
    except StoreUnreachable:
        return await count_jobs(store)


async def test_older_schema_in_place_of_the_file_is_unreachable(store: Store, backup: Path, path: Path) -> None:
    await add_jobs(store, 1)
    with apsw.Connection(str(backup)) as connection:
        connection.execute("DELETE FROM postino_migrations")
    connection.close()
    remove_all_and_copy(backup, path)
    for match in ("deleted or replaced", "Run `postino migrate`"):
        with pytest.raises(StoreUnreachable, match=match):
            await add_jobs(store, 1)


async def test_log_of_the_replaced_file_is_kept_aside(store: Store, backup: Path, path: Path) -> None:
    await add_jobs(store, 3)
    kept = path.parent / "kept.db"
    os.rename(path, kept)  # without its log, which holds the jobs
    shutil.copy(backup, path)
    with pytest.raises(StoreUnreachable):
        await add_jobs(store, 1)
    await add_jobs(store, 1)
    assert count_directly(path) == 1
    os.rename(path.parent / "postino.db-wal-replaced", path.parent / "kept.db-wal")
    assert count_directly(kept) == 3


async def test_log_that_cannot_be_set_aside_keeps_the_file_closed(
    store: Store, backup: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    await add_jobs(store, 1)
    remove_and_copy(backup, path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        for _ in range(2):
            with pytest.raises(StoreUnreachable, match="Delete it: Permission denied"):
                await add_jobs(store, 1)
    with pytest.raises(StoreUnreachable, match="deleted or replaced"):
        await add_jobs(store, 1)
    await add_jobs(store, 1)
    assert count_directly(path) == 1


async def test_transaction_checks_its_files_at_most_twice(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_jobs(store, 1)
    await count_jobs(store)
    calls = 0
    read_files = sqlite_file.read_files

    def count_call(path: Path) -> sqlite_file.OpenFiles:
        nonlocal calls
        calls += 1
        return read_files(path)

    monkeypatch.setattr(sqlite_file, "read_files", count_call)
    await add_jobs(store, 1)
    assert calls == 2
    await count_jobs(store)
    assert calls == 3


async def test_concurrent_writes_and_replacements_corrupt_nothing(store: Store, backup: Path, path: Path) -> None:
    stop = time.monotonic() + 1

    async def write(store: Store) -> None:
        while time.monotonic() < stop:
            try:
                await add_jobs(store, 1)
            except StoreUnreachable:
                await asyncio.sleep(0)

    other = Store(Sqlite(path))
    await other.open()
    writing = asyncio.gather(*(write(one) for one in (store, other) for _ in range(3)))
    while not writing.done():
        fresh = Path(shutil.copy(backup, backup.with_suffix(".next")))
        await asyncio.to_thread(os.replace, fresh, path)
        await asyncio.sleep(0.05)
    await writing
    for one in (store, other):
        await count_jobs_soon(one)
        [[verdict]] = apsw.Connection(str(path)).execute("PRAGMA integrity_check")
        assert verdict == "ok"
    await other.close()


def test_file_where_this_process_may_not_look_may_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    place = json.dumps(["sqlite", "machine", str(tmp_path / "postino.db"), 12, 1.5])
    assert not is_file_there(place)
    monkeypatch.setattr(Path, "stat", refuse)
    assert is_file_there(place)
