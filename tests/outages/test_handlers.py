"""Handlers that exhaust memory or never return harm only their own jobs."""

import asyncio
import sys
from pathlib import Path

import pytest

from postino import Job, Postino, State
from postino.rules.settlement import DeadLetterCause
from tests.engine.conftest import make_config, run_worker, wait_for_end
from tests.outages.job_flow import Ran, Start


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/postino.db"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the memory of a process cannot be limited")
async def test_handler_that_exhausts_memory_fails_only_its_attempt(
    url: str, tmp_path: Path, start: Start, ran: Ran
) -> None:
    async with Postino(make_config(tmp_path, url)) as app:
        start(url, program="tests.outages.memory_hog")
        neighbours = await app.enqueue_many([("slow", number) for number in range(4)])
        eater = await wait_for_end(app, await app.enqueue("eat"))
        neighbours += await app.enqueue_many([("record", number) for number in range(4)])
        for job in neighbours:
            assert (await wait_for_end(app, job)).state is State.COMPLETED
        letter = await app.store.dead_letter(eater.id)
    assert (letter.cause, letter.error, eater.rescues) == (DeadLetterCause.EXHAUSTED, "MemoryError", 0)
    assert ran() == {str(job.id): 1 for job in [eater, *neighbours]}


@pytest.mark.parametrize("plain", [False, True])
async def test_memory_error_is_an_ordinary_exception(url: str, tmp_path: Path, plain: bool) -> None:
    async def waits() -> None:
        bytearray(1 << 62)

    def blocks() -> None:
        bytearray(1 << 62)

    async with Postino(make_config(tmp_path, url)) as app:
        app.handler("greedy", max_attempts=2)(blocks if plain else waits)
        app.handler("modest")(lambda: None)
        async with run_worker(app, concurrency=1):
            greedy = await wait_for_end(app, await app.enqueue("greedy"))
            modest = await wait_for_end(app, await app.enqueue("modest"))
        attempts = await app.store.attempts(greedy.id)
    assert [attempt.error_class for attempt in attempts] == ["MemoryError", "MemoryError"]
    assert (greedy.state, modest.state) == (State.FAILED, State.COMPLETED)


async def test_endless_handler_keeps_its_slot_and_is_released_at_stop(url: str, tmp_path: Path) -> None:
    running = asyncio.Event()
    async with Postino(make_config(tmp_path, url)) as app:

        @app.handler("endless")
        async def endless(job: Job) -> None:
            running.set()
            await asyncio.Event().wait()

        app.handler("quick")(lambda: None)
        async with run_worker(app, concurrency=2, drain=0.1):
            job = await app.enqueue("endless")
            await running.wait()
            for quick in await app.enqueue_many([("quick", number) for number in range(10)]):
                assert (await wait_for_end(app, quick)).state is State.COMPLETED
        left = await app.store.job(job.id)
        outcomes = [attempt.outcome for attempt in await app.store.attempts(job.id)]
    assert (left.state, left.attempts, left.rescues, outcomes) == (State.PENDING, 0, 0, ["released"])
