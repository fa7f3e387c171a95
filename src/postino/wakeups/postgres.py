"""Wake-ups between processes on one PostgreSQL database: NOTIFY after the commit, on a connection of its own.

A NOTIFY takes a lock of the whole database at commit, so it is never part of a transaction that does anything else.
LISTEN belongs to a session: behind a pooler it hears nothing, so it needs a direct connection.
"""

import asyncio
import contextlib
from typing import Any

import asyncpg
import structlog

from postino.wakeups.local import LocalWakeup

log = structlog.get_logger("postino.wakeup")
CHANNEL = "postino"
RECONNECT_DELAY = 1.0
APPLICATION = {"application_name": "postino wakeup"}
# A hint need not survive a power cut, so it does not wait for the disk.
NOTIFY = f"BEGIN; SET LOCAL synchronous_commit = off; NOTIFY {CHANNEL}; COMMIT"
MIN_INTERVAL = 0.005  # seconds between two NOTIFYs


class PostgresWakeup(LocalWakeup):
    def __init__(self, url: str, listen_url: str = "") -> None:
        super().__init__()
        self.url = url
        self.listen_url = listen_url or url
        self.pending = asyncio.Event()
        self.flushed = asyncio.Event()
        self.flushed.set()
        self.tasks: list[asyncio.Task[None]] = []
        self.notifier: asyncio.Task[None] | None = None
        self.listener: asyncio.Task[None] | None = None

    def notify(self) -> None:
        self.notify_local()
        self.pending.set()
        self.flushed.clear()
        if self.notifier is None:
            self.notifier = self.start(self.send_notifications, self.url)

    async def listen(self) -> None:
        if self.listener is not None:
            return
        ready = asyncio.Event()

        async def receive(connection: Any) -> None:
            if await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid():
                advice = "polling finds all work; set database.listen_url to a direct connection for faster starts"
                log.warning("wakeup.unavailable", error="LISTEN does not work through a pooler", next=advice)
                ready.set()
                connection.terminate()
                await asyncio.Event().wait()
            lost = asyncio.Event()
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(CHANNEL, lambda *_: self.notify_local())
            self.notify_local()  # a notification may have been missed before
            ready.set()
            await lost.wait()

        self.listener = self.start(receive, self.listen_url)
        # A worker without wake-ups works too: its poll finds every job.
        await asyncio.wait([asyncio.ensure_future(ready.wait())], timeout=RECONNECT_DELAY)

    async def send_notifications(self, connection: Any) -> None:
        while True:
            await self.pending.wait()
            self.pending.clear()
            await connection.execute(NOTIFY)
            if not self.pending.is_set():
                self.flushed.set()
            await asyncio.sleep(MIN_INTERVAL)  # notifications of that time share the next NOTIFY

    def start(self, use: Any, url: str) -> asyncio.Task[None]:
        task = asyncio.create_task(self.keep_connected(use, url))
        self.tasks.append(task)
        return task

    async def keep_connected(self, use: Any, url: str) -> None:
        """Pass a connection to `use`, and a new one whenever it is lost, until cancelled."""

        while True:
            try:
                connection = await asyncpg.connect(url, statement_cache_size=0, server_settings=APPLICATION)
                try:
                    await use(connection)
                finally:
                    connection.terminate()
            except Exception as error:  # noqa: BLE001 - any failure: it connects again
                log.info("wakeup.lost", error=str(error), next="workers find work by polling; Postino connects again")
            await asyncio.sleep(RECONNECT_DELAY)

    async def close(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECONNECT_DELAY):
                await self.flushed.wait()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks.clear()
        self.notifier = self.listener = None
        await super().close()
