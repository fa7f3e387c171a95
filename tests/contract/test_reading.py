"""Looking things up, for programs and for plain SQL; and what is due, dispatched once."""

from __future__ import annotations

import asyncio

import pytest

from postino.stores.records import JobFilter, QueueDepth
from postino.values.job import Job, Queue, State, new_id
from postino.values.outcome import Defer, Done, Reject, Unknown
from tests.contract.desk import ME, POISON, Desk, ids


async def test_the_plain_view_shows_live_and_finished_jobs_once_each(desk: Desk) -> None:
    done = await desk.run(Done(), channel="a")
    dead = await desk.run(Reject("no"), channel="b")
    replayed = await desk.run(Reject("no"), channel="c")
    await desk.store.replay_dead_letter(replayed.id, None, True, ME)
    later = await desk.put(channel="e", queue=Queue.LOW, run_at=desk.clock.later(hours=1))
    shown = desk.database.sql("SELECT channel, state, queue, generation FROM {all_jobs} ORDER BY channel")
    assert shown == [
        ("a", "completed", "default", 1), ("b", "failed", "default", 1), ("c", "pending", "default", 2),
        ("e", "pending", "low", 1),
    ]  # fmt: skip
    assert {done.id, dead.id, later.id} == ids([await desk.store.job(job.id) for job in (done, dead, later)])


async def test_the_plain_view_has_every_column_the_requirements_name(desk: Desk, due_job: Job) -> None:
    columns = (
        "id, type, channel, account, brand, user_id, queue, state, scheduled_at, run_at, attempts, max_attempts,"
        " idempotency_key, payload, remote_id, parent_id, correlation_id, last_error, created_at, claimed_by,"
        " claimed_at, finished_at, dispatched_at"
    )
    ((job_id, *_),) = desk.database.sql(f"SELECT {columns} FROM {{all_jobs}}")
    assert str(job_id) == str(due_job.id)


@pytest.mark.parametrize("payload", [b'{"name": "Per\xc3\xb9"}', POISON, b"", bytes(range(256))])
async def test_the_plain_view_shows_any_payload_as_text_and_as_bytes(desk: Desk, payload: bytes) -> None:
    await desk.put(payload=payload)
    ((text, raw),) = desk.database.sql("SELECT payload, payload_bytes FROM {all_jobs}")
    assert isinstance(text, str)
    assert raw == payload
    if payload.startswith(b"{"):
        assert text == '{"name": "Perù"}'


async def test_jobs_are_listed_by_what_they_are(desk: Desk) -> None:
    parent = await desk.put(channel="x", type="one", queue=Queue.HIGH, account="a", brand="b")
    child = await desk.put(channel="y", type="two", parent_id=parent.id)
    wanted: list[tuple[JobFilter, set[str]]] = [
        (JobFilter(), {"x", "y"}),
        (JobFilter(type="one"), {"x"}),
        (JobFilter(channel="y"), {"y"}),
        (JobFilter(account="a"), {"x"}),
        (JobFilter(brand="b"), {"x"}),
        (JobFilter(queue=Queue.HIGH), {"x"}),
        (JobFilter(parent_id=parent.id), {"y"}),
        (JobFilter(parent_id=child.id), set()),
        (JobFilter(states=(State.PENDING,)), {"x", "y"}),
        (JobFilter(states=(State.COMPLETED, State.FAILED)), set()),
    ]
    for wish, channels in wanted:
        assert {job.channel for job in await desk.store.jobs(wish)} == channels, wish


async def test_jobs_are_listed_in_every_state(desk: Desk) -> None:
    await desk.run(Done(), channel="completed")
    await desk.run(Reject("no"), channel="failed")
    await desk.run(Unknown("?"), channel="uncertain")
    await desk.put(channel="running")
    await desk.take()
    await desk.store.cancel_job((await desk.put(channel="cancelled")).id, ME)
    await desk.put(channel="pending")
    for state in State:
        found = await desk.store.jobs(JobFilter(states=(state,)))
        assert [(job.channel, job.state) for job in found] == [(state.value, state)]
    assert len(await desk.store.jobs(JobFilter(states=tuple(State)))) == 6


async def test_jobs_are_listed_newest_first_and_page_by_page(desk: Desk) -> None:
    jobs = await desk.put_many(5)
    assert await desk.end((await desk.take(1))[0], Done())
    newest_first = sorted(ids(jobs), reverse=True)
    first = await desk.store.jobs(JobFilter(limit=2))
    rest = await desk.store.jobs(JobFilter(before=first[-1].id, limit=10))
    assert [job.id for job in [*first, *rest]] == newest_first


async def test_depths_count_live_jobs_by_channel_queue_and_state(desk: Desk) -> None:
    oldest_at = desk.clock()
    await desk.put_many(2)
    desk.clock.turn(minutes=1)
    await desk.put_many(1)
    await desk.put(channel="exports", queue=Queue.LOW, run_at=desk.clock.later(hours=1))
    assert list(await desk.store.queue_depths()) == [
        QueueDepth("exports", Queue.LOW, State.PENDING, 1, desk.clock.later(hours=1)),
        QueueDepth("reports", Queue.DEFAULT, State.PENDING, 3, oldest_at),
    ]
    await desk.take(2)
    counted = {(depth.channel, depth.state): depth.jobs for depth in await desk.store.queue_depths()}
    assert counted[("reports", State.PENDING)] == 1
    assert counted[("reports", State.RUNNING)] == 2


async def test_dispatching_marks_what_is_due_and_counts_it_once(desk: Desk) -> None:
    due = await desk.put_many(3, account="acme")
    later = await desk.put(run_at=desk.clock.later(hours=1))
    dispatched_at = desk.clock.turn(minutes=1)
    assert await desk.store.dispatch_due() == 3
    assert {(await desk.store.job(job.id)).dispatched_at for job in due} == {dispatched_at}
    assert (await desk.store.job(later.id)).dispatched_at is None
    assert await desk.store.dispatch_due() == 0
    desk.clock.turn(hours=1)
    assert await desk.store.dispatch_due() == 1


async def test_dispatching_concurrently_counts_each_job_once(desk: Desk) -> None:
    await desk.put_many(500)
    stores = [desk.store, await desk.another_store(), await desk.another_store()]
    counts = await asyncio.gather(*(store.dispatch_due() for store in stores))
    assert sum(counts) == 500


async def test_dispatching_leaves_running_jobs_alone_and_changes_nothing_else(desk: Desk, running_job: Job) -> None:
    assert await desk.store.dispatch_due() == 0
    assert await desk.store.job(running_job.id) == running_job
    waiting = await desk.put()
    await desk.store.dispatch_due()
    assert ids(await desk.take()) == {waiting.id}


async def test_a_deferred_job_is_not_due(desk: Desk) -> None:
    await desk.run(Defer(desk.clock.later(hours=1), "limit"))
    assert await desk.store.dispatch_due() == 0


async def test_an_unknown_job_is_not_found(desk: Desk) -> None:
    with pytest.raises(LookupError, match="There is no job"):
        await desk.store.job(new_id())
    assert await desk.store.attempts(new_id()) == []
