"""The slots of a worker: jobs that run, claimed jobs that wait for a slot, and how many more to claim."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from postino.engine.call import Call
from postino.values.job import Job, Queue

AHEAD = 0.02  # seconds: claim as many jobs ahead as are likely to get a slot in this time
SHORT = 0.2  # seconds: nothing is claimed ahead of longer jobs
STUCK_AFTER = 1.0  # seconds without a free slot after which jobs claimed ahead are given back
SAMPLE = 0.005  # seconds to count before estimating
REFILL_SHARE = 4  # claim again when a quarter of the jobs ahead are gone
MAX_CLAIMED = 500


class Run:
    """One run of a job by this worker."""

    __slots__ = ("call", "entered", "has_lock", "job", "started_at", "stopped", "task")

    def __init__(self, job: Job, started_at: float) -> None:
        self.job = job
        self.started_at = started_at
        self.entered = False  # a task that is cancelled before its first step runs no `finally`
        self.has_lock = False  # False while it waits for the lock of jobs that run alone
        self.stopped = False  # by this worker
        self.call: Call | None = None
        self.task: asyncio.Task[None]

    def __hash__(self) -> int:
        return hash(self.job.id)  # not the address in memory: a simulation must see sets in the same order each time

    def attach_call(self, call: Call) -> None:
        self.call = call

    @property
    def current_job(self) -> Job:
        """The job as claimed, or as its run has changed it since: something may have been sent."""
        return self.job if self.call is None else self.call.job

    def stop(self) -> None:
        self.stopped = True
        self.task.cancel()


class Slots:
    """Limits how many jobs run at once. If jobs are short, claims the next ones before a slot is free.

    No claimed job waits for a long one to end: another worker may have a slot sooner.
    """

    def __init__(self, size: int, monotonic: Callable[[], float]) -> None:
        self.size = size
        self.monotonic = monotonic
        self.running: set[Run] = set()
        self.ready: deque[Job] = deque()  # claimed, and waiting for a slot
        self.ahead = 0
        self.short_runs = 0
        self.estimated_at = self.moved_at = monotonic()

    def __bool__(self) -> bool:
        return bool(self.running or self.ready)

    def jobs(self) -> Iterator[Job]:
        yield from self.ready
        for run in self.running:
            yield run.job

    def count_claimable(self, abandoned: int) -> int:
        """Return how many jobs to claim now; abandoned handlers keep their slots."""
        room = self.size + self.ahead - abandoned - len(self.running) - len(self.ready)
        if self.ready and REFILL_SHARE * room < self.ahead:
            return 0
        return max(0, min(room, MAX_CLAIMED))

    def take_next(self, abandoned: int) -> Job | None:
        """Return the next job if there is a free slot for it."""
        if not self.ready or len(self.running) + abandoned >= self.size:
            return None
        self.moved_at = self.monotonic()
        return self.ready.popleft()

    def end(self, run: Run) -> None:
        """Free the slot of a run."""
        self.running.discard(run)
        self.short_runs += self.monotonic() - run.started_at < SHORT

    def take_stuck(self) -> list[Job]:
        """Take out the jobs that were claimed ahead and got no slot in time."""
        return self.take_out(lambda _: True) if self.monotonic() - self.moved_at > STUCK_AFTER else []

    def estimate_ahead(self) -> None:
        """Estimate how many slots become free in the next moment: as many as did in the last."""
        now = self.monotonic()
        if now - self.estimated_at >= SAMPLE:
            self.ahead = min(2 * self.size, int(self.short_runs * AHEAD / (now - self.estimated_at)))
            self.short_runs, self.estimated_at = 0, now

    def take_out(self, which: Callable[[Job], bool]) -> list[Job]:
        """Take these jobs out of those that wait for a slot."""
        taken = [job for job in self.ready if which(job)]
        self.ready = deque(job for job in self.ready if not which(job))
        return taken

    def has_low_job(self) -> bool:
        return any(job.queue is Queue.LOW for job in self.jobs())
