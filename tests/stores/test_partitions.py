"""A week without a partition would stop every settle: it is created when needed, and logged."""

from pathlib import Path

import asyncpg
import pytest
from structlog.testing import capture_logs

from postino import Postino, State
from tests.engine.conftest import make_config, run_worker, wait_for_end

PARTITIONS = "SELECT inhrelid::regclass::text FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r'"


@pytest.mark.postgres
async def test_missing_partition_is_created_and_logged(postgres_url: str, tmp_path: Path) -> None:
    app = Postino(make_config(tmp_path, postgres_url))
    await app.store.migrate()
    app.handler("work")(lambda: None)
    async with app:
        await app.enqueue("work")
        await drop_all_partitions(postgres_url)
        with capture_logs() as logs:
            async with run_worker(app):
                job = await wait_for_end(app, await app.enqueue("work"))
        assert job.state is State.COMPLETED
        assert "partition.missing" in [line["event"] for line in logs]
        assert "settle.refused" not in [line["event"] for line in logs]


async def drop_all_partitions(url: str) -> None:
    connection = await asyncpg.connect(url)
    for (partition,) in await connection.fetch(PARTITIONS):
        await connection.execute(f"DROP TABLE {partition}")
    await connection.close()
