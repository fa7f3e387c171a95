"""kill -9 at every registered point, on both stores: nothing is lost, and nothing runs again once it has completed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from postino import Job, Postino, State
from postino.engine.crashpoints import POINTS
from postino.event import Cursor, EventType
from postino.store import JobFilter
from tests.engine.conftest import ended, eventually
from tests.engine.test_processes import Records, Start

WORKERS = [point for point in POINTS if not point.startswith("enqueue.")]
ONCE = ("rescue.", "release.")  # there is one dead worker and one stop
CASES = [(point, passage) for point in WORKERS for passage in (1, 3) if passage == 1 or not point.startswith(ONCE)]


@pytest.mark.crash
@pytest.mark.parametrize(("point", "passage"), CASES)
async def test_a_worker_killed_here_leaves_everything_to_the_next(
    app: Postino,
    start: Start,
    records: Records,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    passage: int,
) -> None:
    (tmp_path / "hanging").write_text("")
    jobs = await app.enqueue_many([{"type": "record", "account": f"a{n % 3}"} for n in range(6)])
    jobs += await app.enqueue_many([("record", n) for n in range(6)])
    if point.startswith("rescue."):
        jobs.append(await leave_a_dead_worker(app, start, records, tmp_path))
    monkeypatch.setenv("POSTINO_CRASH", f"{point}:{passage}")
    monkeypatch.setenv("DRAIN", "0.1")
    if point.startswith("release."):
        jobs.append(await app.enqueue("hang"))
        victim = start(hanging=True)
        await until_hanging(app, jobs[-1])
        victim.send_signal(signal.SIGTERM)
    else:
        victim = start()
    assert await asyncio.to_thread(victim.wait, 20) == -signal.SIGKILL, f"{point} was never reached"
    (tmp_path / "hanging").write_text("")
    monkeypatch.delenv("POSTINO_CRASH")
    start()
    for job in jobs:
        assert (await ended(app, job)).state is State.COMPLETED
    await check_books(app, jobs, records)


@pytest.mark.crash
@pytest.mark.parametrize("point", ["enqueue.before:1", "enqueue.after:1", "enqueue.before:2", "enqueue.after:2"])
async def test_a_caller_killed_here_may_simply_call_again(
    app: Postino, database_url: str, start: Start, records: Records, point: str
) -> None:
    for crash, code in ((point, -signal.SIGKILL), ("", 0)):
        environment = os.environ | {"RECORDER_DATABASE": database_url, "POSTINO_CRASH": crash}
        command = [sys.executable, "-m", "tests.crash.enqueuer"]
        assert (await asyncio.to_thread(subprocess.run, command, env=environment, check=False)).returncode == code
    jobs = list(await app.store.list(JobFilter()))
    assert len(jobs) == 6
    start()
    for job in jobs:
        assert (await ended(app, job)).state is State.COMPLETED
    await check_books(app, jobs, records)


async def leave_a_dead_worker(app: Postino, start: Start, records: Records, tmp_path: Path) -> Job:
    await app.pause("channel", "record")
    job = await app.enqueue("hang")
    dead = start(hanging=True)
    await until_hanging(app, job)
    dead.kill()
    await asyncio.to_thread(dead.wait)
    await app.resume("channel", "record")
    return job


async def until_hanging(app: Postino, job: Job) -> None:
    async def running() -> bool:
        return (await app.store.get(job.id)).state is State.RUNNING

    await eventually(running)


async def check_books(app: Postino, jobs: list[Job], records: Records) -> None:
    """One completed attempt each, told once; and no trace of a run after it."""
    for job in jobs:
        history = await app.store.attempts(job.id)
        assert [attempt.outcome for attempt in history].count("completed") == 1
        assert history[-1].outcome == "completed"
    events = await app.store.events(Cursor(), 1000)
    told = Counter(event.job_id for event in events if event.type == EventType.COMPLETED)
    assert told == {job.id: 1 for job in jobs}
    runs = Counter(job for job, _ in records())
    assert set(runs) >= {str(job.id) for job in jobs}
    assert max(runs.values()) <= 2, "one run before the kill, one after it"
