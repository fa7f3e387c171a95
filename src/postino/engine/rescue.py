"""Finds dead workers and rescues their jobs. Every worker does this; there is no leader."""

from collections.abc import Callable, Mapping

import structlog

from postino.rules import settlement
from postino.rules.liveness import Silence, observe
from postino.stores.records import PollResult, SettledJob
from postino.stores.store import Store

log = structlog.get_logger("postino.rescue")


class Rescuer:
    """Declares a worker dead if its heartbeat counter does not change for one lease of this process's monotonic clock.

    Wall clocks are not compared, so a change of a clock does not make a worker look dead.
    """

    def __init__(self, store: Store, lease: float, monotonic: Callable[[], float], poll: float = 0.0) -> None:
        self.store = store
        self.lease = lease
        self.longest_gap = max(lease / 2, 2 * poll)  # between two polls of a healthy worker
        self.monotonic = monotonic
        self.silences: dict[str, Silence] = {}  # by worker
        self.polled_at = monotonic()

    def find_dead(self, heartbeats: Mapping[str, int]) -> dict[str, int]:
        """Return the workers whose counter has stood still for too long, with that counter."""
        now = self.monotonic()
        gap, self.polled_at = now - self.polled_at, now
        self.silences = {
            worker: observe(self.silences.get(worker), count, gap, self.longest_gap)
            for worker, count in heartbeats.items()
        }
        return {worker: it.heartbeats for worker, it in self.silences.items() if it.seconds > self.lease}

    async def rescue(self, poll: PollResult) -> list[SettledJob]:
        """Make the jobs of dead workers, and jobs past their deadline, available to others."""
        dead = self.find_dead(poll.heartbeats)
        if not dead and not poll.orphaned:
            return []
        settled_jobs = await self.store.rescue(dead, settlement.rescue_job)
        for worker in dead:
            log.warning("worker.dead", worker=worker, next="other workers run its jobs")
        for settled_job in settled_jobs:
            job, state = settled_job.job, settled_job.settlement.state.value
            log.warning("job.rescued", job=str(job.id), worker=job.claimed_by, state=state)
        return settled_jobs
