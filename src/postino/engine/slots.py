"""What a worker has in its hands: the jobs that run, those that are next, and how many more it may take."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from postino.engine.call import Call
from postino.values.job import Job, Queue

AHEAD = 0.02  # seconds: as many jobs may wait here for a slot as are likely to get one in this time
SHORT = 0.2  # seconds: behind longer jobs nobody waits
UNMOVED = 1.0  # seconds without a slot after which those that wait are given back
SAMPLE = 0.005  # seconds: how long to watch before guessing
WORTH = 4  # a claim is worth it when a quarter of them are gone
MOST_TOGETHER = 500


class Run:
    """A job in this worker's hands. Not begun: it waits for its turn among those that run one at a time."""

    __slots__ = ("begun", "call", "entered", "job", "started_at", "stopped", "task")

    def __init__(self, job: Job, started_at: float) -> None:
        self.job = job
        self.started_at = started_at
        self.entered = False  # a task that is cancelled before its first step clears nothing up
        self.begun = False
        self.stopped = False  # by its worker
        self.call: Call | None = None
        self.task: asyncio.Task[None]

    def follow(self, call: Call) -> None:
        self.call = call

    def job_now(self) -> Job:
        """As claimed, or as its run has made it since: something may have been sent."""
        return self.job if self.call is None else self.call.job

    def stop(self) -> None:
        self.stopped = True
        self.task.cancel()


class Slots:
    """So many jobs run at once. Where they are short, the next ones are fetched before there is a slot for them.

    Long jobs have none waiting behind them: another worker may have a slot sooner.
    """

    def __init__(self, most: int, monotonic: Callable[[], float]) -> None:
        self.most = most
        self.monotonic = monotonic
        self.running: set[Run] = set()  # whose handler has not ended
        self.ready: deque[Job] = deque()  # claimed, and waiting for a slot
        self.ahead = 0
        self.ended = 0
        self.counted_at = self.moved_at = monotonic()

    def __bool__(self) -> bool:
        return bool(self.running or self.ready)

    def jobs(self) -> Iterator[Job]:
        yield from self.ready
        for run in self.running:
            yield run.job

    def wanted(self, abandoned: int) -> int:
        """How many to claim now: none as long as it is not worth it, because there is a next one for each slot."""
        room = self.most + self.ahead - abandoned - len(self.running) - len(self.ready)
        if self.ready and WORTH * room < self.ahead:
            return 0
        return max(0, min(room, MOST_TOGETHER))

    def next(self, abandoned: int) -> Job | None:
        if not self.ready or len(self.running) + abandoned >= self.most:
            return None
        self.moved_at = self.monotonic()
        return self.ready.popleft()

    def end(self, run: Run) -> None:
        self.running.discard(run)
        self.ended += self.monotonic() - run.started_at < SHORT

    def stuck(self) -> list[Job]:
        """Those that were claimed ahead in vain, taken out: what they wait behind is not short after all."""
        return self.give_up(lambda _: True) if self.monotonic() - self.moved_at > UNMOVED else []

    def count(self) -> None:
        """How many are likely to end in the next moment: as many as did in the last."""
        now = self.monotonic()
        if now - self.counted_at >= SAMPLE:
            self.ahead = min(2 * self.most, int(self.ended * AHEAD / (now - self.counted_at)))
            self.ended, self.counted_at = 0, now

    def give_up(self, which: Callable[[Job], bool]) -> list[Job]:
        """Takes these of the waiting ones out."""
        given_up = [job for job in self.ready if which(job)]
        self.ready = deque(job for job in self.ready if not which(job))
        return given_up

    def low_is_running(self) -> bool:
        return any(job.queue is Queue.LOW for job in self.jobs())
