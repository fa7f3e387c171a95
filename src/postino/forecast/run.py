"""Playing the days ahead: the store's own surveys, claims and settles, on a clock that leaps from instant to instant.

Nothing is decided here but how long a job takes and that it works.
"""

import heapq
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from postino.engine.channel_limits import ChannelLimits
from postino.engine.claims import Claims
from postino.forecast.result import (
    A_PERSON,
    ITS_TURN,
    MISSED,
    Forecast,
    ForecastJob,
    GateTimeline,
    UnstartedJob,
    WaitReason,
)
from postino.rules import settlement
from postino.rules.circuit_breaker import CircuitState
from postino.rules.gates import describe_closed_gate
from postino.rules.quota import get_cost
from postino.rules.retry import RetryPolicy
from postino.stores.memory import memory_store
from postino.stores.records import ForecastInput, SettledJob, WorkerInfo
from postino.stores.store import Store
from postino.values.job import Job, Queue, State
from postino.values.outcome import Defer, Done

MOST_JOBS = 100_000
UNKNOWN_DURATION = timedelta(seconds=2)
NEXT_LOOK = timedelta(seconds=1)
VISIBLE = ("post", "publish")  # the steps by which networks publish, as quotas name them
ONCE = RetryPolicy(max_attempts=1)
Progress = Callable[[int, int], None]  # how many of how many have run


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRequest:
    """What somebody wants to know.

    Without workers, with as many as there are; without seconds, as long as the jobs of a channel usually take.
    """

    until_at: datetime
    from_at: datetime | None = None
    channel: str | None = None
    brand: str | None = None
    workers: int | None = None
    slots: int = 200
    seconds_per_job: float | None = None
    give_up_after: float = 21_600.0  # as the setting says: how long a post waits for a network in trouble
    channel_limits: ChannelLimits = field(default_factory=ChannelLimits)
    most: int = MOST_JOBS


@dataclass(slots=True)
class Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


class ForecastWorker:
    """A worker that is only imagined, as far as the store can tell them apart."""

    def __init__(self, number: int, store: Store, slots: int, clock: Clock) -> None:
        self.id = f"simulated {number}"
        self.slots = slots
        began_at = clock.now
        self.claims = Claims(store, lambda: (clock.now - began_at).total_seconds())
        self.running: dict[UUID, Job] = {}

    async def take(self, due: set[UUID]) -> list[Job]:
        """All it can get of what is due now."""
        taken: list[Job] = []
        while due and (free := self.slots - len(self.running)):
            poll = await self.claims.poll(self.id, heartbeat=False)
            low = any(job.queue is Queue.LOW for job in self.running.values())
            claimed = await self.claims.claim(self.id, poll, free, low)
            self.running |= {job.id: job for job in claimed}
            taken += claimed
            due.difference_update(job.id for job in claimed)
            if not claimed and not poll.hinted:
                break
        return taken


