"""Oban for Python, with uvloop."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import psycopg
import uvloop
from oban import Oban, worker  # type: ignore[import-not-found]
from oban.schema import install_sql  # type: ignore[import-not-found]

from benchmarks.peers.protocol import URL, Batch, main, mark, nap


class Noop:
    async def process(self, job: Any) -> None:
        mark(job.args["number"], job.args["stamp"])


class Doze:
    async def process(self, job: Any) -> None:
        await nap(job.args["number"], job.args["stamp"])


KINDS: dict[str, Any] = {"noop": worker(queue="default")(Noop), "nap": worker(queue="default")(Doze)}


class ObanPeer:
    left = "SELECT count(*) FROM oban_jobs WHERE state IN ('available', 'executing', 'scheduled')"

    async def setup(self) -> None:
        with psycopg.connect(URL, autocommit=True) as connection:
            connection.execute(install_sql())

    async def open(self) -> None:
        self.pool = await Oban.create_pool(URL, min_size=4, max_size=20)
        self.oban = Oban(pool=self.pool, leadership=False)

    async def close(self) -> None:
        await self.pool.close()

    async def enqueue(self, number: int, stamp: float) -> None:
        await self.oban.enqueue(KINDS["noop"].new({"number": number, "stamp": stamp}))

    async def enqueue_many(self, batch: Batch) -> None:
        when = {"scheduled_at": datetime.fromtimestamp(batch.at, UTC)} if batch.at is not None else {}
        await self.oban.enqueue_many(*[KINDS[batch.kind].new(payload, **when) for payload in batch.payloads()])

    async def work(self, concurrency: int) -> None:
        pool = await Oban.create_pool(URL, min_size=4, max_size=20)
        async with Oban(pool=pool, queues={"default": concurrency}):
            await asyncio.Event().wait()


main(ObanPeer(), uvloop.run)
