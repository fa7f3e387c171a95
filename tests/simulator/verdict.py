"""Compares the end of a life with what was promised: nothing is lost, and the database tells the truth."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from postino.rules.settlement import DeadLetterCause
from postino.stores.records import JobFilter
from postino.values.job import Job, State

if TYPE_CHECKING:
    from tests.simulator.life import Life
    from tests.simulator.oracle import Promise


async def judge(life: Life) -> None:
    """Fail the life for each promise that was not kept."""
    if life.failures:
        return
    jobs = {job.id: job for job in await life.platform.store.jobs(JobFilter(limit=1000))}
    for promise in life.oracle.promises.values():
        job, live = jobs.get(promise.job), life.oracle.list_live(promise)
        name = f"post {promise.number} of {promise.account}"
        if job is None:
            if not promise.is_relaxed:
                life.fail(f"lost: {name} was accepted, and does not exist")
            continue
        if not job.state.is_final:
            life.fail(f"waiting for ever: {name} is {job.state}, to run at {job.run_at}, {job.last_error}")
        if job.state is State.FAILED and await is_refused_for_good(life, job):
            life.fail(f"given up: {name} is a dead letter, although its content is valid: {job.last_error}")
        if job.state is State.COMPLETED and count_completed(life, promise, jobs) > len(live):
            life.fail(f"not out: {name} is completed, and is not live")
    if not life.restores:
        report, _ = await life.server.audit_trail.verify()
        if report.problem is not None:
            life.fail(f"audit: entry {report.broken} is wrong: {report.problem}")
        await wait_for_listener(life)
        check_events(life)


def count_completed(life: Life, promise: Promise, jobs: Mapping[UUID, Job]) -> int:
    """Return how many posts with the same text are completed, except those that a person has declared live."""
    same = life.oracle.find_promises(promise.number, promise.account)
    known = [jobs[it.job] for it in same if it.job in jobs and not it.declared_live]
    return sum(job.state is State.COMPLETED for job in known)


async def is_refused_for_good(life: Life, job: Job) -> bool:
    """Return whether a post has failed for a cause that no valid post should have."""
    letter = await life.platform.store.dead_letter(job.id)
    return letter.cause is DeadLetterCause.PERMANENT


async def wait_for_listener(life: Life) -> None:
    """Wait until the listener has heard the last event: a process that is killed keeps its cursor for 30 s."""
    for _ in range(12):
        [(last,)] = life.database.ask("SELECT max(seq) FROM postino_events")
        if last is None or last in life.heard:
            return
        await asyncio.sleep(5)


def check_events(life: Life) -> None:
    """The listener heard every event since its start at least once, and each new one after those before it."""
    [*rows] = life.database.ask("SELECT seq FROM postino_events ORDER BY seq")
    first_heard = [*dict.fromkeys(life.heard)]
    if first_heard != sorted(first_heard):
        life.fail("events: the listener heard events out of order")
    missed = {seq for (seq,) in rows if first_heard and seq > first_heard[0]} - {*first_heard}
    if missed:
        life.fail(f"events: the listener missed {len(missed)} events, the first is {min(missed)}")
