"""Procrastinate."""

from datetime import UTC, datetime

from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found]

from benchmarks.peers.protocol import URL, Batch, main, mark, nap


async def noop(number: int, stamp: float) -> None:
    mark(number, stamp)


class Procrastinate:
    left = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"

    def __init__(self) -> None:
        self.app = App(connector=PsycopgConnector(conninfo=URL, min_size=4, max_size=20))
        self.tasks = {"noop": self.app.task(name="noop")(noop), "nap": self.app.task(name="nap")(nap)}

    async def setup(self) -> None:
        async with self.app.open_async():
            await self.app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        await self.app.open_async()

    async def close(self) -> None:
        await self.app.close_async()

    async def enqueue(self, number: int, stamp: float) -> None:
        await self.tasks["noop"].defer_async(number=number, stamp=stamp)

    async def enqueue_many(self, batch: Batch) -> None:
        at = datetime.fromtimestamp(batch.at, UTC) if batch.at is not None else None
        await self.tasks[batch.kind].configure(schedule_at=at).batch_defer_async(*batch.payloads())

    async def work(self, concurrency: int) -> None:
        async with self.app.open_async():
            await self.app.run_worker_async(concurrency=concurrency)


main(Procrastinate())
