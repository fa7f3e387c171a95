"""Lists of jobs for programs and plain SQL, and due jobs dispatched once."""

from __future__ import annotations

import asyncio

import pytest

from postino.stores.records import JobFilter, QueueDepth
from postino.values.job import Job, Queue, State, new_id
from postino.values.outcome import Defer, Done, Reject, Unknown
from tests.contract.harness import ME, POISON, StoreHarness, ids


async def test_all_jobs_view_has_unfinished_and_finished_jobs_once_each(harness: StoreHarness) -> None:
    done = await harness.run(Done(), channel="a")
    dead = await harness.run(Reject("no"), channel="b")
    replayed = await harness.run(Reject("no"), channel="c")
    await harness.store.replay_dead_letter(replayed.id, None, True, ME)
    later = await harness.put(channel="e", queue=Queue.LOW, run_at=harness.clock.later(hours=1))
    shown = harness.database.sql("SELECT channel, state, queue, generation FROM {all_jobs} ORDER BY channel")
    assert shown == [
        ("a", "completed", "default", 1), ("b", "failed", "default", 1), ("c", "pending", "default", 2),
        ("e", "pending", "low", 1),
    ]  # fmt: skip
    assert {done.id, dead.id, later.id} == ids([await harness.store.job(job.id) for job in (done, dead, later)])


async def test_all_jobs_view_has_every_required_column(harness: StoreHarness, due_job: Job) -> None:
    columns = (
        "id, type, channel, account, brand, user_id, queue, state, scheduled_at, run_at, attempts, max_attempts,"
        " idempotency_key, payload, remote_id, parent_id, correlation_id, last_error, created_at, claimed_by,"
        " claimed_at, finished_at, dispatched_at"
    )
    ((job_id, *_),) = harness.database.sql(f"SELECT {columns} FROM {{all_jobs}}")
    assert str(job_id) == str(due_job.id)


@pytest.mark.parametrize("payload", [b'{"name": "Per\xc3\xb9"}', POISON, b"", bytes(range(256))])
async def test_all_jobs_view_shows_payload_as_text_and_bytes(harness: StoreHarness, payload: bytes) -> None:
    await harness.put(payload=payload)
    ((text, raw),) = harness.database.sql("SELECT payload, payload_bytes FROM {all_jobs}")
    assert isinstance(text, str)
    assert raw == payload
    if payload.startswith(b"{"):
        assert text == '{"name": "Perù"}'


async def test_jobs_are_listed_by_every_filter(harness: StoreHarness) -> None:
    parent = await harness.put(channel="x", type="one", queue=Queue.HIGH, account="a", brand="b")
    child = await harness.put(channel="y", type="two", parent_id=parent.id)
    wanted: list[tuple[JobFilter, set[str]]] = [
        (JobFilter(), {"x", "y"}),
        (JobFilter(type="one"), {"x"}),
        (JobFilter(channel="y"), {"y"}),
        (JobFilter(account="a"), {"x"}),
        (JobFilter(brands=("b",)), {"x"}),
        (JobFilter(queue=Queue.HIGH), {"x"}),
        (JobFilter(parent_id=parent.id), {"y"}),
        (JobFilter(parent_id=child.id), set()),
        (JobFilter(states=(State.PENDING,)), {"x", "y"}),
        (JobFilter(states=(State.COMPLETED, State.FAILED)), set()),
    ]
    for wish, channels in wanted:
        assert {job.channel for job in await harness.store.jobs(wish)} == channels, wish


async def test_jobs_are_listed_in_every_state(harness: StoreHarness) -> None:
    await harness.run(Done(), channel="completed")
    await harness.run(Reject("no"), channel="failed")
    await harness.run(Unknown("?"), channel="uncertain")
    await harness.put(channel="running")
    await harness.take()
    await harness.store.cancel_job((await harness.put(channel="cancelled")).id, ME)
    await harness.put(channel="pending")
    for state in State:
        stored = await harness.store.jobs(JobFilter(states=(state,)))
        assert [(job.channel, job.state) for job in stored] == [(state.value, state)]
    assert len(await harness.store.jobs(JobFilter(states=tuple(State)))) == 6


async def test_jobs_are_listed_newest_first_and_page_by_page(harness: StoreHarness) -> None:
    jobs = await harness.put_many(5)
    assert await harness.end((await harness.take(1))[0], Done())
    newest_first = sorted(ids(jobs), reverse=True)
    first = await harness.store.jobs(JobFilter(limit=2))
    rest = await harness.store.jobs(JobFilter(before=first[-1].id, limit=10))
    assert [job.id for job in [*first, *rest]] == newest_first


async def test_depths_count_unfinished_jobs_by_channel_queue_and_state(harness: StoreHarness) -> None:
    oldest_at = harness.clock()
    await harness.put_many(2)
    harness.clock.turn(minutes=1)
    await harness.put_many(1)
    await harness.put(channel="exports", queue=Queue.LOW, run_at=harness.clock.later(hours=1))
    assert list(await harness.store.queue_depths()) == [
        QueueDepth("exports", Queue.LOW, State.PENDING, 1, harness.clock.later(hours=1)),
        QueueDepth("reports", Queue.DEFAULT, State.PENDING, 3, oldest_at),
    ]
    await harness.take(2)
    counted = {(depth.channel, depth.state): depth.jobs for depth in await harness.store.queue_depths()}
    assert counted[("reports", State.PENDING)] == 1
    assert counted[("reports", State.RUNNING)] == 2


async def test_dispatching_marks_what_is_due_and_counts_it_once(harness: StoreHarness) -> None:
    due = await harness.put_many(3, account="acme")
    later = await harness.put(run_at=harness.clock.later(hours=1))
    dispatched_at = harness.clock.turn(minutes=1)
    assert await harness.store.dispatch_due() == 3
    assert {(await harness.store.job(job.id)).dispatched_at for job in due} == {dispatched_at}
    assert (await harness.store.job(later.id)).dispatched_at is None
    assert await harness.store.dispatch_due() == 0
    harness.clock.turn(hours=1)
    assert await harness.store.dispatch_due() == 1


async def test_dispatching_concurrently_counts_each_job_once(harness: StoreHarness) -> None:
    await harness.put_many(500)
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    counts = await asyncio.gather(*(store.dispatch_due() for store in stores))
    assert sum(counts) == 500


async def test_dispatching_leaves_running_jobs_alone_and_changes_nothing_else(
    harness: StoreHarness, running_job: Job
) -> None:
    assert await harness.store.dispatch_due() == 0
    assert await harness.store.job(running_job.id) == running_job
    waiting = await harness.put()
    await harness.store.dispatch_due()
    assert ids(await harness.take()) == {waiting.id}


async def test_a_deferred_job_is_not_due(harness: StoreHarness) -> None:
    await harness.run(Defer(harness.clock.later(hours=1), "limit"))
    assert await harness.store.dispatch_due() == 0


async def test_an_unknown_job_is_not_found(harness: StoreHarness) -> None:
    with pytest.raises(LookupError, match="There is no job"):
        await harness.store.job(new_id())
    assert await harness.store.attempts(new_id()) == []
