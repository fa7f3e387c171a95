"""What an idle worker costs, and how it learns of new jobs."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino import Job, Outcome, Postino, Retry, Schedule
from postino.stores.statement import Query
from tests.engine.conftest import run_worker, wait_for, wait_for_end


class QueryCounter:
    """Counts the statements of a store's driver by name."""

    def __init__(self, app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
        self.queries: Counter[str] = Counter()
        driver: Any = app.store.driver
        for name in ("transact", "perform", "read"):
            monkeypatch.setattr(driver, name, self.make_counter(getattr(driver, name)))

    def make_counter(self, run: Any) -> Any:
        async def run_and_count(operation: Any, **more: Any) -> Any:
            return await run(self.count_queries(operation), **more)

        return run_and_count

    def count_queries(self, operation: Any) -> Any:
        answer = None
        try:
            while True:
                query: Query = next(operation) if answer is None else operation.send(answer)
                self.queries[query.name] += 1
                answer = yield query
        except StopIteration as end:
            return end.value


@pytest.fixture
def database_url(new_database_url: str) -> str:
    """Return a database that no test has used: a worker adopts it."""
    return new_database_url


async def test_idle_worker_makes_one_query_per_poll(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    await app.enqueue("later", at=datetime.now(UTC) + timedelta(hours=1))
    await app.enqueue("later", at=datetime.now(UTC) + timedelta(hours=1), account="a1")
    counter = QueryCounter(app, monkeypatch)

    async def enough() -> bool:
        return counter.queries["poll"] >= 12

    async with run_worker(app, poll=0.05, heartbeat=0.2):
        await wait_for(enough)
        queries = dict(counter.queries)
    # Once, for the new lane.
    hinted = {
        "lock_hints_shared",
        "insert_hinted_lanes",
        "lock_hinted_lanes",
        "delete_hints",
        "update_lane_due",
    }
    # Once: who it is and where, and what the settings say may run.
    started = {"insert_worker", "adopt_database", "insert_witness", "touch_witness", "record_pulse", "prune_witnesses"}
    started |= {"get_settings", "end_absence"}
    # Each minute or day, by one of the workers.
    duties = {
        "take_missed_posts",
        "take_outage_posts",
        "archive_posts",
        "prune_history",
        "prune_dead_letters",
        "delete_unused_circuits",
        "list_unknown_channels",
        "list_unreachable_jobs",
    }
    kept = {"take_duty", "finish_duty"}  # for each of the three
    # Before and after the new database was adopted, after its witness file was opened, and once by a duty.
    assert (queries.pop("read_database_state"), queries.pop("lock_database_state")) == (3, 1)
    assert queries.pop("list_witnesses") == 4
    assert queries.pop("read_schema_time") == 2  # before it was adopted, and for the header of the file
    assert queries.pop("list_gates") == 2  # at its start, to warm up
    assert queries.pop("find_event_delay") == 1  # four times a minute
    assert queries.pop("list_locked_accounts") == 1  # twice a minute
    assert queries.pop("list_vault_keys") == 2  # at its start, and twice a minute
    # Whether anything is sealed. Once the database has a check value, nobody asks.
    assert (queries.pop("list_accounts"), queries.pop("list_api_keys")) == (2, 2)
    assert queries.pop("load_gates") == 2  # for the lane, and for a duty
    assert queries.keys() == {"poll"} | started | hinted | duties | kept
    assert {queries[name] for name in started | hinted | duties} == {1}
    assert {queries[name] for name in kept} == {3}


async def test_idle_worker_is_woken_before_its_poll(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.Event()

    @app.handler("now")
    async def now(job: Job) -> None:
        started.set()

    async with run_worker(app, poll=1.0, heartbeat=1.0, lease=30.0):
        results = waits(app, monkeypatch)
        job = await app.enqueue("now")
        await started.wait()
        await wait_for_end(app, job)
    assert True in results


@pytest.mark.parametrize("jobs", [{"account": "a1"}, {"channel": "capped"}, {"max_attempts": 10}])
async def test_ending_job_lets_the_next_start_at_once(
    app: Postino, monkeypatch: pytest.MonkeyPatch, jobs: dict[str, Any]
) -> None:
    await app.cap("capped", 1)

    @app.handler("short", backoff=Schedule([0]))
    async def short(job: Job) -> Outcome | None:
        return Retry("again") if job.attempts < (job.max_attempts or 0) else None

    async with run_worker(app, poll=1.0, heartbeat=1.0, lease=30.0):
        results = waits(app, monkeypatch)
        for job in await app.enqueue_many([{"type": "short", **jobs} for _ in range(10)]):
            await wait_for_end(app, job)
    assert False not in results[:-1]  # every rest was ended by an event, none by the poll


def waits(app: Postino, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Record how each wait of the worker ends: True by a wake-up, False by a timeout."""
    results: list[bool] = []
    wait = app.wakeup.wait

    async def wait_and_record(seconds: float) -> bool:
        results.append(await wait(seconds))
        return results[-1]

    monkeypatch.setattr(app.wakeup, "wait", wait_and_record)
    return results
