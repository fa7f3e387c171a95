"""A thread beside the worker's loop: beats when the loop is too busy to, and ends a process whose loop is stuck."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable

import structlog

from postino.stores.store import Store

log = structlog.get_logger("postino.heart")
BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # where there is none, that of a machine awake
STUCK = 70  # exit code: an internal error, restart me


def uptime() -> float:
    """A clock that is never set, and goes on while the machine sleeps: others bury a sleeper meanwhile."""
    return time.clock_gettime(BOOTTIME)


class Heartbeat:
    """Silent as long as the loop beats by itself, so that an idle worker costs no second question."""

    def __init__(
        self,
        worker: Callable[[], str],
        make_store: Callable[[], Store],
        heartbeat: float,
        stall: float,
        monotonic: Callable[[], float],
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self.worker = worker
        self.make_store = make_store
        self.heartbeat = heartbeat
        self.stall = stall
        self.monotonic = monotonic
        self.end = end
        self.beaten_at = self.loop_seen_at = monotonic()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.watch()), name="postino-heart", daemon=True)

    def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread.start()

    async def stop(self) -> None:
        self.stopped.set()
        await asyncio.to_thread(self.thread.join)

    async def watch(self) -> None:
        store = self.make_store()
        try:
            while not self.stopped.is_set():
                await self.turn(store)
                await asyncio.to_thread(self.stopped.wait, self.heartbeat / 4)
        finally:
            await store.close()

    async def turn(self, store: Store) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process is about to end
            self.loop.call_soon_threadsafe(self.see_loop)
        if self.monotonic() - self.loop_seen_at > self.stall:
            told = "its jobs go to other workers; look for a handler that blocks the loop"
            log.critical("worker.stuck", worker=self.worker(), seconds=self.stall, next=told)
            self.end(STUCK)
        if self.monotonic() - self.beaten_at > self.heartbeat:
            await self.beat(store)

    async def beat(self, store: Store) -> None:
        before = self.monotonic()
        try:
            async with asyncio.timeout(self.heartbeat):
                beaten = await store.heartbeat(self.worker())
        except Exception as error:  # noqa: BLE001 - without a heart a busy worker would be taken for dead
            log.warning("beat.failed", worker=self.worker(), error=str(error), next="trying again")
        else:
            # A worker that was buried has no beats: its loop hears of it with its next look.
            self.beaten_at = before if beaten else self.beaten_at

    def see_loop(self) -> None:
        self.loop_seen_at = self.monotonic()
