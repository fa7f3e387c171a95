"""A thread beside the event loop: sends heartbeats while the loop is busy, and ends a process whose loop is stuck."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable

import structlog

from postino.engine.lease import Lease
from postino.stores.store import Store

log = structlog.get_logger("postino.heartbeat")
EXIT_CODE = 70  # EX_SOFTWARE: a supervisor should restart the process


class Heartbeat:
    """Sends nothing as long as the loop sends heartbeats itself, so an idle worker makes no extra queries."""

    def __init__(
        self,
        worker: Callable[[], str],
        make_store: Callable[[], Store],
        lease: Lease,
        heartbeat: float,
        stall: float,
        exit: Callable[[int], object] = os._exit,
    ) -> None:
        self.worker = worker
        self.make_store = make_store
        self.lease = lease
        self.heartbeat = heartbeat
        self.stall = stall
        self.exit = exit
        self.loop_seen_at = lease.clock()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run()), name="postino-heartbeat", daemon=True)

    def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread.start()

    async def stop(self) -> None:
        self.stopped.set()
        await asyncio.to_thread(self.thread.join)

    async def run(self) -> None:
        """Check the loop and the last heartbeat until stopped."""
        store = self.make_store()
        try:
            while not self.stopped.is_set():
                await self.check(store)
                await asyncio.to_thread(self.stopped.wait, self.heartbeat / 4)
        finally:
            await store.close()

    async def check(self, store: Store) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process is about to end
            self.loop.call_soon_threadsafe(self.mark_loop_alive)
        now = self.lease.clock()
        if now - self.loop_seen_at > self.stall:
            advice = "the process ends and other workers run its jobs; find the handler that blocks the event loop"
            log.critical("worker.stuck", worker=self.worker(), seconds=self.stall, next=advice)
            self.exit(EXIT_CODE)
        if now - self.lease.renewed_at > self.heartbeat:
            await self.send(store)

    async def send(self, store: Store) -> None:
        """Send a heartbeat. A worker that was removed as dead has no row; its next poll detects this."""
        sent_at = self.lease.clock()
        try:
            async with asyncio.timeout(self.heartbeat):
                is_known = await store.heartbeat(self.worker())
        except Exception as error:  # noqa: BLE001 - without this thread a busy worker would be taken for dead
            log.warning("heartbeat.failed", worker=self.worker(), error=str(error), next="the worker tries again")
        else:
            if is_known:
                self.lease.renewed_at = sent_at

    def mark_loop_alive(self) -> None:
        self.loop_seen_at = self.lease.clock()
