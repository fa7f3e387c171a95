"""A store that is away: told once, then now and then, and once more when it is back."""

from collections.abc import Callable

import structlog

log = structlog.get_logger("postino.worker")
REMIND_AFTER = 30.0


class OutageLog:
    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self.since: float | None = None
        self.told_at = 0.0

    def seen(self, error: Exception) -> None:
        now = self.monotonic()
        if self.since is None or now - self.told_at >= REMIND_AFTER:
            self.since = self.since or now
            self.told_at = now
            log.warning("store.unreachable", error=str(error), next="asking again until it answers; nothing is lost")

    def lasts(self) -> bool:
        return self.since is not None

    def over(self) -> None:
        if self.since is not None:
            log.info("store.back", after_seconds=round(self.monotonic() - self.since, 1))
            self.since = None
