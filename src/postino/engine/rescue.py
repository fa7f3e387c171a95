"""Noticing dead workers and taking over what they held. Every worker observes; none is special."""

from collections.abc import Callable, Mapping

import structlog

from postino.rules import settlement
from postino.stores.records import PollResult, SettledJob
from postino.stores.store import Store

log = structlog.get_logger("postino.rescue")


class Rescuer:
    """Dead is a worker whose beats have stood still for one lease on the observer's own monotonic clock.

    So a clock that steps, here or there, buries nobody.
    """

    def __init__(self, store: Store, lease: float, monotonic: Callable[[], float], poll: float = 0.0) -> None:
        self.store = store
        self.lease = lease
        self.longest = max(lease / 2, 2 * poll)  # between two looks of a worker that is well
        self.monotonic = monotonic
        self.seen: dict[str, tuple[int, float]] = {}
        self.looked_at = monotonic()

    def dead(self, heartbeats: Mapping[str, int]) -> dict[str, int]:
        """Whose beats stand still for too long, and where."""
        now = self.monotonic()
        unseen = now - self.looked_at
        if unseen > self.longest:
            # Nobody could beat while the store was away, or we were not there to see it: that time does not count.
            self.seen = {worker: (heartbeat, since + unseen) for worker, (heartbeat, since) in self.seen.items()}
        self.looked_at = now
        self.seen = {
            worker: self.seen[worker] if worker in self.seen and self.seen[worker][0] == heartbeat else (heartbeat, now)
            for worker, heartbeat in heartbeats.items()
        }
        return {worker: heartbeat for worker, (heartbeat, since) in self.seen.items() if now - since > self.lease}

    async def observe(self, poll: PollResult) -> list[SettledJob]:
        dead = self.dead(poll.heartbeats)
        if not dead and not poll.orphaned:
            return []
        endings = await self.store.rescue(dead, settlement.rescue)
        for worker in dead:
            log.warning("worker.dead", worker=worker, next="its jobs go to other workers")
        for ending in endings:
            log.warning(
                "job.rescued", job=str(ending.job.id), worker=ending.job.claimed_by, state=ending.settlement.state.value
            )
        return endings
