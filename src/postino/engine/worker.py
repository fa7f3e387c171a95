"""A worker: polls the queue, claims as many due jobs as it has room for, and sends heartbeats until it is stopped.

`JobRunner` runs what it claims, `Rescuer` takes over the jobs of dead workers.
"""

import asyncio
import os
import random
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta

import structlog

from postino.config import Config, redact_url
from postino.engine.batcher import Batcher
from postino.engine.call import Call
from postino.engine.call_context import CallContext, HttpClientFactory
from postino.engine.channel_limits import ChannelLimits
from postino.engine.circuit_monitor import CircuitMonitor
from postino.engine.claims import Claims
from postino.engine.executor import Executor
from postino.engine.handlers import Handler
from postino.engine.heartbeat import Heartbeat
from postino.engine.job_ledger import JobLedger
from postino.engine.job_runner import JobRunner
from postino.engine.job_spec import JobSpec
from postino.engine.lease import Lease, uptime
from postino.engine.outage_log import OutageLog
from postino.engine.quota_meter import QuotaMeter
from postino.engine.rescue import Rescuer
from postino.engine.retry_policies import load_channel_overrides, load_default_policy
from postino.engine.store_retry import retry_forever
from postino.engine.threads import Threads
from postino.errors import StoreUnreachable
from postino.rules.time_limits import rank_time_limits
from postino.stores.records import PollResult, WorkerInfo
from postino.stores.store import Store
from postino.values.job import Job, new_id
from postino.wakeups.wakeup import Wakeup

