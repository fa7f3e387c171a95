"""The verdict detects each kind of violation."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import UUID

import pytest

from postino import Job, Postino, State
from postino.stores.records import ClaimRequest, WorkerInfo
from postino.values.job import new_id
from tests.crash.invariant_watch import CARRIED_OUT, TAKEN_OVER, InvariantWatch
from tests.crash.load import WORKS
from tests.crash.record import Record
from tests.crash.sql import SqlConnection
from tests.crash.verdict import Verdict, judge, read_record
from tests.crash.workers import Workers
from tests.engine.conftest import wait_for_end

Judge = Callable[..., Awaitable[Verdict]]
NOBODY = 0


@pytest.fixture
async def sql(app: Postino, database_url: str) -> AsyncIterator[SqlConnection]:
    sql = SqlConnection(database_url)
    yield sql
    sql.close()


@pytest.fixture
async def completed_job(app: Postino, workers: Workers) -> Job:
    """Return a job that completed normally."""
    job = await app.enqueue("plain", 0.0)
    await workers.start()
    return await wait_for_end(app, job)


@pytest.fixture
def verdict(app: Postino, sql: SqlConnection, tmp_path: Path) -> Judge:
    async def judge_run(ends: dict[UUID, frozenset[State]]) -> Verdict:
        return await judge(sql, app.store, read_record(tmp_path), ends)

    return judge_run


async def test_run_without_faults_has_no_violation(completed_job: Job, verdict: Judge) -> None:
    result = await verdict({completed_job.id: WORKS})
    assert (result.lost, result.again, result.wrong) == ([], [], [])
    assert result.states == {State.COMPLETED: 1}


async def test_an_accepted_job_that_does_not_exist_is_lost(completed_job: Job, verdict: Judge) -> None:
    assert len((await verdict({new_id(): WORKS})).lost) == 1


async def test_a_child_that_its_parent_recorded_counts_as_accepted(
    completed_job: Job, verdict: Judge, tmp_path: Path
) -> None:
    Record(tmp_path).write("child", new_id())
    assert len((await verdict({})).lost) == 1


async def test_a_run_that_starts_after_the_end_is_detected(completed_job: Job, verdict: Judge, tmp_path: Path) -> None:
    Record(tmp_path).write("start", completed_job.id, new_id(), time.time_ns(), NOBODY)
    assert len((await verdict({})).again) == 1


async def test_a_claim_that_runs_twice_is_detected(completed_job: Job, verdict: Judge, tmp_path: Path) -> None:
    [((job, token), _)] = read_record(tmp_path).starts
    Record(tmp_path).write("start", job, token, time.time_ns(), NOBODY)
    assert len((await verdict({})).wrong) == 1


async def test_an_end_without_a_run_is_detected(completed_job: Job, verdict: Judge, tmp_path: Path) -> None:
    (tmp_path / "record").write_text("")
    assert len((await verdict({})).wrong) == 1


async def test_an_unexpected_end_is_detected(completed_job: Job, verdict: Judge) -> None:
    assert len((await verdict({completed_job.id: frozenset({State.CANCELLED})})).wrong) == 1


async def test_a_job_that_never_ends_is_detected(app: Postino, verdict: Judge) -> None:
    job = await app.enqueue("plain", 0.0)
    assert len((await verdict({job.id: WORKS})).wrong) == 1


async def claim_as(app: Postino, pid: int) -> None:
    await app.enqueue("plain", 0.0)
    await app.store.register_worker(WorkerInfo(id="w", host="here", pid=pid))
    order = ClaimRequest(worker="w", token=new_id(), free=1, poll=await app.store.poll("w"))
    assert len(await app.store.claim(order)) == 1


@pytest.mark.parametrize("alive", [True, False])
async def test_a_claim_that_is_never_settled_is_detected(app: Postino, sql: SqlConnection, alive: bool) -> None:
    await claim_as(app, 7)
    watch = InvariantWatch(sql, app.store, lambda: {7} if alive else set(), lambda: 1)
    await watch.check()
    assert watch.wrong == []
    claims, patience = (watch.held_for, CARRIED_OUT) if alive else (watch.dead_for, TAKEN_OVER)
    claims.update(dict.fromkeys(claims, patience))
    watch.checked_at -= 1
    await watch.check()
    assert len(watch.wrong) == 1


async def test_jobs_that_vanish_are_detected(app: Postino, sql: SqlConnection) -> None:
    await app.enqueue("plain", 0.0)
    watch = InvariantWatch(sql, app.store, set, lambda: 2)
    await watch.check()
    assert len(watch.wrong) == 1
