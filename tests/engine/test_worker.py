"""What a worker does with a job, from claim to settle."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from postino import Call, Done, Event, Job, Outcome, Postino, Reject, Schedule, State, WrongUse
from postino.engine import settler, worker
from postino.errors import StoreUnreachable
from postino.stores.records import ClaimRequest, JobFilter, SettledJob
from tests.engine.conftest import run_worker, wait_for_end


@dataclass
class Snap:
    id: int
    taken_at: datetime | None = None


class Caption(BaseModel):
    text: str


async def test_job_runs_and_keeps_its_result(app: Postino) -> None:
    @app.handler("greet")
    async def greet(job: Job, payload: dict[str, str]) -> Outcome:
        return Done({"said": f"hello {payload['name']}"}, remote_id="r-1")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("greet", {"name": "ada"}))
    assert (job.state, job.result, job.remote_id, job.attempts) == (State.COMPLETED, '{"said": "hello ada"}', "r-1", 1)


async def test_none_means_done(app: Postino) -> None:
    @app.handler("quiet")
    async def quiet() -> None: ...

    async with run_worker(app):
        assert (await wait_for_end(app, await app.enqueue("quiet"))).state is State.COMPLETED


async def test_payload_is_parsed_into_the_annotated_type(app: Postino) -> None:
    results: list[Any] = []

    @app.handler("snap")
    async def snap(job: Job, payload: Snap) -> None:
        results.append(payload)

    @app.handler("caption")
    async def caption(job: Job, payload: Caption) -> None:
        results.append(payload)

    @app.handler("raw")
    async def raw(job: Job, payload: bytes) -> None:
        results.append(payload)

    taken = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    async with run_worker(app):
        for name, payload in (("snap", Snap(7, taken)), ("caption", Caption(text="hi")), ("raw", b"\xff\x00")):
            await wait_for_end(app, await app.enqueue(name, payload))
    assert results == [Snap(7, taken), Caption(text="hi"), b"\xff\x00"]


async def test_plain_function_runs_in_a_thread_and_blocks_no_other_job(app: Postino) -> None:
    release, threads = threading.Event(), set()

    @app.handler("slow")
    def slow() -> None:
        threads.add(threading.current_thread())
        assert release.wait(10)

    @app.handler("quick")
    async def quick() -> None:
        release.set()

    async with run_worker(app):
        first = await app.enqueue("slow")
        await wait_for_end(app, await app.enqueue("quick"))
        assert (await wait_for_end(app, first)).state is State.COMPLETED
    assert threading.main_thread() not in threads


async def test_plain_handler_may_enqueue_through_sync(app: Postino) -> None:
    @app.handler("parent")
    def parent(job: Job) -> None:
        app.sync.enqueue_many([("child", number) for number in range(3)])
        app.sync.enqueue("child", 3, key="k")

    app.handler("child")(lambda: None)
    async with run_worker(app):
        for job in [await app.enqueue("parent") for _ in range(10)]:
            assert (await wait_for_end(app, job)).state is State.COMPLETED
        with pytest.raises(WrongUse, match="use `await`"):
            app.sync.enqueue("child")
    assert len(await app.store.jobs(JobFilter(type="child", limit=100))) == 31


async def test_worker_survives_its_own_exceptions(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "ERROR_RETRY_DELAY", 0.01)
    app.handler("work")(lambda: None)
    claim, failures = app.store.claim, iter([ValueError("a bug"), KeyError("another")])

    async def claim_or_fail(order: ClaimRequest) -> list[Job]:
        for error in failures:
            raise error
        return await claim(order)

    monkeypatch.setattr(app.store, "claim", claim_or_fail)
    async with run_worker(app):
        assert (await wait_for_end(app, await app.enqueue("work"))).state is State.COMPLETED


async def test_stopping_worker_writes_all_endings(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settler, "SETTLE_RETRY_DELAY", 0.05)
    done = asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        done.set()

    write, away = app.store.settle, 4

    async def unreachable(endings: Sequence[SettledJob], *, again: bool = False) -> set[UUID]:
        nonlocal away
        away -= 1
        if away > 0:
            raise StoreUnreachable("gone for a moment")
        return await write(endings)

    monkeypatch.setattr(app.store, "settle", unreachable)
    async with run_worker(app):
        job = await app.enqueue("work")
        await done.wait()
    assert (await app.store.job(job.id)).state is State.COMPLETED


@pytest.mark.parametrize(("own", "attempts"), [(None, 2), (1, 1)])
async def test_job_keeps_all_enqueue_arguments(app: Postino, own: int | None, attempts: int) -> None:
    @app.handler("broken", max_attempts=2, backoff=Schedule([0]))
    async def broken() -> None:
        raise RuntimeError

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("broken", max_attempts=own))
    assert job.attempts == attempts


async def test_scheduled_job_never_starts_early(app: Postino) -> None:
    started: list[datetime | None] = []

    @app.handler("punctual")
    async def punctual(job: Job) -> None:
        started.append(job.claimed_at)

    at = datetime.now(UTC) + timedelta(seconds=0.5)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("punctual", at=at))
    assert job.scheduled_at == at
    assert started[0] is not None
    assert started[0] >= at


async def test_failed_child_does_not_change_its_parent(app: Postino) -> None:
    children: list[Job] = []

    @app.handler("parent")
    async def parent(job: Job, payload: None, call: Call) -> None:
        children.append(await call.enqueue("child", {"of": str(job.id)}))

    @app.handler("child")
    async def child() -> Outcome:
        return Reject("no")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("parent"))
        born = await wait_for_end(app, children[0])
    assert (born.state, born.parent_id, born.correlation_id) == (State.FAILED, job.id, str(job.id))
    assert (await app.store.job(job.id)).state is State.COMPLETED
    assert [item.id for item in await app.store.jobs(JobFilter(parent_id=job.id))] == [born.id]


async def test_stopping_worker_lets_running_jobs_end(app: Postino) -> None:
    running, finish = asyncio.Event(), asyncio.Event()

    @app.handler("long")
    async def long() -> None:
        running.set()
        await finish.wait()

    async with run_worker(app):
        job = await app.enqueue("long")
        await running.wait()
        asyncio.get_running_loop().call_later(0.3, finish.set)
    assert (await app.store.job(job.id)).state is State.COMPLETED
    assert await app.store.workers() == []


async def test_jobs_that_outlast_the_drain_are_released(app: Postino) -> None:
    running = asyncio.Event()

    @app.handler("stubborn")
    async def stubborn() -> None:
        running.set()
        await asyncio.sleep(60)

    async with run_worker(app, drain=0.1):
        job = await app.enqueue("stubborn")
        await running.wait()
    left = await app.store.job(job.id)
    assert (left.state, left.attempts, left.rescues) == (State.PENDING, 0, 0)


async def test_job_taken_over_by_another_worker_is_stopped(app: Postino) -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    @app.handler("long")
    async def long(job: Job) -> None:
        if job.rescues:
            return
        running.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    async with run_worker(app):
        job = await app.enqueue("long", account="a")
        await running.wait()
        (alive,) = await app.store.workers()
        await app.store.unregister_worker(alive.id)  # as if others had buried it
        async with asyncio.timeout(10):
            await stopped.wait()
        done = await wait_for_end(app, job)
    assert (done.state, done.rescues) == (State.COMPLETED, 1)


@pytest.mark.parametrize("scope", ["all", "account"])
async def test_rescued_job_whose_turn_comes_after_a_pause_does_not_start(app: Postino, scope: str) -> None:
    """Rescued jobs are claimed together and run one at a time: a gate may close while they wait for each other."""
    first_runs, both_run, paused = asyncio.Event(), asyncio.Event(), asyncio.Event()
    started: list[str | None] = []

    @app.handler("work")
    async def work(job: Job) -> None:
        started.append(job.account)
        if not job.rescues:
            if len(started) == 2:
                both_run.set()
            await asyncio.sleep(60)
        first_runs.set()
        await paused.wait()

    async with asyncio.timeout(20), run_worker(app):
        jobs = {name: await app.enqueue("work", account=name) for name in ("a", "b")}
        await both_run.wait()
        started.clear()
        (alive,) = await app.store.workers()
        await app.store.unregister_worker(alive.id)  # as if others had buried it
        await first_runs.wait()
        [running] = started
        waiting = jobs["a" if running == "b" else "b"]
        while (await app.store.job(waiting.id)).state is not State.RUNNING:  # noqa: ASYNC110 - the worker claims it
            await asyncio.sleep(0.01)
        await app.pause(scope, {"all": "", "account": waiting.account or ""}[scope])
        paused.set()
        while (await app.store.job(waiting.id)).state is State.RUNNING:  # noqa: ASYNC110 - the worker defers it
            await asyncio.sleep(0.01)
    left = await app.store.job(waiting.id)
    assert (left.state, left.rescues, left.attempts, started) == (State.PENDING, 1, 0, [running])


async def test_job_of_a_lost_claim_is_released_and_runs(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    app.handler("work")(lambda: None)
    claim = app.store.claim
    lost: list[Job] = []

    async def claim_and_lose(order: ClaimRequest) -> list[Job]:
        claimed = await claim(order)
        if claimed and not lost:
            lost.extend(claimed)
            raise StoreUnreachable("the answer to COMMIT was lost")
        return claimed

    monkeypatch.setattr(app.store, "claim", claim_and_lose)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", account="a"))
    assert [claimed.id for claimed in lost] == [job.id]
    assert (job.state, job.attempts, job.rescues) == (State.COMPLETED, 1, 0)


async def test_lane_runs_one_job_at_a_time_in_order(app: Postino) -> None:
    at_once, most, order = 0, 0, []

    @app.handler("post")
    async def post(job: Job, payload: int) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.005)
        order.append(payload)
        at_once -= 1

    async with run_worker(app):
        jobs = [await app.enqueue("post", number, account="a1") for number in range(10)]
        for job in jobs:
            await wait_for_end(app, job)
    assert (most, order) == (1, list(range(10)))


def test_handler_with_too_many_arguments_is_refused() -> None:
    app = Postino("sqlite:////nowhere/postino.db")
    with pytest.raises(WrongUse, match=r"expected \(job, payload, call\) or fewer"):

        @app.handler("greedy")
        async def greedy(job: Job, payload: Any, call: Call, more: Any) -> None: ...


def test_second_handler_for_a_type_is_refused() -> None:
    app = Postino("sqlite:////nowhere/postino.db")
    app.handler("once")(lambda: None)
    with pytest.raises(WrongUse, match="'once' has a handler already"):
        app.handler("once")(lambda: None)


def test_listener_for_an_unknown_event_is_refused() -> None:
    app = Postino("sqlite:////nowhere/postino.db")
    with pytest.raises(WrongUse, match=r"no event 'job\.faild'\. Did you mean job\.failed\?"):
        app.on("job.faild")


def test_second_listener_with_a_name_is_refused() -> None:
    app = Postino("sqlite:////nowhere/postino.db")

    async def hear(event: Event) -> None: ...

    app.on(name="alarm")(hear)
    with pytest.raises(WrongUse, match="there is a listener 'alarm' already"):
        app.on(name="alarm")(hear)
