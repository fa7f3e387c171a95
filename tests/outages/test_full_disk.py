"""The disk of a SQLite file fills up: enqueue raises, the worker waits and goes on when there is room."""

import asyncio
import resource
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from postino import Done, Job, Outcome, Postino, State
from postino.engine import store_retry
from postino.errors import StoreUnreachable
from tests.engine.conftest import make_config, wait_for_end
from tests.outages.job_flow import Flow, Logs, Ran, Start, find_alarms, line_with, run_flow

ROOM = 1 << 30


class Disk:
    """A disk of limited size for every connection of this process; SQLite reports when it is full."""

    def __init__(self) -> None:
        self.pages = ROOM

    def watch(self, connection: apsw.Connection) -> None:
        connection.exec_trace = self.before

    def before(self, cursor: apsw.Cursor, sql: str, _: Any) -> bool:
        if sql.startswith("BEGIN IMMEDIATE"):
            connection = cursor.connection
            connection.exec_trace = None
            connection.execute(f"PRAGMA max_page_count = {self.pages}")
            connection.exec_trace = self.before
        return True


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    apsw.connection_hooks.append(disk.watch)
    yield disk
    apsw.connection_hooks.remove(disk.watch)


@pytest.fixture
async def app(disk: Disk, tmp_path: Path) -> AsyncIterator[Postino]:
    async with Postino(make_config(tmp_path, f"sqlite:///{tmp_path}/postino.db")) as app:
        yield app


@pytest.fixture
def settle_failed(app: Postino, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Return an event that is set when a settle fails."""
    settle_failed, settle = asyncio.Event(), app.store.settle

    async def settle_and_record(*arguments: Any, **options: Any) -> Any:
        try:
            return await settle(*arguments, **options)
        except StoreUnreachable:
            settle_failed.set()
            raise

    monkeypatch.setattr(app.store, "settle", settle_and_record)
    return settle_failed


async def test_full_disk_raises_and_work_resumes_when_there_is_room(
    app: Postino, flow: Flow, disk: Disk, settle_failed: asyncio.Event, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_retry, "KEEP_TRYING", 0)
    started, finish = asyncio.Event(), asyncio.Event()

    @app.handler("large")
    async def large(job: Job) -> Outcome:
        flow.starts[job.id] += 1
        started.set()
        await finish.wait()
        return Done("x" * 100_000)

    async with run_flow(flow):
        job = await app.enqueue("large")
        await started.wait()
        disk.pages = 1  # no more than there are
        with pytest.raises(StoreUnreachable, match=r"disk of .*postino\.db is full\. Nothing was lost; free some"):
            await app.enqueue("flow", "x" * 900_000)
        finish.set()
        await settle_failed.wait()
        disk.pages = ROOM
        await flow.check_recovery()
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    await flow.check(given_back=True)
    assert find_alarms(logs) == []


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux can take away another process's room")
async def test_process_on_a_full_disk_resumes_when_it_can_write(tmp_path: Path, start: Start, ran: Ran) -> None:
    url = f"sqlite:///{tmp_path}/postino.db"
    async with Postino(make_config(tmp_path, url)) as app:
        process = start(url)
        jobs = [await app.enqueue("record")]
        await wait_for_end(app, jobs[0])
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        jobs += await app.enqueue_many([("record", number) for number in range(20)])
        assert "disk I/O error" in await asyncio.to_thread(line_with, process, "store.unreachable")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for job in jobs:
            assert (await wait_for_end(app, job)).rescues == 0
    assert ran() == {str(job.id): 1 for job in jobs}
