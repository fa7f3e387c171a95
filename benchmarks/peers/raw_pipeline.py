"""A limit without a queue: claims and completions of a bare table over two connections, one task for each job."""

import asyncio
import json

import asyncpg
import uvloop

from benchmarks.peers.protocol import URL, Batch, main, mark

CLAIMED = 500
AHEAD = 4
TABLE = """
CREATE TABLE job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL DEFAULT 'default',
    state smallint NOT NULL DEFAULT 0, priority smallint NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(),
    attempts smallint NOT NULL DEFAULT 0, claimed_at timestamptz, done_at timestamptz, payload jsonb NOT NULL);
CREATE INDEX job_ready ON job (queue, priority, run_at, id) WHERE state = 0;
"""
ENQUEUE = "INSERT INTO job (payload) SELECT payload::jsonb FROM unnest($1::text[]) AS payload"
CLAIM = """
WITH due AS (
    SELECT id FROM job WHERE state = 0 AND queue = 'default' AND run_at <= now()
    ORDER BY priority, run_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE job SET state = 1, attempts = attempts + 1, claimed_at = now() FROM due WHERE due.id = job.id
RETURNING job.id, job.payload
"""
COMPLETE = "UPDATE job SET state = 2, done_at = now() WHERE id = ANY ($1::bigint[]) AND state = 1"


class Pipeline:
    left = "SELECT count(*) FROM job WHERE state < 2"

    async def setup(self) -> None:
        await self.open()
        await self.connection.execute(TABLE)
        await self.close()

    async def open(self) -> None:
        self.connection = await asyncpg.connect(URL)

    async def close(self) -> None:
        await self.connection.close()

    async def enqueue(self, number: int, stamp: float) -> None:
        await self.connection.execute(ENQUEUE, [json.dumps({"number": number, "stamp": stamp})])

    async def enqueue_many(self, batch: Batch) -> None:
        await self.connection.execute(ENQUEUE, [json.dumps(payload) for payload in batch.payloads()])

    async def work(self, concurrency: int) -> None:
        claimed: asyncio.Queue[list[asyncpg.Record]] = asyncio.Queue(AHEAD)
        done: list[int] = []
        some_done = asyncio.Event()

        async def job(row: asyncpg.Record) -> None:
            payload = json.loads(row["payload"])
            mark(payload["number"], payload["stamp"])
            done.append(row["id"])
            some_done.set()

        async def claim() -> None:
            statement = await (await asyncpg.connect(URL)).prepare(CLAIM)
            while True:
                rows = await statement.fetch(CLAIMED)
                await (claimed.put(rows) if rows else asyncio.sleep(0.05))

        async def complete() -> None:
            statement = await (await asyncpg.connect(URL)).prepare(COMPLETE)
            while await some_done.wait():
                some_done.clear()
                ids = done.copy()
                done.clear()
                await statement.fetch(ids)

        async def perform() -> None:
            while True:
                await asyncio.gather(*[asyncio.create_task(job(row)) for row in await claimed.get()])

        await asyncio.gather(claim(), perform(), complete())


main(Pipeline(), uvloop.run)
