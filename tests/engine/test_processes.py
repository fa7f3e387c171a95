"""Several real worker processes on one store."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from postino import Job, Postino, State
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import ClaimRequest, JobFilter, WorkerInfo
from postino.values.job import new_id
from tests.engine.conftest import wait_for, wait_for_end

pytestmark = pytest.mark.slow  # every test starts processes

Start = Callable[..., "subprocess.Popen[str]"]
Records = Callable[[], list[list[str]]]


@pytest.fixture
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    """Starts worker processes, and ends those that are left."""
    url: str = request.getfixturevalue("database_url")
    with ExitStack() as ending:

        def start_one(*, hanging: bool = False) -> "subprocess.Popen[str]":
            environment = os.environ | {"RECORDS": str(tmp_path), "RECORDER_DATABASE": url}
            command = [sys.executable, "-m", "tests.engine.recording_worker"]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            ending.callback(finish, process)
            if hanging:
                (tmp_path / "hanging").write_text(str(process.pid))
            assert process.stdout is not None
            assert "ready\n" in process.stdout  # behind lines of the log
            return process

        yield start_one


def finish(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


@pytest.fixture
def records(tmp_path: Path) -> Records:
    def read() -> list[list[str]]:
        path = tmp_path / "record"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    return read


async def all_ended(app: Postino, jobs: list[Job]) -> None:
    async def none_left() -> bool:
        return not await app.store.jobs(JobFilter(states=(State.PENDING, State.RUNNING), limit=1))

    await wait_for(none_left)
    states = {job.id: job.state for job in await app.store.jobs(JobFilter(limit=len(jobs)))}
    assert {states[job.id] for job in jobs} == {State.COMPLETED}


async def test_two_processes_run_each_job_once(app: Postino, start: Start, records: Records) -> None:
    start(), start()
    both = 16  # twice what one of them has room for, so that both must take part
    jobs = await app.enqueue_many([("meet", both)] * both)
    await all_ended(app, jobs)
    assert len({process for _, process in records()}) == 2
    jobs += await app.enqueue_many([("record", number) for number in range(600)])
    await all_ended(app, jobs)
    assert Counter(job for job, _ in records()) == {str(job.id): 1 for job in jobs}


async def test_two_processes_never_exceed_a_cap_of_one(app: Postino, start: Start, records: Records) -> None:
    await app.cap("alone", 1)
    start(), start()
    jobs = await app.enqueue_many([("alone", "one") for _ in range(60)])
    await all_ended(app, jobs)
    assert Counter(job for job, _ in records()) == {str(job.id): 1 for job in jobs}
    assert "overlap" not in {process for _, process in records()}


async def test_two_processes_never_run_two_jobs_of_a_lane_at_once(app: Postino, start: Start, records: Records) -> None:
    start(), start()
    accounts = [f"account-{number % 4}" for number in range(80)]
    jobs = await app.enqueue_many([{"type": "alone", "payload": name, "account": name} for name in accounts])
    await all_ended(app, jobs)
    assert Counter(job for job, _ in records()) == {str(job.id): 1 for job in jobs}
    assert "overlap" not in {process for _, process in records()}


@pytest.mark.parametrize("account", [None, "a1"])
async def test_jobs_of_a_killed_worker_are_rescued(
    app: Postino, start: Start, records: Records, tmp_path: Path, account: str | None
) -> None:
    victim = start()
    (tmp_path / "hanging").write_text(str(victim.pid))
    job = await app.enqueue("hang", account=account)

    async def is_started() -> bool:
        return len(records()) == 1

    await wait_for(is_started)
    victim.send_signal(signal.SIGKILL)
    start()
    done = await wait_for_end(app, job)
    assert (done.state, done.rescues) == (State.COMPLETED, 1)
    assert [attempt.outcome for attempt in await app.store.attempts(job.id)] == ["rescued", "completed"]
    assert [worker.pid for worker in await app.store.workers()] != [victim.pid]


async def test_stopped_worker_finishes_its_jobs_and_unregisters(app: Postino, start: Start) -> None:
    process = start()
    await wait_for_end(app, await app.enqueue("record"))
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, 10) == 0
    assert await app.store.workers() == []


async def test_claim_that_commits_after_its_worker_died_is_rescued(app: Postino, start: Start) -> None:
    await app.store.register_worker(WorkerInfo(id="late", host="here", pid=1))
    job = await app.enqueue("record")
    poll = await app.store.poll("late")
    order = ClaimRequest(worker="late", token=new_id(), free=1, poll=poll)
    assert [claimed.id for claimed in await app.store.claim(order)] == [job.id]
    await app.store.unregister_worker("late")
    start()
    done = await wait_for_end(app, job)
    assert (done.state, done.rescues) == (State.COMPLETED, 1)


async def test_worker_with_a_blocked_loop_does_not_count_as_dead(
    app: Postino, start: Start, records: Records, tmp_path: Path
) -> None:
    blocked = start()
    (tmp_path / "hanging").write_text(str(blocked.pid))
    job = await app.enqueue("block", 2.5)

    async def is_started() -> bool:
        return len(records()) == 1

    await wait_for(is_started)
    start()  # an observer, which sees beats go on while the loop of the other stands still
    done = await wait_for_end(app, job)
    assert (done.state, done.rescues) == (State.COMPLETED, 0)
    assert records() == [[str(job.id), str(blocked.pid)]]


async def test_process_with_a_stuck_loop_ends_and_its_jobs_are_rescued(
    app: Postino, start: Start, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STALL", "0.6")
    stuck = start()
    (tmp_path / "hanging").write_text(str(stuck.pid))
    job = await app.enqueue("block", 60)
    assert await asyncio.to_thread(stuck.wait, 20) == 70
    monkeypatch.delenv("STALL")  # a busy machine may stop the next worker for as long
    start()
    assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert next(int(process) for _, process in records()) == stuck.pid


async def test_job_that_kills_workers_fails_and_others_complete(app: Postino, start: Start) -> None:
    neighbours = await app.enqueue_many([("slow", number) for number in range(5)])
    killer = await app.enqueue("kill")
    while (await app.store.job(killer.id)).state is not State.FAILED:
        process = start()
        waiting = asyncio.create_task(asyncio.to_thread(process.wait))
        quarantined = asyncio.create_task(wait_for_end(app, killer))
        await asyncio.wait([waiting, quarantined], return_when=asyncio.FIRST_COMPLETED)
        quarantined.cancel()
    assert (await app.store.dead_letter(killer.id)).cause is DeadLetterCause.WORKER_KILLER
    for job in neighbours:
        done = await wait_for_end(app, job)
        assert (done.state, done.rescues <= 1) == (State.COMPLETED, True)
