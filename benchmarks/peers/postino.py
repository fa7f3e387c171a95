"""Postino with its default settings."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvloop

from benchmarks.peers.protocol import URL, Batch, main, mark, nap
from postino import Job, JobSpec, Postino
from postino.config import load_config

POSTGRES_LEFT = "SELECT count(*) FROM postino.jobs"
SQLITE_LEFT = "SELECT count(*) FROM postino_jobs"


class Ours:
    left = SQLITE_LEFT if URL.startswith("sqlite") else POSTGRES_LEFT

    def app(self, **worker: Any) -> Postino:
        folder = Path(urlsplit(URL).path).parent if URL.startswith("sqlite") else Path("/nonexistent")
        return Postino(load_config(folder, {"database": {"url": URL}, "worker": worker}, {}))

    async def setup(self) -> None:
        app = self.app()
        await app.store.migrate()
        await app.apply_settings()
        await app.close()

    async def open(self) -> None:
        self.client = await self.app().open()
        await self.client.store.gates()  # connects, as the pools of the others do

    async def close(self) -> None:
        await self.client.close()

    async def enqueue(self, number: int, stamp: float) -> None:
        await self.client.enqueue("noop", {"number": number, "stamp": stamp})

    async def enqueue_many(self, batch: Batch) -> None:
        at = datetime.fromtimestamp(batch.at, UTC) if batch.at is not None else None
        await self.client.enqueue_many([
            JobSpec(
                batch.kind, payload, at,
                key=f"order {payload['number']}" if batch.keyed else None,
                account=f"account {payload['number'] % batch.accounts}" if batch.accounts else None,
            )
            for payload in batch.payloads()
        ])  # fmt: skip

    async def work(self, concurrency: int) -> None:
        app = self.app(concurrency=concurrency)

        async def noop(job: Job, payload: dict[str, Any]) -> None:
            mark(payload["number"], payload["stamp"])

        async def doze(job: Job, payload: dict[str, Any]) -> None:
            await nap(payload["number"], payload["stamp"])

        app.handler("noop")(noop)
        app.handler("nap")(doze)
        stop = asyncio.Event()
        await app.work(stop=stop)


main(Ours(), uvloop.run)
