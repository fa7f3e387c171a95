"""Runs the jobs that a worker has claimed: fills its slots, settles jobs, and gives back jobs that it cannot finish."""

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from postino import clock
from postino.config import WorkerConfig
from postino.engine.circuit_monitor import CircuitMonitor
from postino.engine.executor import GRACE, Executor
from postino.engine.lease import Lease
from postino.engine.settler import Settler
from postino.engine.slots import Run, Slots
from postino.engine.store_retry import retry_forever
from postino.rules import settlement
from postino.rules.gates import describe_closed_gate
from postino.stores.crash_points import crash_point
from postino.stores.records import AttemptError, SettledJob
from postino.stores.store import Store
from postino.values.job import Job
from postino.wakeups.wakeup import Wakeup

log = structlog.get_logger("postino.worker")
MAX_UNWRITTEN = 4  # settled jobs that wait to be written, per slot, before claiming pauses


class JobRunner:
    def __init__(
        self,
        store: Store,
        wakeup: Wakeup,
        settings: WorkerConfig,
        executor: Executor,
        circuits: CircuitMonitor,
        lease: Lease,
        worker_id: Callable[[], str],
        now: Callable[[], datetime],
    ) -> None:
        self.store = store
        self.wakeup = wakeup
        self.settings = settings
        self.executor = executor
        self.circuits = circuits
        self.lease = lease
        self.worker_id = worker_id
        self.now = now
        self.slots = Slots(settings.concurrency, clock.monotonic)
        self.settler = Settler(store, executor.settle_unwritable, self.wake_for_settled_jobs)
        self.capped: Collection[str] = ()  # channels with a cap, as of the last poll
        self.alone = asyncio.Lock()
        self.waits_for_room = False
        self.stopping = False

    @property
    def free(self) -> int:
        """Return how many more jobs to claim: none while too many settled jobs wait to be written."""
        if self.settler.unwritten > MAX_UNWRITTEN * self.settings.concurrency:
            return 0
        return self.slots.count_claimable(self.executor.count_abandoned())

    def start(self, jobs: list[Job]) -> None:
        """Start these jobs as soon as they get a slot."""
        self.slots.ready.extend(jobs)
        self.fill_slots()

    def fill_slots(self) -> None:
        """Start waiting jobs while there are free slots."""
        abandoned = self.executor.count_abandoned()
        while not self.stopping and (job := self.slots.take_next(abandoned)) is not None:
            run = Run(job, clock.monotonic())
            self.slots.running.add(run)
            run.task = asyncio.get_running_loop().create_task(self.run(run))

    async def run(self, run: Run) -> None:
        """Run a job and pass its settlement to the settler."""
        run.entered = True
        try:
            settled_job = await (self.execute_alone(run) if run.job.rescues else self.execute(run))
        except BaseException as error:
            if run.stopped:
                raise
            settled_job = self.executor.settle_error(run.current_job, error)
        finally:
            self.slots.end(run)
            self.fill_slots()
            self.wake_for_room()
        self.settler.put(settled_job)

    async def execute(self, run: Run) -> SettledJob:
        if self.lease.is_expired():
            await self.lease.wait_until_renewed()
        run.has_lock = True
        if gate := self.circuits.find_closed_gate(run.job.channel):
            return self.executor.settle_gated(run.job, describe_closed_gate(gate))
        crash_point("handler.before")
        settled_job = await self.executor.execute(run.job, run.attach_call)
        crash_point("handler.after")
        if run.call is not None and not run.call.has_called_service and run.job.type in self.executor.handlers:
            self.circuits.record_settled_job(settled_job, failure_counts=not run.call.has_fetched_media)
        return settled_job

    async def execute_alone(self, run: Run) -> SettledJob:
        """Run a job whose worker died before, one at a time, so that a second death shows which job causes it.

        Its turn may come long after its claim: gates that closed in the meantime hold it.
        """
        async with self.alone:
            if gate := await retry_forever(lambda: self.store.find_blocking_gate(run.job)):
                return self.executor.settle_gated(run.job, describe_closed_gate(gate))
            await retry_forever(lambda: self.store.mark_suspect(self.worker_id(), run.job.id))
            return await self.execute(run)

    def wake_for_room(self) -> None:
        """End the worker's rest if it waits for a free slot."""
        if self.waits_for_room and self.free:
            self.waits_for_room = False
            self.wakeup.notify_local()

    def wake_for_settled_jobs(self, settled_jobs: list[SettledJob]) -> None:
        """Wake a worker, this one or others, if another job may start now."""
        self.wake_for_room()
        if any(self.unblocks_jobs(settled_job) for settled_job in settled_jobs):
            self.wakeup.notify_local() if self.free else self.wakeup.notify()

    def unblocks_jobs(self, settled_job: SettledJob) -> bool:
        """Return whether this settlement lets a job start: the next of its lane or capped channel, or itself."""
        job, retry_at = settled_job.job, settled_job.settlement.run_at
        if job.account is not None or job.brand is not None or job.channel in self.capped:
            return True
        return retry_at is not None and retry_at <= self.now() + timedelta(seconds=self.settings.poll)

    def drop_revoked(self, held: Collection[tuple[UUID, UUID | None]]) -> None:
        """Stop jobs that other workers have taken over: the store would refuse their settlements."""
        revoked = [job for job in self.slots.jobs() if (job.id, job.token) not in held]
        for job in revoked:
            log.warning(
                "job.revoked",
                job=str(job.id),
                type=job.type,
                next="another worker has the job, or a person cancelled it",
            )
        identities = set(map(id, revoked))
        self.slots.take_out(lambda job: id(job) in identities)
        for run in [run for run in self.slots.running if id(run.job) in identities]:
            run.stop()
            if not run.entered:
                self.slots.end(run)
        self.fill_slots()

    async def stop_runs(self, which: Callable[[Run], bool]) -> None:
        """Cancel these runs, and give back their jobs and all that wait for a slot."""
        waiting = self.slots.take_out(lambda _: True)
        runs = [run for run in self.slots.running if which(run)]
        for run in runs:
            run.stop()
        if runs:
            # With a limit: a handler may ignore its cancellation.
            await asyncio.wait([run.task for run in runs], timeout=GRACE)
        self.slots.running.difference_update(runs)
        unended = [run.current_job for run in runs if run.task.cancelled() or not run.task.done()]
        await self.release([*waiting, *unended])

    async def release(self, jobs: list[Job]) -> None:
        """Give claimed jobs back, so that any worker may claim them."""
        if not jobs:
            return
        failure = AttemptError(None, "The worker stopped before the job ended.")
        try:
            await self.store.settle([SettledJob(job, settlement.release_job(job, self.now()), failure) for job in jobs])
        except BaseException:
            self.slots.ready.extend(jobs)  # still claimed by this worker
            raise
        for job in jobs:
            log.warning("job.released", job=str(job.id), type=job.type, next="another worker starts it again")

    async def wait_until_ended(self) -> None:
        """Wait until all runs have ended and their settlements are written."""
        while self.slots.running:
            await asyncio.wait([run.task for run in self.slots.running])
        await self.settler.flush()
