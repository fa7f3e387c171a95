"""Looking for work and taking it: what to ask the store for, and where to look next."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from postino.rules.claim_order import next_due, open_lines
from postino.rules.gates import closed
from postino.stores.records import ClaimRequest, PollResult
from postino.stores.store import Store
from postino.values.job import Job, Queue, new_id

SWEEP_SHARE = 100  # a sweep may cost a hundredth of the time between two of them
FRESH = 0.05  # seconds for which one look serves further claims, as long as they come back full
REMEMBERED = 600.0  # far longer than a statement may take
SOONEST_SWEEP, LATEST_SWEEP = 1.0, 10.0  # seconds


class Claims:
    """Remembers where the last claims of each line ended, and looks on from there.

    Behind that mark lie only dead entries, which a long-open transaction elsewhere would make every look walk over.
    What commits late appears behind it too: a sweep from the very beginning finds it, every second, or more rarely
    where sweeping has become slow, but every ten.
    """

    def __init__(
        self, store: Store, monotonic: Callable[[], float], limits: Mapping[str, float] = {}, grace: float = 0.0
    ) -> None:
        self.store = store
        self.monotonic = monotonic
        self.limits = limits
        self.grace = grace
        self.marks: dict[tuple[str, Queue], datetime] = {}
        self.sweep_at = 0.0
        self.last: PollResult
        self.looked_at = -FRESH
        self.full = False  # the last claim took all there was room for
        self.lost: dict[UUID, float] = {}  # claims that were never answered, and when: they may hold jobs all the same

    def is_poll_fresh(self, free: int) -> bool:
        """Whether the last look is good enough: nothing can be taken, or there was more than could be."""
        return (self.full or not free) and self.monotonic() < self.looked_at + FRESH

    async def poll(self, worker: str, *, heartbeat: bool) -> PollResult:
        started = self.monotonic()
        sweeping = started >= self.sweep_at
        poll = await self.store.poll(worker, heartbeat=heartbeat, marks={} if sweeping else self.marks)
        if sweeping:
            self.marks = {}
            taken = self.monotonic() - started
            self.sweep_at = self.monotonic() + min(max(SOONEST_SWEEP, SWEEP_SHARE * taken), LATEST_SWEEP)
        self.last, self.looked_at = poll, started
        return poll

    async def claim(self, worker: str, poll: PollResult, free: int, low_is_running: bool) -> list[Job]:
        self.full = False
        gates = closed(poll.known, poll.now)
        if not poll.hinted and not open_lines(poll.heads, gates, poll.now):
            return []
        order = ClaimRequest(
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
            jobs = await self.store.claim(order)
        except BaseException:
            self.lost[order.token] = self.monotonic()
            raise
        self.full = len(jobs) == free and not poll.hinted
        for job in jobs:
            if job.lane is None and job.run_at is not None:
                line = job.channel, job.queue
                self.marks[line] = max(job.run_at, self.marks.get(line, job.run_at))
        return jobs

    def find_strays(self, held: Iterable[tuple[UUID, UUID]]) -> list[UUID]:
        """Which of the jobs that the store says are ours we know nothing of: the answer to their claim was lost."""
        find_strays = [(job_id, token) for job_id, token in held if token in self.lost]
        found = {token for _, token in find_strays}
        self.lost = {
            token: at for token, at in self.lost.items() if token in found or self.monotonic() < at + REMEMBERED
        }
        return [job_id for job_id, _ in find_strays]

    @staticmethod
    def time_to_next(poll: PollResult) -> timedelta | None:
        due_at = next_due(poll.heads, closed(poll.known, poll.now), poll.now)
        return None if due_at is None else due_at - poll.now
