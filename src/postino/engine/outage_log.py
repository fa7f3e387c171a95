"""Logs outages of the store: once when one begins, every 30 seconds while it lasts, and once when it ends."""

from collections.abc import Callable

import structlog

log = structlog.get_logger("postino.worker")
REMIND_AFTER = 30.0  # seconds
ADVICE = "retrying until it answers; no job is lost. Check that the database runs and that database.url is right"


class OutageLog:
    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self.since: float | None = None
        self.logged_at = 0.0

    def record(self, error: Exception) -> None:
        """Note that the store is unreachable."""
        now = self.monotonic()
        if self.since is None or now - self.logged_at >= REMIND_AFTER:
            self.since = self.since or now
            self.logged_at = now
            log.warning("store.unreachable", error=str(error), next=ADVICE)

    def end(self) -> None:
        """Note that the store answers."""
        if self.since is not None:
            log.info("store.back", after_seconds=round(self.monotonic() - self.since, 1))
            self.since = None
