"""A store that is slow, locked or unreachable: a worker waits for it and goes on."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from postino import Postino, State
from postino.errors import StoreUnreachable
from tests.engine.conftest import make_config, run_worker, wait_for_end
from tests.servers.postgres import PostgresServer


async def test_locked_table_delays_a_worker_without_ending_it(postgres_url: str, tmp_path: Path) -> None:
    plain = make_config(tmp_path, postgres_url)
    app = Postino(replace(plain, database=replace(plain.database, statement_timeout=0.2)))
    await app.store.migrate()
    started, finish = asyncio.Event(), asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        started.set()
        await finish.wait()

    async with app, run_worker(app):
        job = await app.enqueue("work")
        await started.wait()
        other = await asyncpg.connect(postgres_url)
        async with other.transaction():
            await other.execute("LOCK TABLE postino.jobs IN ACCESS EXCLUSIVE MODE")
            finish.set()
            await asyncio.sleep(1)  # several statements give up meanwhile
        await other.close()
        assert (await wait_for_end(app, job)).state is State.COMPLETED
        assert (await wait_for_end(app, await app.enqueue("work"))).attempts == 1


async def test_worker_starts_although_the_database_is_replaced_at_that_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Postino(make_config(tmp_path, f"sqlite:///{tmp_path}/postino.db"))
    app.handler("work")(lambda job, payload: None)
    read, failures = app.store.vault_keys, [StoreUnreachable("The file was replaced.")]

    async def fail_once() -> Any:
        if failures:
            raise failures.pop()
        return await read()

    async with app:
        monkeypatch.setattr(app.store, "vault_keys", fail_once)
        async with run_worker(app):
            await wait_for_end(app, await app.enqueue("work", 1))
    assert not failures


async def test_worker_survives_a_database_restart(private_postgres: PostgresServer, tmp_path: Path) -> None:
    app = Postino(make_config(tmp_path, private_postgres.create_database()))
    await app.store.migrate()
    ran: list[int] = []

    @app.handler("work")
    async def work(job: object, payload: int) -> None:
        ran.append(payload)

    async with app, run_worker(app):
        before = await app.enqueue_many([("work", number) for number in range(100)])
        await wait_for_end(app, before[0])
        await asyncio.to_thread(private_postgres.restart)
        for job in before:
            assert (await wait_for_end(app, job)).state is State.COMPLETED
        assert (await wait_for_end(app, await app.enqueue("work", 100))).state is State.COMPLETED
    assert set(ran) == set(range(101))
