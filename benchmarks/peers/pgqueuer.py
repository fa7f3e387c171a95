"""PgQueuer, with uvloop and batches of half its concurrency, the fastest settings found."""

import json
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer  # type: ignore[import-not-found]
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver  # type: ignore[import-not-found]
from pgqueuer.queries import Queries  # type: ignore[import-not-found]

from benchmarks.peers.protocol import URL, Batch, main, mark, nap

CONNECTIONS = 16


class Queuer:
    left = "SELECT count(*) FROM pgqueuer"

    async def setup(self) -> None:
        connection = await asyncpg.connect(URL)
        await Queries(AsyncpgDriver(connection)).install()
        await connection.close()

    async def open(self) -> None:
        self.pool = await asyncpg.create_pool(URL, min_size=CONNECTIONS, max_size=CONNECTIONS)
        self.queries = Queries(AsyncpgPoolDriver(self.pool))

    async def close(self) -> None:
        await self.pool.close()

    async def enqueue(self, number: int, stamp: float) -> None:
        await self.queries.enqueue("noop", json.dumps({"number": number, "stamp": stamp}).encode())

    async def enqueue_many(self, batch: Batch) -> None:
        payloads: list[bytes | None] = [json.dumps(payload).encode() for payload in batch.payloads()]
        kinds, ranks = [batch.kind] * batch.count, [0] * batch.count
        if batch.at is None:
            await self.queries.enqueue(kinds, payloads, ranks)
        else:
            now = await self.pool.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8")
            await self.queries.enqueue(kinds, payloads, ranks, [timedelta(seconds=batch.at - now)] * batch.count)

    async def work(self, concurrency: int) -> None:
        queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(URL)))

        async def noop(job: Any) -> None:
            payload = json.loads(job.payload)
            mark(payload["number"], payload["stamp"])

        async def doze(job: Any) -> None:
            payload = json.loads(job.payload)
            await nap(payload["number"], payload["stamp"])

        queuer.entrypoint("noop")(noop)
        queuer.entrypoint("nap")(doze)
        await queuer.run(batch_size=max(1, concurrency // 2), max_concurrent_tasks=concurrency)


main(Queuer(), uvloop.run)
