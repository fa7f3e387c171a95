"""Huey on SQLite, with fsync on (synchronous=FULL) and four threads."""

import logging
from pathlib import Path
from urllib.parse import urlsplit

from huey import SqliteHuey  # type: ignore[import-not-found]

from benchmarks.peers.protocol import URL, Batch, main, mark

THREADS = 4


class Huey:
    left = "SELECT count(*) FROM task"  # gone as soon as a thread has taken it: huey acknowledges before the work

    def __init__(self) -> None:
        self.huey = SqliteHuey("bench", filename=str(Path(urlsplit(URL).path)), results=False, fsync=True)
        self.task = self.huey.task(name="noop")(mark)

    async def setup(self) -> None:
        self.huey.pending_count()

    async def open(self) -> None: ...
    async def close(self) -> None: ...

    async def enqueue(self, number: int, stamp: float) -> None:
        self.task(number, stamp)

    async def enqueue_many(self, batch: Batch) -> None:
        for payload in batch.payloads():
            self.task(payload["number"], payload["stamp"])

    async def work(self, concurrency: int) -> None:
        logging.disable(logging.WARNING)
        self.huey.create_consumer(workers=THREADS, worker_type="thread").run()


main(Huey())
