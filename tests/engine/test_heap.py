"""A worker leaves what its process loaded out of garbage collections, and only while it runs."""

import asyncio
import gc

from postino import Job, Postino
from postino.engine.heap import freeze_heap


def test_heap_is_frozen_during_the_block_only() -> None:
    before = gc.get_freeze_count()
    with freeze_heap():
        assert gc.get_freeze_count() > before
    assert gc.get_freeze_count() == 0


async def test_worker_freezes_the_heap_while_it_runs(app: Postino) -> None:
    frozen: list[int] = []
    stop = asyncio.Event()

    @app.handler("work")
    async def work(job: Job) -> None:
        frozen.append(gc.get_freeze_count())
        stop.set()

    await app.enqueue("work")
    await app.work(stop=stop)
    assert frozen[0] > 0
    assert gc.get_freeze_count() == 0
