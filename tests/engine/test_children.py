"""Children of a handler that runs again: none is made twice, and none is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog

from postino import Call, Job, Outcome, Postino, Retry, Schedule, State
from postino.stores.records import JobFilter
from tests.engine.conftest import run_worker, wait_for_end

NOON = datetime(2040, 1, 1, 12, tzinfo=UTC)
Times = list[datetime | None]


@pytest.mark.parametrize("way", ["call", "app"])
async def test_child_of_a_handler_that_runs_again_is_one_job(app: Postino, way: str) -> None:
    @app.handler("parent", backoff=Schedule([0]))
    async def parent(job: Job, payload: None, call: Call) -> Outcome | None:
        payloads = [{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 2}]
        for each in payloads:
            await (call.enqueue("child", each) if way == "call" else app.enqueue("child", each, parent=job.id))
        await call.enqueue("child", {"a": 2}, key=f"{job.id} on purpose")
        return Retry("again") if job.attempts == 1 else None

    app.handler("child")(lambda: None)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("parent"))
        other = await wait_for_end(app, await app.enqueue("parent"))
    assert (job.state, job.attempts) == (State.COMPLETED, 2)
    for one in (job, other):
        assert len(await app.store.jobs(JobFilter(parent_id=one.id))) == 3, "two payloads, and one on purpose"


@pytest.mark.parametrize("way", ["call", "app", "thread"])
async def test_children_at_several_times_are_several_jobs_and_none_is_made_twice(app: Postino, way: str) -> None:
    """Each run computes the times from its own clock."""

    def list_times() -> list[datetime | None]:
        now = datetime.now(UTC)
        return [now + timedelta(hours=1), now + timedelta(hours=2), None, None]

    if way == "thread":

        @app.handler("parent", backoff=Schedule([0]))
        def in_thread(job: Job) -> Outcome | None:
            for at in list_times():
                app.sync.enqueue("child", "hello", parent=job.id, at=at)
            return Retry("again") if job.attempts == 1 else None

    else:

        @app.handler("parent", backoff=Schedule([0]))
        async def on_loop(job: Job, payload: None, call: Call) -> Outcome | None:
            for at in list_times():
                if way == "call":
                    await call.enqueue("child", "hello", at=at)
                else:
                    await app.enqueue("child", "hello", parent=job.id, at=at)
            return Retry("again") if job.attempts == 1 else None

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("parent"))
    assert (job.state, job.attempts) == (State.COMPLETED, 2)
    assert len(await app.store.jobs(JobFilter(parent_id=job.id))) == 3


async def test_children_enqueued_outside_a_run_are_told_apart_by_their_times(app: Postino) -> None:
    parent, at = await app.enqueue("parent"), datetime(2040, 1, 1, tzinfo=UTC)
    for when in (at, at, at + timedelta(hours=1), None, None):
        await app.enqueue("child", "hello", parent=parent.id, at=when)
    assert len(await app.store.jobs(JobFilter(parent_id=parent.id))) == 3


async def run_parent(app: Postino, *times: Callable[[], Times], way: str = "call") -> tuple[Job, list[list[Job]]]:
    """Run a handler that fails in each run but the last, and enqueues children for these times, with one payload.

    Return the parent as it ends, and what each run got.
    """
    runs: list[list[Job]] = []

    @app.handler("parent", backoff=Schedule([0]), max_attempts=len(times) + 1)
    async def parent(job: Job, payload: None, call: Call) -> Outcome | None:
        runs.append(born := [])
        for at in times[min(job.attempts, len(times)) - 1]():
            if way == "call":
                born.append(await call.enqueue("child", "hello", at=at))
            elif way == "app":
                born.append(await app.enqueue("child", "hello", at=at, parent=job.id))
            else:
                details: dict[str, Any] = {"type": "child", "payload": "hello", "at": at, "parent": job.id}
                born += await app.enqueue_many([details])
        return Retry("again") if job.attempts < len(times) else None

    async with run_worker(app):
        return await wait_for_end(app, await app.enqueue("parent")), runs


def fix(*hours: int) -> Callable[[], Times]:
    return lambda: [NOON + timedelta(hours=each) for each in hours]


@pytest.mark.parametrize("way", ["call", "app", "many"])
async def test_child_that_only_a_later_run_enqueues_is_not_dropped(app: Postino, way: str) -> None:
    """Postino cannot know whether it is the child of the first run for another time, so it says so."""
    job, runs = await run_parent(app, fix(1), fix(2), way=way)
    assert job.state is State.FAILED
    assert "No child was made for 2040-01-01T14:00:00Z" in str(job.last_error)
    assert "Give each child its own `key`" in str(job.last_error)
    assert len(await app.store.jobs(JobFilter(type="child"))) == 1
    assert [child.scheduled_at for child in runs[0]] == fix(1)()


@pytest.mark.parametrize("again", [(2, 1), (2,), (3, 1), (1, 2, 3, 4)])
async def test_run_again_gets_the_child_of_each_fixed_time(app: Postino, again: tuple[int, ...]) -> None:
    job, runs = await run_parent(app, fix(1, 2, 3), fix(*again))
    assert job.state is State.COMPLETED
    assert [child.scheduled_at for child in runs[1]] == fix(*again)()
    first = {child.scheduled_at: child.id for child in runs[0]}
    assert all(child.id == first.get(child.scheduled_at, child.id) for child in runs[1])
    assert len(await app.store.jobs(JobFilter(type="child"))) == max(3, *again)


async def test_time_that_moves_with_the_clock_is_the_same_child_and_is_logged(app: Postino) -> None:
    def in_an_hour() -> Times:
        return [datetime.now(UTC) + timedelta(hours=1)]

    with structlog.testing.capture_logs() as logs:
        job, runs = await run_parent(app, in_an_hour, in_an_hour, in_an_hour)
    assert job.state is State.COMPLETED
    assert len({child.id for run in runs for child in run}) == 1
    assert [line["job"] for line in logs if line["event"] == "child.kept"] == [str(runs[0][0].id)] * 2


async def test_child_without_a_time_is_the_same_in_each_run(app: Postino) -> None:
    with structlog.testing.capture_logs() as logs:
        job, runs = await run_parent(app, lambda: [None], lambda: [None])
    assert job.state is State.COMPLETED
    assert runs[0][0].id == runs[1][0].id
    assert "child.kept" not in [line["event"] for line in logs]


async def test_child_with_its_own_key_is_not_taken_for_another(app: Postino) -> None:
    @app.handler("parent", backoff=Schedule([0]), max_attempts=2)
    async def parent(job: Job, payload: None, call: Call) -> Outcome | None:
        if job.attempts == 1:
            await call.enqueue("child", "hello", at=NOON)
            await call.enqueue("child", "hello", at=NOON + timedelta(hours=1), key="on purpose")
            return Retry("again")
        await call.enqueue("child", "hello", at=NOON + timedelta(hours=1))
        return None

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("parent"))
    assert "Give each child its own `key`" in str(job.last_error)
