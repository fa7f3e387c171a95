"""Simulates the queue with the real polls, claims and settles, on a clock that jumps from event to event.

It decides only how long a job takes and that it succeeds. All else is decided by the rules, as in a worker.
"""

import heapq
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from postino.engine.claims import Claims
from postino.forecast.gate_timeline import GateTimeline
from postino.forecast.request import ForecastRequest
from postino.forecast.result import (
    MISSED,
    NEEDS_PERSON,
    WAITS_FOR_TURN,
    Forecast,
    StartedJob,
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
from postino.values.service import get_network

DEFAULT_DURATION = timedelta(seconds=2)  # of jobs on a channel without history
CHECK_DELAY = timedelta(seconds=1)
VISIBLE_STEPS = ("post", "publish")  # the names that networks give to their visible calls
ONE_ATTEMPT = RetryPolicy(max_attempts=1)
Progress = Callable[[int, int], None]  # called with the number of jobs that started, and of all jobs


@dataclass(slots=True)
class ForecastClock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


class ForecastWorker:
    """A worker of a forecast: it claims by the real rules and runs nothing."""

    def __init__(self, number: int, store: Store, slots: int, clock: ForecastClock) -> None:
        self.id = f"forecast {number}"
        self.slots = slots
        started_at = clock.now
        self.claims = Claims(store, lambda: (clock.now - started_at).total_seconds())
        self.running: dict[UUID, Job] = {}

    async def claim(self, due: set[UUID]) -> list[Job]:
        """Claim as many due jobs as there are free slots, and take them out of `due`."""
        jobs: list[Job] = []
        while due and (free := self.slots - len(self.running)):
            poll = await self.claims.poll(self.id, heartbeat=False)
            low_is_running = any(job.queue is Queue.LOW for job in self.running.values())
            claimed = await self.claims.claim(self.id, poll, free, low_is_running)
            self.running |= {job.id: job for job in claimed}
            jobs += claimed
            due.difference_update(job.id for job in claimed)
            if not claimed and not poll.hinted:
                break
        return jobs


class ForecastRun:
    """One run of the queue from now to the end of the forecast."""

    def __init__(
        self, queue: ForecastInput, request: ForecastRequest, progress: Progress, stop: threading.Event
    ) -> None:
        self.queue = queue
        self.request = request
        self.progress = progress
        self.stop = stop
        self.clock = ForecastClock(queue.now)
        self.gates = GateTimeline(queue, request.until_at)
        self.jobs = {job.id: job for job in queue.jobs}
        self.started_jobs: dict[UUID, StartedJob] = {}
        self.missed: dict[UUID, WaitReason] = {}
        self.ends: list[tuple[datetime, UUID]] = []  # heap of running jobs
        self.due: set[UUID] = set()  # due and not started
        self.coming = [(job.run_at, job.id) for job in queue.jobs if job.run_at and job.state is not State.RUNNING]
        heapq.heapify(self.coming)
        self.workers: list[ForecastWorker] = []
        self.failing = {breaker.service for breaker in queue.circuits if breaker.state is not CircuitState.CLOSED}
        self.deadlines = sorted(self.list_deadlines(), reverse=True)
        self.instants = list_instants(queue, self.gates, self.deadlines, request.until_at)

    async def play(self) -> None:
        """Run until the end of the forecast, or until `stop` is set by another thread."""
        store = memory_store(self.clock)
        await store.open()
        try:
            await self.load(store)
            while not self.stop.is_set() and await self.take_turn(store):
                self.progress(len(self.started_jobs), len(self.jobs))
        finally:
            await store.close()

    async def load(self, store: Store) -> None:
        """Fill the store with a copy of the queue, and give running jobs to the workers."""
        numbers = range(self.request.workers or 1)
        self.workers = [ForecastWorker(number, store, self.request.slots, self.clock) for number in numbers]
        for worker in self.workers:
            await store.register_worker(WorkerInfo(id=worker.id, host="", pid=0))
        running = await store.load_forecast(self.queue, [worker.id for worker in self.workers])
        by_id = {worker.id: worker for worker in self.workers}
        for job in running:
            by_id[job.claimed_by or ""].running[job.id] = job
            self.start(job, job.claimed_at or self.queue.now)

    async def take_turn(self, store: Store) -> bool:
        """Do all that happens at this instant and move the clock to the next. Return False if there is none."""
        await self.settle_ended(store)
        while self.coming and self.coming[0][0] <= self.clock.now:
            self.due.add(heapq.heappop(self.coming)[1])
        for worker in self.workers:
            if self.stop.is_set():
                return False
            for job in await worker.claim(self.due):
                if not await self.defer_for_quota(store, worker, job):
                    self.start(job, self.clock.now)
        await self.fail_missed(store)
        next_at = self.find_next_instant()
        if next_at is None:
            return False
        self.clock.now = next_at
        return True

    async def defer_for_quota(self, store: Store, worker: ForecastWorker, job: Job) -> bool:
        """Reserve what the job's visible call costs; defer the job and return True if a quota is used up."""
        quotas = self.request.channel_limits.quotas.get(job.channel, ()) if job.id in self.queue.posts else ()
        step = next((step for step in VISIBLE_STEPS if any(get_cost(quota, step) for quota in quotas)), None)
        if step is None:
            return False
        gate = await store.reserve_quota(job, step, 1, [quota for quota in quotas if get_cost(quota, step)])
        if gate is None:
            return False
        now = self.clock.now
        until_at = gate.until_at or self.request.until_at
        deferral = settlement.settle_job(job, Defer(until_at, describe_closed_gate(gate)), ONE_ATTEMPT, now, 0.0)
        await store.settle([SettledJob(worker.running.pop(job.id), deferral)])
        self.gates.add(replace(gate, since_at=now))
        heapq.heappush(self.coming, (until_at, job.id))
        return True

    def start(self, job: Job, at: datetime) -> None:
        seconds = self.request.seconds_per_job
        usual = self.queue.lasted.get(job.channel, DEFAULT_DURATION)
        duration = usual if seconds is None else timedelta(seconds=seconds)
        ended_at = max(at + duration, self.clock.now)
        heapq.heappush(self.ends, (ended_at, job.id))
        self.started_jobs[job.id] = StartedJob(
            job_id=job.id,
            type=job.type,
            channel=job.channel,
            account=job.account,
            brand=job.brand,
            queue=job.queue,
            scheduled_at=job.scheduled_at,
            started_at=at,
            ended_at=ended_at,
            waited_for=self.list_waits(self.jobs[job.id], at),
        )

    def list_waits(self, job: Job, started_at: datetime) -> tuple[WaitReason, ...]:
        """Return what delayed a job from the time it was due, or from now, until it started."""
        due_at = max(job.run_at or self.queue.now, self.queue.now)
        if started_at <= due_at:
            return ()
        gates = self.gates.find_blocking(job, due_at, started_at)
        open_at = max((wait.until_at for wait in gates if wait.until_at), default=due_at)
        return (*gates, WAITS_FOR_TURN) if open_at < started_at else tuple(gates)

    async def settle_ended(self, store: Store) -> None:
        """Complete the jobs that have ended by now, and count their services as healthy."""
        ended: list[UUID] = []
        while self.ends and self.ends[0][0] <= self.clock.now:
            ended.append(heapq.heappop(self.ends)[1])
        jobs = [worker.running.pop(job_id) for worker in self.workers for job_id in ended if job_id in worker.running]
        if jobs:
            await store.settle([SettledJob(job, complete(job, self.clock.now)) for job in jobs])
        policies = self.request.channel_limits.circuits
        for service in {service for job in jobs for service in self.list_services(job)} & self.failing:
            if (policy := policies.get(get_network(service))) is None:
                continue
            breaker = await store.record_response(service, True, policy, None)
            if breaker.state is CircuitState.CLOSED:
                self.failing.discard(service)

    def list_deadlines(self) -> list[datetime]:
        """Return the times after which posts that have not started are given up."""
        patience = timedelta(seconds=self.request.give_up_after) + CHECK_DELAY
        return [
            until_at or self.jobs[job_id].scheduled_at + patience
            for job_id, until_at in self.queue.posts.items()
            if until_at is not None or self.failing.intersection(self.list_services(self.jobs[job_id]))
        ]

    def list_services(self, job: Job) -> list[str]:
        """Return the services whose circuits hold this job: its channel, and that of its account."""
        service = self.queue.services.get(job.account or "")
        return [job.channel] if service is None else [job.channel, service]

    async def fail_missed(self, store: Store) -> None:
        """Fail the posts whose deadline has passed."""
        while self.deadlines and self.deadlines[-1] <= self.clock.now:
            self.deadlines.pop()
            while missed := await store.fail_missed_posts(self.request.give_up_after):
                self.due.difference_update(job.id for job in missed)
                for job in missed:
                    self.missed[job.id] = WaitReason(MISSED, (await store.job(job.id)).last_error or "")

    def find_next_instant(self) -> datetime | None:
        """Return the next time at which anything changes: a job ends or becomes due, or a gate opens."""
        while self.instants and self.instants[-1] <= self.clock.now:
            self.instants.pop()
        candidates = [*self.instants[-1:], *(at for at, _ in (*self.ends[:1], *self.coming[:1]))]
        return min((at for at in candidates if at <= self.request.until_at), default=None)

    def result(self) -> Forecast:
        from_at = self.request.from_at or self.queue.now
        started = [job for job in self.started_jobs.values() if job.ended_at >= from_at]
        started.sort(key=lambda job: (job.started_at, job.scheduled_at, job.job_id))
        unstarted = [self.describe_unstarted(job) for job in self.queue.jobs if job.id not in self.started_jobs]
        unstarted.sort(key=lambda job: (job.scheduled_at, job.job_id))
        gates = [gate for gate in self.gates.all if gate.until_at is None or gate.until_at > from_at]
        return Forecast(
            from_at=from_at,
            until_at=self.request.until_at,
            started_jobs=tuple(started),
            unstarted_jobs=tuple(unstarted),
            gates=tuple(gates),
            workers=self.request.workers or 1,
            slots=self.request.slots,
        )

    def describe_unstarted(self, job: Job) -> UnstartedJob:
        until_at = self.request.until_at
        gates = self.gates.find_blocking(job, until_at, until_at + timedelta(microseconds=1))
        waits: Sequence[WaitReason] = gates or [WAITS_FOR_TURN]
        if job.id in self.missed:
            waits = [self.missed[job.id]]
        elif job.state is State.UNCERTAIN and job.run_at is None:
            waits = [NEEDS_PERSON]
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


def complete(job: Job, now: datetime) -> settlement.Settlement:
    """Return the settlement of a success. A job in doubt succeeds too: its lookup finds the post."""
    return settlement.settle_job(replace(job, lookup_at=None), Done(), ONE_ATTEMPT, now, 0.0)


def list_instants(
    queue: ForecastInput, gates: GateTimeline, deadlines: Sequence[datetime], until_at: datetime
) -> list[datetime]:
    """Return the known times at which a job may start that could not before, the last first."""
    lookups = [job.lookup_at for job in queue.jobs if job.lookup_at is not None]
    openings = [gate.until_at for gate in gates.all if gate.until_at is not None]
    return sorted((at for at in {*lookups, *openings, *deadlines} if queue.now < at <= until_at), reverse=True)
