"""Polls for due jobs and claims them. Remembers where the last claims ended; runs no jobs."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from postino.engine.unclaimable import UnclaimableJobs
from postino.errors import StoreUnreachable
from postino.rules.claim_order import find_next_due_time, list_open_sources
from postino.rules.gates import compute_closed_gates
from postino.rules.time_limits import TimeLimit
from postino.stores.records import ClaimRequest, PollResult
from postino.stores.store import Store
from postino.values.job import Job, Queue, new_id

SWEEP_INTERVAL_FACTOR = 100  # the interval between sweeps is at least this many times the duration of a sweep
FRESH = 0.05  # seconds for which one poll serves further claims, as long as they come back full
LOST_CLAIM_MEMORY = 600.0  # seconds, far longer than a statement may take
MAX_ISOLATIONS = 10  # per claim
MIN_SWEEP_INTERVAL, MAX_SWEEP_INTERVAL = 1.0, 10.0  # seconds


class Claims:
    """Remembers where the last claims of each channel, type and queue ended, and continues from there.

    All jobs without a lane before this mark are already claimed; lanes have no marks. Skipping them avoids rereading
    dead index entries, which PostgreSQL keeps while a long transaction is open. Jobs that commit late appear before the
    mark. A sweep, a poll without marks, finds them: every second, or less often where sweeps have become slow, but at
    least every ten seconds.
    """

    def __init__(
        self,
        store: Store,
        monotonic: Callable[[], float],
        limits: Sequence[TimeLimit] = (),
        grace: float = 0.0,
        types: Collection[str] | None = None,
    ) -> None:
        self.store = store
        self.types = types
        self.unclaimable = UnclaimableJobs(store, types or ())
        self.monotonic = monotonic
        self.limits = limits
        self.grace = grace
        self.marks: dict[tuple[str, str, Queue], datetime] = {}
        self.sweep_at = 0.0
        self.last: PollResult
        self.polled_at = -FRESH  # never fresh before the first poll, so `last` is set
        self.full = False  # the last claim returned as many jobs as there was room for
        self.lost_claims: dict[UUID, float] = {}  # by token: failed claims, which may hold jobs

    def is_poll_fresh(self, free: int) -> bool:
        """Return whether the next claim can use the last poll: no slot is free, or the last claim was full."""
        return (self.full or not free) and self.monotonic() < self.polled_at + FRESH

    async def poll(
        self, worker: str, *, heartbeat: bool, witnesses: Collection[str] = (), services: Collection[str] = ()
    ) -> PollResult:
        """Ask the store what is due, and sweep if it is time to."""
        started = self.monotonic()
        sweeping = started >= self.sweep_at
        marks = {} if sweeping else self.marks
        ask = partial(
            self.store.poll,
            worker,
            heartbeat=heartbeat,
            marks=marks,
            witnesses=witnesses,
            services=services,
            types=self.types,
        )
        try:
            poll = await ask()
        except StoreUnreachable:
            raise
        except Exception:  # raised again if no job causes it
            if not await self.unclaimable.set_aside():
                raise
            poll = await ask()
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
        jobs = await self.claim_around_culprits(request)
        self.full = len(jobs) == free and not poll.hinted
        for job in jobs:
            if job.lane is None and job.run_at is not None:
                source = job.channel, job.type, job.queue
                self.marks[source] = max(job.run_at, self.marks.get(source, job.run_at))
        return jobs

    async def claim_around_culprits(self, request: ClaimRequest) -> list[Job]:
        """Claim; if the claim fails because of some jobs, set them aside and claim the others."""
        for _ in range(MAX_ISOLATIONS):
            try:
                return await self.try_claim(request)
            except StoreUnreachable:
                raise
            except Exception:  # raised again if no job causes it
                if not await self.unclaimable.set_aside(request.token):
                    raise
            request = replace(request, token=new_id())
        return await self.try_claim(request)

    async def try_claim(self, request: ClaimRequest) -> list[Job]:
        try:
            return await self.store.claim(request)
        except BaseException:
            self.lost_claims[request.token] = self.monotonic()
            raise

    def find_jobs_of_lost_claims(self, held: Iterable[tuple[UUID, UUID]]) -> list[UUID]:
        """Return the ids of the jobs that this worker holds because of a claim that failed; forget old claims."""
        held_by_lost = [(job_id, token) for job_id, token in held if token in self.lost_claims]
        tokens = {token for _, token in held_by_lost}
        self.lost_claims = {
            token: at
            for token, at in self.lost_claims.items()
            if token in tokens or self.monotonic() < at + LOST_CLAIM_MEMORY
        }
        return [job_id for job_id, _ in held_by_lost]

    @staticmethod
    def time_to_next(poll: PollResult) -> timedelta | None:
        """Return how long it takes until the next job is due."""
        due_at = find_next_due_time(poll.heads, compute_closed_gates(poll.gate_sources, poll.now), poll.now)
        return None if due_at is None else due_at - poll.now
