"""Says that a worker cannot claim: in the log, and in its row, which `/health/ready` and `/v1/workers` read."""

from collections.abc import Callable

import structlog

from postino.stores.store import Store

log = structlog.get_logger("postino.worker")
REPORT_AFTER = 30.0  # seconds


class ClaimTrouble:
    def __init__(self, store: Store, worker_id: Callable[[], str], monotonic: Callable[[], float]) -> None:
        self.store = store
        self.worker_id = worker_id
        self.monotonic = monotonic
        self.since: float | None = None
        self.reported: tuple[str, str] | None = None  # the worker and its trouble, as stored
        self.report_at = 0.0

    async def record(self, trouble: str) -> None:
        """Note that the worker cannot claim. Report it after 30 seconds, and every 30 seconds from then on."""
        now = self.monotonic()
        if self.since is None:
            self.since, self.report_at = now, now + REPORT_AFTER
        if now < self.report_at:
            return
        self.report_at = now + REPORT_AFTER
        seconds, stored = now - self.since, (self.worker_id(), trouble)
        advice = "the worker keeps trying; other workers run the jobs if they can"
        log.error("worker.cannot_claim", worker=stored[0], reason=trouble, seconds=round(seconds), next=advice)
        if stored != self.reported:
            await self.store.report_trouble(stored[0], trouble, seconds)
            self.reported = stored

    async def end(self) -> None:
        """Note that the worker can claim."""
        self.since = None
        if self.reported is not None:
            await self.store.report_trouble(self.worker_id(), None)
            self.reported = None
            log.info("worker.claims_again", worker=self.worker_id())
