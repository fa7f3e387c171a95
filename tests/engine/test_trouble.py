"""A store that is slow, locked or away for a while: a worker waits for it, and goes on."""

import asyncio
from dataclasses import replace
from pathlib import Path

import asyncpg

from postino import Postino, State
from tests.engine.conftest import ended, settings, working
from tests.servers.postgres import PostgresServer


async def test_a_locked_table_delays_a_worker_and_does_not_end_it(postgres_url: str, tmp_path: Path) -> None:
    plain = settings(tmp_path, postgres_url)
    app = Postino(replace(plain, database=replace(plain.database, statement_timeout=0.2)))
    await app.store.migrate()
    started, finish = asyncio.Event(), asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        started.set()
        await finish.wait()

    async with app, working(app):
        job = await app.enqueue("work")
        await started.wait()
        other = await asyncpg.connect(postgres_url)
        async with other.transaction():
            await other.execute("LOCK TABLE postino.jobs IN ACCESS EXCLUSIVE MODE")
            finish.set()
            await asyncio.sleep(1)  # several statements give up meanwhile
        await other.close()
        assert (await ended(app, job)).state is State.COMPLETED
        assert (await ended(app, await app.enqueue("work"))).attempts == 1


async def test_a_server_that_restarts_loses_nothing_and_the_worker_goes_on(
    private_postgres: PostgresServer, tmp_path: Path
) -> None:
    app = Postino(settings(tmp_path, private_postgres.create_database()))
    await app.store.migrate()
    ran: list[int] = []

    @app.handler("work")
    async def work(job: object, payload: int) -> None:
        ran.append(payload)

    async with app, working(app):
        before = await app.enqueue_many([("work", number) for number in range(100)])
        await ended(app, before[0])
        await asyncio.to_thread(private_postgres.restart)
        for job in before:
            assert (await ended(app, job)).state is State.COMPLETED
        assert (await ended(app, await app.enqueue("work", 100))).state is State.COMPLETED
    assert set(ran) == set(range(101))