class ForecastRun:
    """The days ahead, played once."""

    def __init__(
        self, outlook: ForecastInput, asked: ForecastRequest, progress: Progress, stop: threading.Event
    ) -> None:
        self.outlook = outlook
        self.asked = asked
        self.progress = progress
        self.stop = stop
        self.clock = Clock(outlook.now)
        self.gates = GateTimeline(outlook, asked.until_at)
        self.jobs = {job.id: job for job in outlook.jobs}
        self.ran: dict[UUID, ForecastJob] = {}
        self.missed: dict[UUID, WaitReason] = {}
        self.ends: list[tuple[datetime, UUID]] = []
        self.due: set[UUID] = set()  # and not begun
        self.coming = [(job.run_at, job.id) for job in outlook.jobs if job.run_at and job.state is not State.RUNNING]
        heapq.heapify(self.coming)
        self.hands: list[ForecastWorker] = []
        self.troubled = {breaker.service for breaker in outlook.circuits if breaker.state is not CircuitState.CLOSED}
        self.missable = sorted(self.last_chances(), reverse=True)
        self.instants = instants(outlook, self.gates, self.missable, asked.until_at)

    async def play(self) -> None:
        store = memory_store(self.clock)
        await store.open()
        try:
            await self.begin(store)
            while not self.stop.is_set() and await self.go_on(store):
                self.progress(len(self.ran), len(self.jobs))
        finally:
            await store.close()

    async def begin(self, store: Store) -> None:
        workers = range(self.asked.workers or 1)
        self.hands = [ForecastWorker(number, store, self.asked.slots, self.clock) for number in workers]
        for hands in self.hands:
            await store.register_worker(WorkerInfo(id=hands.id, host="", pid=0))
        held = await store.load_forecast(self.outlook, [hands.id for hands in self.hands])
        by_id = {hands.id: hands for hands in self.hands}
        for job in held:
            by_id[job.claimed_by or ""].running[job.id] = job
            self.start(job, job.claimed_at or self.outlook.now)

    async def go_on(self, store: Store) -> bool:
        """All that happens at this instant, then the leap to the next; False: there is none."""
        await self.settle(store)
        while self.coming and self.coming[0][0] <= self.clock.now:
            self.due.add(heapq.heappop(self.coming)[1])
        for hands in self.hands:
            if self.stop.is_set():
                return False
            for job in await hands.take(self.due):
                if not await self.is_deferred(store, hands, job):
                    self.start(job, self.clock.now)
        await self.miss(store)
        following = self.following()
        if following is None:
            return False
        self.clock.now = following
        return True

    async def is_deferred(self, store: Store, hands: ForecastWorker, job: Job) -> bool:
        """What a visible call would cost is reserved, as every call does; without room the job waits for it."""
        quotas = self.asked.channel_limits.quotas.get(job.channel, ()) if job.id in self.outlook.posts else ()
        step = next((step for step in VISIBLE if any(get_cost(quota, step) for quota in quotas)), None)
        if step is None:
            return False
        costly = [quota for quota in quotas if get_cost(quota, step)]
        gate = await store.reserve_quota(job, step, 1, costly)
        if gate is None:
            return False
        now = self.clock.now
        until_at = gate.until_at or self.asked.until_at
        decided = settlement.settle_job(job, Defer(until_at, describe_closed_gate(gate)), ONCE, now, 0.0)
        await store.settle([SettledJob(hands.running.pop(job.id), decided)])
        self.gates.add(replace(gate, since_at=now))
        heapq.heappush(self.coming, (until_at, job.id))
        return True

    def start(self, job: Job, at: datetime) -> None:
        asked = self.asked.seconds_per_job
        usual = self.outlook.lasted.get(job.channel, UNKNOWN_DURATION)
        lasts = usual if asked is None else timedelta(seconds=asked)
        ended_at = max(at + lasts, self.clock.now)
        heapq.heappush(self.ends, (ended_at, job.id))
        self.ran[job.id] = ForecastJob(
            job_id=job.id,
            type=job.type,
            channel=job.channel,
            account=job.account,
            brand=job.brand,
            queue=job.queue,
            scheduled_at=job.scheduled_at,
            started_at=at,
            ended_at=ended_at,
            waited_for=self.waits_of(self.jobs[job.id], at),
        )

    def waits_of(self, job: Job, started_at: datetime) -> tuple[WaitReason, ...]:
        """What held it from the time it was due, or from now on, until it began."""
        due_at = max(job.run_at or self.outlook.now, self.outlook.now)
        if started_at <= due_at:
            return ()
        gates = self.gates.holding(job, due_at, started_at)
        open_at = max((wait.until_at for wait in gates if wait.until_at), default=due_at)
        return (*gates, ITS_TURN) if open_at < started_at else tuple(gates)

    async def settle(self, store: Store) -> None:
        """What has ended by now worked, and whoever was asked is well."""
        ended: list[UUID] = []
        while self.ends and self.ends[0][0] <= self.clock.now:
            ended.append(heapq.heappop(self.ends)[1])
        jobs = [hands.running.pop(job_id) for hands in self.hands for job_id in ended if job_id in hands.running]
        if jobs:
            await store.settle([SettledJob(job, worked(job, self.clock.now)) for job in jobs])
        for service in {job.channel for job in jobs} & self.troubled & self.asked.channel_limits.circuits.keys():
            breaker = await store.record_response(service, True, self.asked.channel_limits.circuits[service], None)
            if breaker.state is CircuitState.CLOSED:
                self.troubled.discard(service)

    def last_chances(self) -> list[datetime]:
        """When posts that have not begun will not be published any more; a network may be back sooner."""
        patience = timedelta(seconds=self.asked.give_up_after) + NEXT_LOOK
        return [
            until_at or self.jobs[job_id].scheduled_at + patience
            for job_id, until_at in self.outlook.posts.items()
            if until_at is not None or self.jobs[job_id].channel in self.troubled
        ]

    async def miss(self, store: Store) -> None:
        while self.missable and self.missable[-1] <= self.clock.now:
            self.missable.pop()
            while missed := await store.fail_missed_posts(self.asked.give_up_after):
                self.due.difference_update(job.id for job in missed)
                for job in missed:
                    self.missed[job.id] = WaitReason(MISSED, (await store.job(job.id)).last_error or "")

    def following(self) -> datetime | None:
        """The next instant at which anything can change: a run ends, a job is due, a gate opens."""
        while self.instants and self.instants[-1] <= self.clock.now:
            self.instants.pop()
        ahead = [*self.instants[-1:], *(at for at, _ in (*self.ends[:1], *self.coming[:1]))]
        return min((at for at in ahead if at <= self.asked.until_at), default=None)

    def result(self) -> Forecast:
        from_at = self.asked.from_at or self.outlook.now
        ran = [ran for ran in self.ran.values() if ran.ended_at >= from_at]
        ran.sort(key=lambda ran: (ran.started_at, ran.scheduled_at, ran.job_id))
        left = [self.left(job) for job in self.outlook.jobs if job.id not in self.ran]
        left.sort(key=lambda left: (left.scheduled_at, left.job_id))
        gates = [gate for gate in self.gates.all if gate.until_at is None or gate.until_at > from_at]
        return Forecast(
            from_at=from_at,
            until_at=self.asked.until_at,
            ran=tuple(ran),
            left=tuple(left),
            gates=tuple(gates),
            workers=self.asked.workers or 1,
            slots=self.asked.slots,
        )

    def left(self, job: Job) -> UnstartedJob:
        until_at = self.asked.until_at
        gates = self.gates.holding(job, until_at, until_at + timedelta(microseconds=1))
        waits: Sequence[WaitReason] = gates or [ITS_TURN]
        if job.id in self.missed:
            waits = [self.missed[job.id]]
        elif job.state is State.UNCERTAIN and job.run_at is None:
            waits = [A_PERSON]
        return UnstartedJob(
            job_id=job.id,
            type=job.type,
            channel=job.channel,
            account=job.account,
            brand=job.brand,
            queue=job.queue,
            scheduled_at=job.scheduled_at,
            waits_for=tuple(waits),
        )


def worked(job: Job, now: datetime) -> settlement.Settlement:
    """Also what was in doubt: it is looked for, and there."""
    return settlement.settle_job(replace(job, lookup_at=None), Done(), ONCE, now, 0.0)


def instants(
    outlook: ForecastInput, gates: GateTimeline, missable: Sequence[datetime], until_at: datetime
) -> list[datetime]:
    """When something may start that could not before, the last first; what ends meanwhile is not among them."""
    of_jobs = [job.lookup_at for job in outlook.jobs if job.lookup_at is not None]
    of_gates = [gate.until_at for gate in gates.all if gate.until_at is not None]
    every = {*of_jobs, *of_gates, *missable}
    return sorted((at for at in every if outlook.now < at <= until_at), reverse=True)
