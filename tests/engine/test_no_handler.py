"""A worker claims only the types of jobs that it handles. Other jobs wait, and delay nothing."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from postino import Job, Postino, State
from postino.engine.explain import explain
from tests.engine.conftest import run_worker, wait_for, wait_for_end

LANES: list[dict[str, str]] = [{}, {"account": "a"}, {"brand": "b"}, {"account": "a", "brand": "b"}]


@pytest.fixture
async def open_app(app: Postino) -> AsyncIterator[Callable[..., Postino]]:
    """Return a function that makes another program on the same queue, which handles these types."""
    async with AsyncExitStack() as stack:

        def make(*types: str) -> Postino:
            another = Postino(replace(app.config))
            stack.push_async_callback(another.close)
            for type_ in types:
                another.handler(type_)(ignore)
            return another

        yield make


async def ignore(job: Job) -> None: ...


@pytest.mark.parametrize("lane", LANES)
async def test_job_without_a_handler_waits_and_delays_no_other(
    app: Postino, open_app: Callable[..., Postino], lane: dict[str, str]
) -> None:
    first = [dict(type="unknown", channel="shared", queue="high", **lane) for _ in range(50)]
    unknown = await app.enqueue_many(first)
    others = await app.enqueue_many([dict(type="known", channel="shared", **lane) for _ in range(5)])
    async with run_worker(open_app("known")):
        for job in others:
            assert (await wait_for_end(app, job)).state is State.COMPLETED
        for job in unknown:
            waiting = await app.store.job(job.id)
            assert (waiting.state, waiting.attempts, waiting.run_at) == (State.PENDING, 0, job.run_at)
        explanation = await explain(app.store, unknown[0].id)
        assert [blocker.kind for blocker in explanation.blockers] == ["no_handler"]
        assert "no running worker handles jobs of type unknown" in explanation.sentence
        await wait_for(lambda: has_waiting_type(app))
        async with run_worker(open_app("unknown")):
            for job in unknown:
                assert (await wait_for_end(app, job)).state is State.COMPLETED
            assert await app.store.waiting_types([]) == []


async def has_waiting_type(app: Postino) -> bool:
    """Return whether the type is reported; not while a lane that just ended a job waits for a claim to look at it."""
    return await app.store.waiting_types(["known"]) == ["unknown"]


@pytest.mark.parametrize("lane", LANES)
async def test_workers_with_different_handlers_share_a_channel(
    app: Postino, open_app: Callable[..., Postino], lane: dict[str, str]
) -> None:
    specs = [dict(type=type_, channel="shared", **lane) for _ in range(10) for type_ in ("left", "right", "both")]
    jobs = await app.enqueue_many(specs)
    async with run_worker(open_app("left", "both")), run_worker(open_app("right", "both")):
        for job in jobs:
            ended = await wait_for_end(app, job)
            assert (ended.state, ended.attempts, ended.deferrals) == (State.COMPLETED, 1, 0)


async def test_type_of_a_worker_that_ended_waits_again(app: Postino, open_app: Callable[..., Postino]) -> None:
    async with run_worker(open_app("known")):
        async with run_worker(open_app("rare")):
            await wait_for_end(app, await app.enqueue("rare"))
        job = await app.enqueue("rare")
        other = await app.enqueue("known")
        await wait_for_end(app, other)
        [blocker] = (await explain(app.store, job.id)).blockers
        assert blocker.kind == "no_handler"
        assert (await app.store.job(job.id)).attempts == 0