log = structlog.get_logger("postino.worker")
HINTED_REST = 0.02  # seconds until the next poll when the last one found lanes that may be due
MAX_INTENTS_PER_BATCH = 100
STORE_RETRY_DELAY = 0.5
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
    ) -> None:
        self.id = str(new_id())
        self.store = store
        self.wakeup = wakeup
        self.settings = settings = config.worker
        self.channel_limits = channel_limits
        default, channels = load_default_policy(config), load_channel_overrides(config)
        types = {name: handler.override for name, handler in handlers.items()}
        self.claims = Claims(store, time.monotonic, rank_time_limits(default, channels, types), settings.lease)
        self.lease = Lease(settings.lease)
        self.heartbeat = Heartbeat(lambda: self.id, make_store, self.lease, settings.heartbeat, settings.stall)
        self.rescuer = Rescuer(store, settings.lease, time.monotonic, settings.poll)
        self.circuits = CircuitMonitor(store, channel_limits.circuits, self.now, wakeup.notify)
        quotas = QuotaMeter(store, channel_limits.quotas)
        context = CallContext(
            enqueue, http, self.now, uptime, self.lease.may_send, self.circuits, quotas, settings.lease
        )
        intents = Batcher(store.record_intents, MAX_INTENTS_PER_BATCH)

        def make_call(job: Job) -> Call:
            return Call(JobLedger(store, intents.put, job), context)

        executor = Executor(handlers, default, channels, Threads(), make_call, self.now, random.random)
        self.runner = JobRunner(store, wakeup, settings, executor, self.circuits, self.lease, lambda: self.id, self.now)
        self.description = {
            "database": redact_url(config.database_url),
            "types": sorted(handlers),
            "concurrency": settings.concurrency,
        }
        self.clock_skew = timedelta(0)
        self.outage_log = OutageLog(time.monotonic)
        self.next_heartbeat_at = 0.0
        self.stopping = False

    def now(self) -> datetime:
        """Return the database's time, as far as this process knows it."""
        return datetime.now(UTC) + self.clock_skew

    async def run(self) -> None:
        """Claim and run jobs until stopped, then let running jobs end."""
        await self.start()
        try:
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
        """Register this worker, store the limits of the settings, and check whether the database was restored."""
        await self.wakeup.listen()
        await retry_forever(self.register)
        await retry_forever(self.store_limits)
        await retry_forever(lambda: self.detect_restore(after_outage=False))
        await retry_forever(self.open_connections)
        self.heartbeat.start()
        log.info("worker.started", worker=self.id, **self.description)

    async def register(self) -> None:
        await self.store.register_worker(WorkerInfo(id=self.id, host=socket.gethostname(), pid=os.getpid()))

    async def store_limits(self) -> None:
        await self.store.set_default_caps(self.channel_limits.caps)
        await self.store.set_configured_blackouts(self.channel_limits.blackouts)

    async def detect_restore(self, *, after_outage: bool) -> None:
        """Hold due posts if this database may be a copy or a restored backup: they may have been published."""
        for job in await self.store.detect_restore(after_outage=after_outage):
            log.error("job.held", job=str(job.id), account=job.account, next="a person says whether it was published")

    async def open_connections(self) -> None:
        """Run two queries at once, so that the connections for claims and for settles are open before the first job."""
        await asyncio.gather(self.store.gates(), self.store.gates())

    # Turn

    async def take_turn(self) -> None:
        """Poll the queue, claim what there is room for, and rest if nothing was claimed."""
        self.runner.slots.estimate_ahead()
        poll = await self.poll()
        claimed = await self.claim(poll)
        self.runner.start(claimed)
        if not claimed and not self.stopping:
            self.runner.waits_for_room = not self.runner.free
            await self.wakeup.wait(self.choose_rest(poll))

    async def claim(self, poll: PollResult) -> list[Job]:
        free = self.runner.free
        return await self.claims.claim(self.id, poll, free, self.runner.slots.has_low_job()) if free else []

    async def poll(self) -> PollResult:
        """Return what is due where. Reuse the last poll while it is fresh; send a heartbeat when one is due."""
        sent_at = uptime()
        with_heartbeat = time.monotonic() >= self.next_heartbeat_at
        if not with_heartbeat and self.claims.is_poll_fresh(self.runner.free):
            return self.claims.last
        if self.outage_log.has_outage():
            await self.detect_restore(after_outage=True)  # another server may have taken over
        poll = await self.claims.poll(self.id, heartbeat=with_heartbeat)
        self.outage_log.end()
        self.clock_skew = poll.now - datetime.now(UTC)
        self.circuits.update(poll.gate_sources, poll.now)
        self.runner.capped = set(poll.gate_sources.caps) | {breaker.service for breaker in poll.gate_sources.breakers}
        if with_heartbeat:
            self.next_heartbeat_at = time.monotonic() + self.settings.heartbeat - self.settings.poll / 2
            await self.apply_heartbeat(poll, sent_at)
        await self.rescuer.rescue(poll)
        return poll

    async def apply_heartbeat(self, poll: PollResult, sent_at: float) -> None:
        """Renew the lease, and stop or give back jobs so that this worker and the store agree on who holds what."""
        self.lease.renewed_at = sent_at
        is_known = self.id in poll.heartbeats
        self.runner.drop_revoked(poll.held if is_known else frozenset())
        self.lease.confirm()
        await self.release_strays(poll)
        await self.runner.release(self.runner.slots.take_stuck())
        if not is_known:
            await self.start_over()

    async def release_strays(self, poll: PollResult) -> None:
        """Give back jobs that the store says this worker holds, and whose claim was never answered."""
        strays = [await self.store.job(job_id) for job_id in self.claims.find_strays(poll.held)]
        # Read again: a job that was given back since the poll is no stray.
        await self.runner.release([job for job in strays if job.token in self.claims.lost])

    async def start_over(self) -> None:
        """Register under a new id: other workers took this one for dead and have its jobs."""
        jobs = len(self.runner.slots.running)
        log.error("worker.replaced", worker=self.id, jobs=jobs, next="it goes on under a new id")
        self.id = str(new_id())
        await self.register()

    def choose_rest(self, poll: PollResult) -> float:
        """Return how many seconds to wait for a wake-up: until the safety poll, or the next due job if sooner."""
        free = self.runner.free
        if poll.hinted and free:
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
            await asyncio.sleep(STORE_RETRY_DELAY)
        except Exception:
            log.exception("worker.error", next=f"it goes on in {ERROR_RETRY_DELAY} s")
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
        if self.claims.lost:
            self.next_heartbeat_at = 0.0
            await self.survive(self.poll)
        await self.survive(lambda: self.store.unregister_worker(self.id))
        await self.heartbeat.stop()
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
