"""kill -9 at every crash point, on both stores: nothing is lost, and nothing runs again once completed."""

import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from postino import Job, Postino, State
from postino.stores.records import DeadLetterFilter, JobFilter
from postino.values.event import Cursor, EventType
from tests.contract.databases import PostgresDatabase, SqliteDatabase
from tests.crash.points import ENGINE_POINTS, EVERYTHING, POINTS, STUCK
from tests.crash.verdict import Runs
from tests.crash.workers import Process, Workers
from tests.engine.conftest import wait_for, wait_for_end

ReadRuns = Callable[[], Runs]

OFTEN = ("poll.", "claim.", "handler.", "settle.")  # passed often enough that a later passage is another case
PASSAGES = ("1", "3")
ANY = "?"  # one of them, another every time
AFTER_A_DEATH = ("rescue.", "mark_suspect.")
ON_THE_WAY_OUT = ("unregister_worker.",)
LISTENING = ("lease_cursor.", "listener.", "move_cursor.")
DUTIES = ("take_duty.", "prune.", "finish_duty.", "fail_missed_posts.", "hint_unreachable_jobs.")
BLOCKED = ("heartbeat.",)  # the thread beside the loop beats only while the loop cannot
CALLERS = [f"{point}:{passage}" for passage in (1, 2) for point in ("enqueue.before", "enqueue.after")]
CASES = [
    f"{point}:{passage}"
    for point in ENGINE_POINTS
    for passage in ("1" if not point.startswith(OFTEN) else PASSAGES if EVERYTHING else ANY)
    if not point.startswith("enqueue.")
]
STUCK_CASES = [point for point in POINTS if point.startswith(STUCK)]


@pytest.mark.crash
@pytest.mark.parametrize("crash", CASES)
async def test_worker_killed_here_leaves_its_jobs_to_the_next(
    app: Postino, workers: Workers, runs: ReadRuns, chance: random.Random, crash: str
) -> None:
    crash = crash.replace(ANY, chance.choice(PASSAGES))
    jobs = [await leave_a_dead_worker(app, workers)] if crash.startswith(AFTER_A_DEATH) else []
    jobs += await app.enqueue_many([{"type": "plain", "payload": 0.0, "account": f"a{n % 3}"} for n in range(6)])
    jobs += await app.enqueue_many([("plain", 0.0)] * 6)
    if crash.startswith(BLOCKED):
        jobs.append(await app.enqueue("block", 0.5))
    if crash.startswith(ON_THE_WAY_OUT):
        jobs.append(await app.enqueue("hang"))
    special = {"listens": crash.startswith(LISTENING), "dutiful": crash.startswith(DUTIES)}
    victim = await workers.start(crash=crash, hangs=True, drain=0.1, **special)
    if crash.startswith(ON_THE_WAY_OUT):
        await wait_until_running(app, jobs[-1])
        victim.signal(signal.SIGTERM)
    assert await victim.wait(60) == -signal.SIGKILL, f"{crash} was never reached"
    await workers.start()
    for job in jobs:
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    await check_history(app, jobs, runs(), deaths=2 if crash.startswith(AFTER_A_DEATH) else 1)


@pytest.mark.crash
@pytest.mark.parametrize("crash", STUCK_CASES)
async def test_worker_killed_while_it_cannot_claim_leaves_its_jobs_to_the_next(
    app: Postino, workers: Workers, runs: ReadRuns, database_url: str, crash: str
) -> None:
    poison = await app.enqueue("plain", 0.0, account="a0")
    jobs = await app.enqueue_many([{"type": "plain", "payload": 0.0, "account": f"a{n % 3}"} for n in range(6)])
    spoil(database_url, poison)
    victim = await workers.start(crash=crash, is_publishing=not crash.startswith("report_trouble."))
    assert await victim.wait(60) == -signal.SIGKILL, f"{crash} was never reached"
    await workers.start()
    for job in jobs:
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert (await wait_for_end(app, poison)).state is State.FAILED
    assert len(await app.store.dead_letters(DeadLetterFilter())) == 1
    await check_history(app, jobs, runs(), deaths=1)


def spoil(url: str, job: Job) -> None:
    """Store a value that makes every claim of this job fail."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        SqliteDatabase(path).sql(f"UPDATE {{jobs}} SET scheduled_at = 'soon' WHERE id = '{job.id}'")
        return
    database = PostgresDatabase(url)
    database.sql(f"UPDATE {{jobs}} SET time_limit = 1e308 WHERE id = '{job.id}'")
    database.close()


@pytest.mark.crash
@pytest.mark.parametrize("crash", CALLERS)
async def test_caller_killed_here_can_repeat_the_call(
    app: Postino, workers: Workers, runs: ReadRuns, crash: str
) -> None:
    for point, code in ((crash, -signal.SIGKILL), ("", 0)):
        caller = await workers.start(crash=point, enqueues=True)
        assert await caller.wait(60) == code
    jobs = list(await app.store.jobs(JobFilter()))
    assert len(jobs) == 6
    await workers.start()
    for job in jobs:
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    await check_history(app, jobs, runs(), deaths=0)


async def leave_a_dead_worker(app: Postino, workers: Workers) -> Job:
    job = await app.enqueue("hang")
    dead = await workers.start(hangs=True)
    await wait_until_running(app, job)
    await end(dead)
    return job


async def end(process: Process) -> None:
    process.kill()
    await process.ended


async def wait_until_running(app: Postino, job: Job) -> None:
    async def is_running() -> bool:
        return (await app.store.job(job.id)).state is State.RUNNING

    await wait_for(is_running)


async def check_history(app: Postino, jobs: list[Job], runs: Runs, *, deaths: int) -> None:
    """Check that each job has one completed attempt, one event, and no run after it."""
    for job in jobs:
        history = await app.store.attempts(job.id)
        assert [attempt.outcome for attempt in history].count("completed") == 1
        assert history[-1].outcome == "completed"
    events = await app.store.events(Cursor(), 1000)
    completed = Counter(event.job_id for event in events if event.type == EventType.COMPLETED)
    assert completed == {job.id: 1 for job in jobs}
    started = Counter(job for (job, _), _ in runs.starts)
    assert set(started) >= {job.id for job in jobs}
    assert max(started.values()) <= deaths + 1, "one run for each worker that died, and one after them"
    assert await app.store.unreachable_jobs() == []
