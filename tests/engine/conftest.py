"""An app on each kind of store, and a worker that runs in the background during a test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest

from postino import Job, Postino, State
from postino.config import Config, DatabaseConfig, QueueConfig, WorkerConfig
from tests.contract.databases import PostgresDatabase

T = TypeVar("T")
WITHIN = 60.0  # seconds that a test waits for anything


def make_config(folder: Path, url: str) -> Config:
    return Config(
        data_dir=folder,
        database=DatabaseConfig(url=url),
        worker=WorkerConfig(concurrency=20, heartbeat=0.2, lease=1.0, poll=0.2, drain=5.0),
        queue=QueueConfig(max_attempts=3, retry_backoff={"base": 0, "factor": 1, "max": 0}),
    )


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/postino.db"
    database: PostgresDatabase = request.getfixturevalue("postgres_database")
    database.wipe()
    return database.url


@pytest.fixture
async def app(database_url: str, tmp_path: Path) -> AsyncIterator[Postino]:
    app = Postino(make_config(tmp_path, database_url))
    await app.store.migrate()
    async with app:
        await app.apply_settings()
        yield app


@asynccontextmanager
async def run_worker(app: Postino, **changes: Any) -> AsyncIterator[None]:
    """Run a worker in the background and stop it gracefully after the block."""
    app.config = replace(app.config, worker=replace(app.config.worker, **changes))
    stop = asyncio.Event()
    worker = asyncio.create_task(app.work(stop=stop))
    try:
        yield
    finally:
        stop.set()
        await worker


async def wait_for_end(app: Postino, job: Job | UUID, *states: State) -> Job:
    """Wait until a job is in one of these states, by default any final one, and return it."""
    job_id = job.id if isinstance(job, Job) else job

    async def there() -> Job | None:
        stored = await app.store.job(job_id)
        return stored if stored.state in (states or (State.COMPLETED, State.FAILED, State.CANCELLED)) else None

    return await wait_for(there)


async def wait_for(ask: Callable[[], Awaitable[T | None]]) -> T:
    async with asyncio.timeout(WITHIN):
        while True:
            answer = await ask()
            if answer:
                return answer
            await asyncio.sleep(0.01)
