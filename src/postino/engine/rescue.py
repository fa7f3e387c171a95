"""Finds dead workers and rescues their jobs. Every worker does this; there is no leader."""

from collections.abc import Callable, Mapping

import structlog

from postino.rules import settlement
from postino.stores.records import PollResult, SettledJob
from postino.stores.store import Store

log = structlog.get_logger("postino.rescue")


class Rescuer:
    """Takes a worker for dead if its heartbeat counter stands still for one lease on this process's monotonic clock.

    Wall clocks are not compared, so a clock that is set makes no worker look dead.
    """

    def __init__(self, store: Store, lease: float, monotonic: Callable[[], float], poll: float = 0.0) -> None:
        self.store = store
        self.lease = lease
        self.longest_gap = max(lease / 2, 2 * poll)  # between two polls of a healthy worker
        self.monotonic = monotonic
        self.counters: dict[str, tuple[int, float]] = {}  # by worker: heartbeats, and since when
        self.polled_at = monotonic()

    def find_dead(self, heartbeats: Mapping[str, int]) -> dict[str, int]:
        """Return the workers whose counter has stood still for too long, with that counter."""
        now = self.monotonic()
        gap = now - self.polled_at
        if gap > self.longest_gap:
            # The store was away, or this process was suspended: nobody's silence in that time counts.
            self.counters = {worker: (count, since + gap) for worker, (count, since) in self.counters.items()}
        self.polled_at = now
        self.counters = {
            worker: self.counters[worker]
            if worker in self.counters and self.counters[worker][0] == count
            else (count, now)
            for worker, count in heartbeats.items()
        }
        return {worker: count for worker, (count, since) in self.counters.items() if now - since > self.lease}

    async def rescue(self, poll: PollResult) -> list[SettledJob]:
        """Make the jobs of dead workers, and jobs past their deadline, available to others."""
        dead = self.find_dead(poll.heartbeats)
        if not dead and not poll.orphaned:
            return []
        endings = await self.store.rescue(dead, settlement.rescue_job)
        for worker in dead:
            log.warning("worker.dead", worker=worker, next="its jobs go to other workers")
        for ending in endings:
            job, state = ending.job, ending.settlement.state.value
            log.warning("job.rescued", job=str(job.id), worker=job.claimed_by, state=state)
        return endings
