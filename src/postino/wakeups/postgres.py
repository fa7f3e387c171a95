"""Between processes on one PostgreSQL: NOTIFY after the commit, from one place.

NOTIFY makes commits stand in line database-wide, so it is never part of a transaction that does anything else.
"""

import asyncio
import contextlib
from typing import Any

import asyncpg
import structlog

from postino.wakeups.local import LocalWakeup

log = structlog.get_logger("postino.wakeup")
CHANNEL = "postino"
AGAIN_AFTER = 1.0
# A hint need not survive a power cut, so it does not wait for the disk.
HINTS = {"application_name": "postino wakeup", "synchronous_commit": "off"}
BREATH = 0.005


class PostgresWakeup(LocalWakeup):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.untold = asyncio.Event()
        self.all_told = asyncio.Event()
        self.all_told.set()
        self.tasks: list[asyncio.Task[None]] = []
        self.teller: asyncio.Task[None] | None = None
        self.listener: asyncio.Task[None] | None = None

    def tell(self) -> None:
        self.nudge()
        self.untold.set()
        self.all_told.clear()
        if self.teller is None:
            self.teller = self.start(self.notify)

    async def listen(self) -> None:
        if self.listener is not None:
            return
        ready = asyncio.Event()

        async def hear(connection: Any) -> None:
            lost = asyncio.Event()
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(CHANNEL, lambda *_: self.nudge())
            self.nudge()  # whatever was told while nobody listened
            ready.set()
            await lost.wait()

        self.listener = self.start(hear)
        # Not hearing is no reason not to work: the poll finds everything.
        await asyncio.wait([asyncio.ensure_future(ready.wait())], timeout=AGAIN_AFTER)

    async def notify(self, connection: Any) -> None:
        while True:
            await self.untold.wait()
            self.untold.clear()
            await connection.execute(f"NOTIFY {CHANNEL}")
            if not self.untold.is_set():
                self.all_told.set()
            await asyncio.sleep(BREATH)  # what comes in a flurry is told once; the first of it at once

    def start(self, use: Any) -> asyncio.Task[None]:
        task = asyncio.create_task(self.connected(use))
        self.tasks.append(task)
        return task

    async def connected(self, use: Any) -> None:
        """Keeps a connection in use, for ever: a lost one is made anew."""
        while True:
            try:
                connection = await asyncpg.connect(self.url, server_settings=HINTS)
                try:
                    await use(connection)
                finally:
                    connection.terminate()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.info("wakeup.lost", error=str(error), next="workers go on by polling; connecting again")
            await asyncio.sleep(AGAIN_AFTER)

    async def close(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AGAIN_AFTER):
                await self.all_told.wait()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks.clear()
        self.teller = self.listener = None
        await super().close()
