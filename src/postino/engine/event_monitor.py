"""Logs open transactions that keep events from all listeners."""

import asyncio

import structlog

from postino import clock
from postino.errors import StoreUnreachable
from postino.stores.records import EventDelay
from postino.stores.store import Store

log = structlog.get_logger("postino.events")
MAX_INTERVAL = 15.0  # seconds


class EventMonitor:
    """Logs each such transaction once, and once when events flow again."""

    def __init__(self, store: Store, seconds: float) -> None:
        self.store = store
        self.seconds = seconds
        self.delay: EventDelay | None = None

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await self.check()
            await asyncio.sleep(min(self.seconds / 4, MAX_INTERVAL))

    async def check(self) -> None:
        """Look for such a transaction once."""
        try:
            self.update(await self.store.event_delay(self.seconds))
        except StoreUnreachable:
            pass  # the worker's own polls report it
        except Exception as error:  # noqa: BLE001 - any failure: it looks again
            log.warning("events.check_failed", error=str(error), next="checked again within seconds")

    def update(self, delay: EventDelay | None) -> None:
        """Log what has changed since the last check."""
        before, self.delay = self.delay, delay
        if delay is not None and (before is None or (before.pid, before.prepared) != (delay.pid, delay.prepared)):
            log.error(
                "events.delayed",
                process=delay.pid,
                prepared=delay.prepared,
                application=delay.application,
                database=delay.database,
                open_seconds=round((clock.now() - delay.since_at).total_seconds()),
                next="no listener gets newer events until this transaction ends; publishing continues."
                f" If nobody needs it, run {describe_remedy(delay)}",
            )
        elif delay is None and before is not None:
            log.info("events.recovered", process=before.pid, prepared=before.prepared)


def describe_remedy(delay: EventDelay) -> str:
    """Return the SQL that ends the transaction."""
    if delay.prepared is not None:
        return f"ROLLBACK PREPARED '{delay.prepared}'"
    return f"SELECT pg_terminate_backend({delay.pid})"
