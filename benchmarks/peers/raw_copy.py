"""The limit of bulk enqueue: COPY of the same rows into Postino's table with its indexes."""

import asyncio
import json
from datetime import UTC, datetime

import asyncpg
import uvloop

from benchmarks.peers.protocol import URL, Batch, main
from postino import Postino
from postino.values.job import Queue, State, new_id

COLUMNS = (
    "id", "type", "channel", "queue", "state", "idempotency_key", "payload", "scheduled_at", "run_at", "created_at",
)  # fmt: skip


class Copy:
    left = "SELECT count(*) FROM postino.jobs"

    async def setup(self) -> None:
        app = Postino(URL)
        await app.store.migrate()
        await app.close()

    async def open(self) -> None:
        self.connection = await asyncpg.connect(URL)

    async def close(self) -> None:
        await self.connection.close()

    async def enqueue(self, number: int, stamp: float) -> None:
        await self.enqueue_many(Batch(1, first=number, at=stamp))

    async def enqueue_many(self, batch: Batch) -> None:
        now, queue, state = datetime.now(UTC), Queue.DEFAULT.value, State.PENDING.value
        ids = [new_id() for _ in range(batch.count)]
        records = [
            (job, batch.kind, batch.kind, queue, state, str(job), json.dumps(payload).encode(), now, now, now)
            for job, payload in zip(ids, batch.payloads(), strict=True)
        ]
        await self.connection.copy_records_to_table("jobs", schema_name="postino", columns=COLUMNS, records=records)

    async def work(self, concurrency: int) -> None:
        await asyncio.Event().wait()  # it only enqueues


main(Copy(), uvloop.run)
