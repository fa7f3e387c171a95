"""Polls for due jobs and claims them. Knows what to ask the store for and where to look next; runs nothing."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from postino.rules.claim_order import find_next_due_time, list_open_sources
from postino.rules.gates import compute_closed_gates
from postino.rules.time_limits import TimeLimit
from postino.stores.records import ClaimRequest, PollResult
from postino.stores.store import Store
from postino.values.job import Job, Queue, new_id

SWEEP_INTERVAL_FACTOR = 100  # the interval between sweeps is at least this many times the duration of a sweep
FRESH = 0.05  # seconds for which one poll serves further claims, as long as they come back full
LOST_CLAIM_MEMORY = 600.0  # seconds, far longer than a statement may take
MIN_SWEEP_INTERVAL, MAX_SWEEP_INTERVAL = 1.0, 10.0  # seconds


class Claims:
    """Remembers where the last claims of each channel and queue ended, and continues from there.

    Only dead index entries lie before that mark; a long transaction elsewhere would make every poll walk over them.
    Jobs that commit late appear before the mark. A sweep from the beginning finds them, every second, or less often
    where sweeps have become slow, but at least every ten seconds.
    """

    def __init__(
        self, store: Store, monotonic: Callable[[], float], limits: Sequence[TimeLimit] = (), grace: float = 0.0
    ) -> None:
        self.store = store
        self.monotonic = monotonic
        self.limits = limits
        self.grace = grace
        self.marks: dict[tuple[str, Queue], datetime] = {}
        self.sweep_at = 0.0
        self.last: PollResult
        self.polled_at = -FRESH
        self.full = False  # the last claim returned as many jobs as there was room for
        self.lost: dict[UUID, float] = {}  # tokens of claims without a response: they may hold jobs

    def is_poll_fresh(self, free: int) -> bool:
        """Whether the last poll serves the next claim too: nothing can be claimed, or more was due than claimed."""
        return (self.full or not free) and self.monotonic() < self.polled_at + FRESH

    async def poll(self, worker: str, *, heartbeat: bool) -> PollResult:
        """Ask the store what is due, and sweep if it is time to."""
        started = self.monotonic()
        sweeping = started >= self.sweep_at
        poll = await self.store.poll(worker, heartbeat=heartbeat, marks={} if sweeping else self.marks)
        if sweeping:
            self.marks = {}
            duration = self.monotonic() - started
            interval = min(max(MIN_SWEEP_INTERVAL, SWEEP_INTERVAL_FACTOR * duration), MAX_SWEEP_INTERVAL)
            self.sweep_at = self.monotonic() + interval
        self.last, self.polled_at = poll, started
        return poll

    async def claim(self, worker: str, poll: PollResult, free: int, low_is_running: bool) -> list[Job]:
        """Claim up to `free` of the jobs that the poll found due."""
        self.full = False
        gates = compute_closed_gates(poll.gate_sources, poll.now)
        if not poll.hinted and not list_open_sources(poll.heads, gates, poll.now):
            return []
        request = ClaimRequest(
            worker=worker,
            token=new_id(),
            free=free,
            poll=poll,
            marks=self.marks,
            low_is_running=low_is_running,
            limits=self.limits,
            grace=self.grace,
        )
        try:
            jobs = await self.store.claim(request)
        except BaseException:
            self.lost[request.token] = self.monotonic()
            raise
        self.full = len(jobs) == free and not poll.hinted
        for job in jobs:
            if job.lane is None and job.run_at is not None:
                line = job.channel, job.queue
                self.marks[line] = max(job.run_at, self.marks.get(line, job.run_at))
        return jobs

    def find_strays(self, held: Iterable[tuple[UUID, UUID]]) -> list[UUID]:
        """Return the jobs that this worker holds by a claim whose response was lost."""
        strays = [(job_id, token) for job_id, token in held if token in self.lost]
        tokens = {token for _, token in strays}
        self.lost = {
            token: at for token, at in self.lost.items() if token in tokens or self.monotonic() < at + LOST_CLAIM_MEMORY
        }
        return [job_id for job_id, _ in strays]

    @staticmethod
    def time_to_next(poll: PollResult) -> timedelta | None:
        """Return how long it takes until the next job is due."""
        due_at = find_next_due_time(poll.heads, compute_closed_gates(poll.gate_sources, poll.now), poll.now)
        return None if due_at is None else due_at - poll.now
