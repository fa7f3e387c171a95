"""A worker: polls the queue, claims due jobs for its free slots, and sends heartbeats until it is stopped.

`JobRunner` runs what it claims, `Rescuer` takes over the jobs of dead workers.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from postino import clock
from postino.config import Config, redact_url
from postino.engine.batcher import Batcher
from postino.engine.call import Call
from postino.engine.call_context import CallContext, HttpClientFactory
from postino.engine.channel_limits import ChannelLimits
from postino.engine.circuit_monitor import CircuitMonitor
from postino.engine.claim_trouble import ClaimTrouble
from postino.engine.claims import Claims
from postino.engine.executor import Executor
from postino.engine.handlers import Handler
from postino.engine.heap import freeze_heap
from postino.engine.heartbeat import Heartbeat
from postino.engine.job_ledger import JobLedger
from postino.engine.job_runner import JobRunner
from postino.engine.job_spec import JobSpec
from postino.engine.lease import Lease
from postino.engine.outage_log import OutageLog
from postino.engine.quota_meter import QuotaMeter
from postino.engine.rescue import Rescuer
from postino.engine.retry_policies import load_channel_overrides, load_default_policy
from postino.engine.store_retry import retry_forever
from postino.engine.stored_settings import compare_settings
from postino.engine.threads import Threads
from postino.engine.witness import Witness
from postino.errors import StoreUnreachable
from postino.rules.settlement import print_safely
from postino.rules.time_limits import rank_time_limits
from postino.stores.records import PollResult, WorkerInfo
from postino.stores.store import Store
from postino.values.job import Job, new_id
from postino.wakeups.wakeup import Wakeup

log = structlog.get_logger("postino.worker")
HINTED_REST = 0.02  # seconds until the next poll when the last one found lanes that may be due
MAX_INTENTS_PER_BATCH = 100
POLL_RETRY_DELAY = 0.5
ERROR_RETRY_DELAY = 2.0


class Worker:
    """One worker of a process. `run` returns after `stop`, when the running jobs have ended."""

    def __init__(
        self,
        store: Store,
        wakeup: Wakeup,
        handlers: Mapping[str, Handler],
        config: Config,
        enqueue: Callable[[JobSpec], Awaitable[Job]],
        make_store: Callable[[], Store],
        http: HttpClientFactory,
        channel_limits: ChannelLimits,
        state_dir: Path | None = None,
    ) -> None:
        self.id = str(new_id())
        self.store = store
        self.wakeup = wakeup
        self.settings = settings = config.worker
        self.channel_limits = channel_limits
        default, channels = load_default_policy(config), load_channel_overrides(config)
        types = {name: handler.override for name, handler in handlers.items()}
        self.claims = Claims(
            store, clock.monotonic, rank_time_limits(default, channels, types), settings.lease, handlers
        )
        self.lease = Lease(settings.lease)
        self.heartbeat = Heartbeat(lambda: self.id, make_store, self.lease, settings.heartbeat, settings.stall)
        self.rescuer = Rescuer(store, settings.lease, clock.monotonic, settings.poll)
        self.circuits = CircuitMonitor(store, channel_limits.circuits, self.now, wakeup.notify, channel_limits.networks)
        quotas = QuotaMeter(store, channel_limits.quotas)
        context = CallContext(
            enqueue, http, self.now, clock.uptime, self.lease.may_send, self.circuits, quotas, settings.lease
        )
        self.witness = Witness(
            store, state_dir, is_trusted=config.witness.trust_database, roll_call_seconds=settings.lease
        )
        self.is_publishing = config.is_publishing
        self.may_claim: Callable[[], bool] = lambda: True  # whether this process can run what it claims
        intents = Batcher(self.witness.record_intents, MAX_INTENTS_PER_BATCH)

        def make_call(job: Job) -> Call:
            return Call(JobLedger(store, intents.put, job), context)

        executor = Executor(handlers, default, channels, Threads(), make_call, self.now, clock.random_fraction)
        self.runner = JobRunner(store, wakeup, settings, executor, self.circuits, self.lease, lambda: self.id, self.now)
        self.description = {
            "database": redact_url(config.database_url),
            "types": sorted(handlers),
            "concurrency": settings.concurrency,
        }
        self.clock_skew = timedelta(0)
        self.outage_log = OutageLog(clock.monotonic)
        self.claim_trouble = ClaimTrouble(store, lambda: self.id, clock.monotonic)
        self.next_heartbeat_at = 0.0
        self.stopping = False

    def now(self) -> datetime:
        """Return the database's time, as far as this process knows it."""
        return clock.now() + self.clock_skew

    async def run(self) -> None:
        """Claim and run jobs until stopped, then let running jobs end."""
        await self.start()
        try:
            with freeze_heap():
                while not self.stopping:
                    await self.survive(self.take_turn)
        finally:
            await self.shut_down()

    def stop(self) -> None:
        """Claim nothing more; `run` returns when the running jobs have ended."""
        self.stopping = self.runner.stopping = True
        self.wakeup.notify_local()

    async def stop_when(self, event: asyncio.Event) -> None:
        await event.wait()
        self.stop()

    # Start

    async def start(self) -> None:
        """Register this worker, compare its settings with the stored ones, and check whether it may send."""
        await self.wakeup.listen()
        await retry_forever(self.register)
        await retry_forever(self.compare_settings)
        await retry_forever(self.check_database)
        await retry_forever(self.open_connections)
        self.heartbeat.start()
        log.info("worker.started", worker=self.id, **self.description)

    async def register(self) -> None:
        await self.store.register_worker(
            WorkerInfo(
                id=self.id, host=socket.gethostname(), pid=os.getpid(), types=tuple(sorted(self.claims.types or ()))
            )
        )

    async def compare_settings(self) -> None:
        await compare_settings(self.store, self.channel_limits)

    async def check_database(self) -> None:
        """Check whether this database is the one that this machine has worked with. Nothing is claimed before."""
        if not self.is_publishing:
            log.warning(
                "worker.idle", reason="POSTINO_PUBLISHING is off", next="the worker claims nothing and sends nothing"
            )
        await self.witness.check(await self.store.database_state(), None)

    async def open_connections(self) -> None:
        """Run two queries at once, so that the connections for claims and for settles are open before the first job."""
        await asyncio.gather(self.store.gates(), self.store.gates())

    # Turn

    async def take_turn(self) -> None:
        """Poll the queue, claim jobs for the free slots, and rest if there are none."""
        self.runner.slots.estimate_ahead()
        poll = await self.poll()
        claimed = await self.claim(poll)
        self.runner.start(claimed)
        await self.report_obstacle()
        if not claimed and not self.stopping:
            self.runner.waits_for_room = not self.runner.free
            await self.wakeup.wait(self.choose_rest(poll))

    async def claim(self, poll: PollResult) -> list[Job]:
        free = self.runner.free if self.can_claim() else 0
        return await self.claims.claim(self.id, poll, free, self.runner.slots.has_low_job()) if free else []

    def can_claim(self) -> bool:
        """Return whether this worker may take jobs now."""
        return self.find_obstacle() is None

    def find_obstacle(self) -> str | None:
        """Return why this worker may take no jobs."""
        if not self.is_publishing:
            return "POSTINO_PUBLISHING is off."
        if self.witness.memory is None:
            return "The worker does not know whether this database is a copy or a backup. See `postino database`."
        return None if self.may_claim() else "The worker's vault key is not that of this database."

    async def report_obstacle(self) -> None:
        obstacle = self.find_obstacle()
        await (self.claim_trouble.end() if obstacle is None else self.claim_trouble.record(obstacle))

    async def poll(self) -> PollResult:
        """Return which jobs are due. Reuse the last poll while it is fresh; send a heartbeat when one is due."""
        sent_at, began_at = clock.uptime(), clock.monotonic()
        with_heartbeat = began_at >= self.next_heartbeat_at
        if not with_heartbeat and self.claims.is_poll_fresh(self.runner.free):
            return self.claims.last
        memory = self.witness.memory
        witnesses, services = self.witness.list_remembered(), self.circuits.list_watched()
        poll = await self.claims.poll(self.id, heartbeat=with_heartbeat, witnesses=witnesses, services=services)
        self.outage_log.end()
        self.clock_skew = poll.now - clock.now()
        self.circuits.update(poll.gate_sources, poll.service_circuits, services, began_at)
        self.runner.capped = set(poll.gate_sources.caps) | {breaker.service for breaker in poll.gate_sources.breakers}
        if with_heartbeat:
            self.next_heartbeat_at = clock.monotonic() + self.settings.heartbeat - self.settings.poll / 2
            await self.apply_heartbeat(poll, sent_at)
        await self.witness.check(poll.database, memory)
        await self.rescuer.rescue(poll)
        return poll

    async def apply_heartbeat(self, poll: PollResult, sent_at: float) -> None:
        """Renew the lease; stop or give back jobs, so that this worker runs the jobs that it holds in the store."""
        self.lease.renewed_at = sent_at
        is_known = self.id in poll.heartbeats
        self.runner.drop_revoked(poll.held if is_known else frozenset())
        self.lease.confirm()
        await self.release_jobs_of_lost_claims(poll)
        await self.runner.release(self.runner.slots.take_stuck())
        if not is_known:
            await self.start_over()

    async def release_jobs_of_lost_claims(self, poll: PollResult) -> None:
        """Give back jobs that this worker holds in the store and does not run: the response to their claim was lost."""
        jobs, tokens = [], dict(poll.held)
        for job_id in self.claims.find_jobs_of_lost_claims(poll.held):
            try:
                jobs.append(await self.store.job(job_id))
            except StoreUnreachable:
                raise
            except Exception as error:  # noqa: BLE001 - what is stored of the job cannot be read
                await self.claims.unclaimable.set_aside_job(job_id, error, tokens[job_id])
        # Compare the tokens again: a job may have been given back and claimed by another worker since the poll.
        await self.runner.release([job for job in jobs if job.token in self.claims.lost_claims])

    async def start_over(self) -> None:
        """Register under a new id: other workers have declared this worker dead and taken over its jobs."""
        jobs = len(self.runner.slots.running)
        log.error("worker.replaced", worker=self.id, jobs=jobs, next="the worker continues under a new id")
        self.id = str(new_id())
        await self.register()

    def choose_rest(self, poll: PollResult) -> float:
        """Return how many seconds to wait for a wake-up: until the next regular poll, or the next due job if sooner."""
        free = self.runner.free
        if poll.hinted and free and self.can_claim():
            return HINTED_REST
        due = self.claims.time_to_next(poll)
        longest = self.settings.poll if free else self.settings.heartbeat / 2
        return longest if due is None or not free else min(longest, due.total_seconds())

    async def survive(self, action: Callable[[], Awaitable[object]]) -> None:
        """Run an action; log its error and wait a little if it fails."""
        try:
            await action()
        except StoreUnreachable as error:
            self.outage_log.record(error)
            await asyncio.sleep(POLL_RETRY_DELAY)
        except Exception as error:
            log.exception("worker.error", next=f"the worker continues in {ERROR_RETRY_DELAY} s")
            with suppress(Exception):  # logged with the next error
                await self.claim_trouble.record(f"{type(error).__name__}: {print_safely(error, str)}")
            await asyncio.sleep(ERROR_RETRY_DELAY)

    # Shutdown

    async def shut_down(self) -> None:
        """Give back jobs that have not begun, wait for the others, and give back what is left after `drain` seconds."""
        self.stopping = self.runner.stopping = True
        await self.survive(lambda: self.runner.stop_runs(lambda run: not run.has_lock))
        await self.drain()
        await self.survive(lambda: self.runner.stop_runs(lambda _: True))
        await self.runner.settler.give_up()
        await self.circuits.flush()
        if self.claims.lost_claims:
            self.next_heartbeat_at = 0.0
            await self.survive(self.poll)
        await self.survive(lambda: self.store.unregister_worker(self.id, self.witness.memory))
        await self.heartbeat.stop()
        await self.witness.close()
        log.info("worker.stopped", worker=self.id)

    async def drain(self) -> None:
        """Wait until the running jobs have ended and are written, for at most `drain` seconds; keep the lease."""
        if not self.runner.slots and not self.runner.settler.unwritten:
            return
        log.info("worker.draining", running=len(self.runner.slots.running), seconds=self.settings.drain)
        ended = asyncio.create_task(self.runner.wait_until_ended())
        deadline = asyncio.ensure_future(asyncio.wait([ended], timeout=self.settings.drain))
        while not deadline.done():
            await self.survive(self.poll)
            await asyncio.wait([deadline], timeout=self.settings.poll)
        ended.cancel()
