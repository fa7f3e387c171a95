"""Enqueue: a key is one job on its channel, for ever."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from postino.rules.retry import RetryPolicy
from postino.stores.driver import Blocked
from postino.stores.postgres import Postgres
from postino.stores.store import Store
from postino.values.job import Job, Queue, State, new_id
from postino.values.outcome import Done, Outcome, Reject, Retry, Unknown
from tests.contract.databases import Clock, only_postgres
from tests.contract.harness import ME, POISON, StoreHarness, ids, new


async def test_an_enqueued_job_has_the_requested_fields(store: Store, clock: Clock) -> None:
    result = new(
        type="export", channel="exports", queue=Queue.LOW, payload=POISON, key="k1", run_at=clock.later(hours=2),
        account="acme", brand="shoes", user_id="u7", parent_id=new_id(), correlation_id="c9",
        max_attempts=7, backoff="[1, 2]", time_limit=2.5,
    )  # fmt: skip
    (enqueued,) = await store.enqueue([result])
    stored = await store.job(result.id)
    assert enqueued.created
    assert stored == enqueued.job
    assert stored == Job(
        id=result.id, type="export", channel="exports", queue=Queue.LOW, state=State.PENDING, payload=POISON,
        idempotency_key="k1", scheduled_at=clock.later(hours=2), run_at=clock.later(hours=2), created_at=clock(),
        account="acme", brand="shoes", user_id="u7", parent_id=result.parent_id, correlation_id="c9",
        max_attempts=7, backoff="[1, 2]", time_limit=2.5,
    )  # fmt: skip


async def test_a_time_in_the_past_is_remembered_but_the_job_runs_from_now_on(harness: StoreHarness) -> None:
    asked_at = harness.clock.later(days=-2)
    job = await harness.put(run_at=asked_at)
    assert (job.scheduled_at, job.run_at) == (asked_at, harness.clock())
    assert await harness.store.job(job.id) == job


async def test_a_job_without_a_key_has_its_id_as_key(harness: StoreHarness) -> None:
    job = await harness.put()
    assert job.idempotency_key == str(job.id)


async def test_the_same_key_gives_the_same_job(store: Store) -> None:
    (first,) = await store.enqueue([new(key="k", payload=b"one")])
    (second,) = await store.enqueue([new(key="k", payload=b"two")])
    assert (first.created, second.created) == (True, False)
    assert second.job == first.job


async def test_the_same_key_on_another_channel_is_another_job(store: Store) -> None:
    first, second = await store.enqueue([new(key="k", channel="a"), new(key="k", channel="b")])
    assert first.created
    assert second.created
    assert first.job.id != second.job.id


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Done(), State.COMPLETED),
        (Reject("no"), State.FAILED),
        (Unknown("?"), State.UNCERTAIN),
        (Retry("busy"), State.PENDING),
    ],
)
async def test_a_key_belongs_to_its_job_in_every_state(harness: StoreHarness, outcome: Outcome, state: State) -> None:
    ended = await harness.run(outcome, key="k")
    (again,) = await harness.store.enqueue([new(key="k")])
    assert not again.created
    assert again.job == ended
    assert again.job.state is state


async def test_a_key_of_a_cancelled_job_gives_the_cancelled_job(harness: StoreHarness) -> None:
    job = await harness.put(key="k")
    await harness.store.cancel_job(job.id, ME)
    (again,) = await harness.store.enqueue([new(key="k")])
    assert (again.created, again.job.id, again.job.state) == (False, job.id, State.CANCELLED)
    assert await harness.take() == []


async def test_a_key_of_a_running_job_gives_the_running_job(harness: StoreHarness) -> None:
    job = await harness.put(key="k")
    await harness.take()
    (again,) = await harness.store.enqueue([new(key="k")])
    assert (again.created, again.job.id, again.job.state) == (False, job.id, State.RUNNING)


@pytest.mark.parametrize("finished", [False, True])
async def test_a_call_repeated_with_the_same_id_and_key_is_the_same_job(harness: StoreHarness, finished: bool) -> None:
    result = new(key="k")
    await harness.store.enqueue([result])
    if finished:
        assert await harness.end(await harness.take_one(), Done())
    (again,) = await harness.store.enqueue([result])
    assert (again.created, again.job.id) == (False, result.id)
    assert len(await harness.take()) == (0 if finished else 1)


async def test_one_key_twice_in_a_call_is_one_job_returned_twice(harness: StoreHarness) -> None:
    first, other, second = await harness.store.enqueue([new(key="k"), new(key="other"), new(key="k")])
    assert [first.created, second.created].count(True) == 1
    assert first.job == second.job
    assert ids(await harness.take()) == {first.job.id, other.job.id}


async def test_results_come_in_the_order_of_the_jobs(store: Store) -> None:
    await store.enqueue([new(key="b")])
    answers = await store.enqueue([new(key=key) for key in "cab"])
    assert [answer.job.idempotency_key for answer in answers] == ["c", "a", "b"]
    assert [answer.created for answer in answers] == [True, True, False]


async def test_jobs_of_every_kind_go_in_together_and_come_back_as_they_are_stored(harness: StoreHarness) -> None:
    taken = await harness.put(key="taken", channel="old")
    later, earlier = harness.clock.later(hours=2), harness.clock.later(hours=-2)
    results = [
        new(),
        new(key="k", channel="new"),
        new(key="taken", channel="old"),
        new(key="k", channel="new", payload=b"another"),
        new(account="acme", run_at=later, key="a", channel="new"),
        new(account="acme", brand="shoes", channel="lanes"),
        new(brand="shoes", run_at=earlier, queue=Queue.HIGH),
        new(user_id="u", parent_id=taken.id, correlation_id="c", max_attempts=2, backoff="[1]", time_limit=1.5),
    ]
    answers = await harness.store.enqueue(results)
    assert [answer.created for answer in answers] == [True, True, False, False, True, True, True, True]
    assert answers[2].job == taken
    assert answers[3].job == answers[1].job
    assert [answer.job for answer in answers] == [await harness.store.job(answer.job.id) for answer in answers]
    assert [(job.scheduled_at, job.run_at) for job in (answers[4].job, answers[6].job)] == [
        (later, later),
        (earlier, harness.clock()),
    ]
    assert set(harness.database.sql("SELECT DISTINCT channel FROM {channels}")) == {
        ("old",),
        ("new",),
        ("reports",),
        ("lanes",),
    }
    hints = harness.database.sql("SELECT channel, lane, account FROM {lane_hints}")
    assert set(hints) == {("new", "@acme", "acme"), ("lanes", "@acme", "acme"), ("reports", "#shoes", None)}


async def test_repeating_after_a_lost_response_inserts_only_what_is_missing(harness: StoreHarness) -> None:
    ended, waiting, keyed = (
        new(),
        new(run_at=harness.clock.later(hours=1)),
        new(key="k", run_at=harness.clock.later(hours=1)),
    )
    await harness.store.enqueue([ended, waiting, keyed])
    assert await harness.end(await harness.take_one(), Done())
    missing, missing_keyed = new(), new(key="l")
    results = [ended, missing, keyed, waiting, missing_keyed]
    for created in (True, False):
        answers = await harness.store.enqueue(results, again=True)
        assert [answer.job for answer in answers] == [await harness.store.job(job.id) for job in results]
        assert [answer.created for answer in answers] == [False, created, False, False, created]


async def test_ten_thousand_jobs_go_in_with_one_call_and_once_only(harness: StoreHarness) -> None:
    results = [new(key=str(number)) for number in range(10_000)]
    answers = await harness.store.enqueue(results)
    assert [answer.job.id for answer in answers] == [job.id for job in results]
    assert all(answer.created for answer in answers)
    again = await harness.store.enqueue([new(key=str(number)) for number in range(10_000)])
    assert [answer.job.id for answer in again] == [job.id for job in results]
    assert harness.database.sql("SELECT count(*) FROM {jobs}") == [(10_000,)]


async def test_enqueueing_nothing_gives_nothing(store: Store) -> None:
    assert await store.enqueue([]) == []


async def test_hundred_parallel_enqueues_of_one_key_give_one_job(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    answers = await asyncio.gather(*(stores[turn % 3].enqueue([new(key="k")]) for turn in range(100)))
    assert sum(answer.created for (answer,) in answers) == 1
    assert len({answer.job for (answer,) in answers}) == 1
    assert harness.database.sql("SELECT count(*) FROM {jobs}") == [(1,)]


@only_postgres
async def test_callers_with_the_same_keys_in_opposite_order_wait_for_each_other(harness: StoreHarness) -> None:
    assert isinstance(harness.store.driver, Postgres)
    keys = [f"{number:02}" for number in range(9)]
    async with harness.store.driver.open_connection_outside_pool() as caller:
        await harness.store.enqueue_on(caller, [new(key="04")])  # both stop here, each holding one half if not in order
        both = asyncio.gather(
            harness.store.enqueue([new(key=key) for key in keys]),
            harness.store.enqueue([new(key=key) for key in reversed(keys)]),
        )
        while harness.database.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != [(2,)]:
            await asyncio.wait([both], timeout=0.001)
    forwards, backwards = await both
    assert [answer.job for answer in forwards] == [answer.job for answer in reversed(backwards)]


async def test_a_job_is_found_by_its_channel_and_key(harness: StoreHarness) -> None:
    job = await harness.put(key="k")
    assert await harness.store.job_by_key("reports", "k") == job
    assert await harness.store.job_by_key("elsewhere", "k") is None
    assert await harness.store.job_by_key("reports", "other") is None


@only_postgres
async def test_wait_for_a_key_of_an_open_transaction_ends_with_the_lock_timeout(store: Store) -> None:
    assert isinstance(store.driver, Postgres)
    async with store.driver.open_connection_outside_pool() as caller:
        await store.enqueue_on(caller, [new(key="k")])
        with pytest.raises(Blocked):
            await store.enqueue([new(key="k")], lock_timeout=0.05)
        (free,) = await store.enqueue([new(key="free")], lock_timeout=0.05)
    (known,) = await store.enqueue([new(key="k")], lock_timeout=0.05)
    assert (free.created, known.created) == (True, False)


async def test_a_child_fails_without_touching_its_parent(harness: StoreHarness) -> None:
    parent = await harness.put(run_at=harness.clock() + timedelta(hours=1))
    child = await harness.run(Retry("no"), parent_id=parent.id)
    harness.clock.turn(minutes=5)
    assert await harness.end(await harness.take_one(), Retry("no"), policy=RetryPolicy(max_attempts=2))
    assert await harness.state(child) is State.FAILED
    assert await harness.store.job(parent.id) == parent
