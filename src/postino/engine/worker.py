"""A worker: looks for due jobs, takes as many as it has room for, runs them, and writes what became of them."""

import asyncio
import os
import random
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta

import structlog

from postino.config import Config, without_secrets
from postino.engine.batcher import Batcher
from postino.engine.call import Call, CallContext, HttpClientFactory
from postino.engine.channel_limits import ChannelLimits
from postino.engine.circuits import CircuitMonitor
from postino.engine.claims import Claims
from postino.engine.executor import GRACE, Executor
from postino.engine.handlers import Handler
from postino.engine.heartbeat import Heartbeat, uptime
from postino.engine.job_spec import JobSpec
from postino.engine.ledger import JobLedger, intending
from postino.engine.outage_log import OutageLog
from postino.engine.quota_meter import QuotaMeter
from postino.engine.rescue import Rescuer
from postino.engine.retry_policies import channel_overrides, default_policy, time_limits
from postino.engine.settler import Settler
from postino.engine.slots import Run, Slots
from postino.engine.threads import Threads
from postino.errors import StoreUnreachable
from postino.rules import settlement
from postino.rules.gates import told_of_gate
from postino.stores.crash_points import crash_point
from postino.stores.records import AttemptError, PollResult, SettledJob, WorkerInfo
from postino.stores.store import Store
from postino.values.job import Job, new_id
from postino.wakeups.wakeup import Wakeup

log = structlog.get_logger("postino.worker")
UNWRITTEN = 4
FOLDED = 0.02
MOST_INTENTS = 100
STORE_AGAIN = 0.5
TROUBLE_AGAIN = 2.0


class Worker:
    def __init__(
        self,
        store: Store,
        wakeup: Wakeup,
        handlers: Mapping[str, Handler],
        config: Config,
        enqueue: Callable[[JobSpec], Awaitable[Job]],
        make_store: Callable[[], Store],
        door: HttpClientFactory,
        channel_limits: ChannelLimits,
    ) -> None:
        self.store = store
        self.channel_limits = channel_limits
        self.wakeup = wakeup
        self.settings = config.worker
        self.id = str(new_id())
        default, channels = default_policy(config), channel_overrides(config)
        types = {name: handler.override for name, handler in handlers.items()}
        self.claims = Claims(store, time.monotonic, time_limits(default, channels, types), self.settings.lease)
        self.heartbeat_thread = Heartbeat(
            lambda: self.id, make_store, self.settings.heartbeat, self.settings.stall, uptime
        )
        self.observer = Rescuer(store, self.settings.lease, time.monotonic, self.settings.poll)
        self.circuits = CircuitMonitor(store, channel_limits.circuits, self.now, wakeup.tell)
        meter = QuotaMeter(store, channel_limits.quotas, self.circuits)
        reach = CallContext(enqueue, door, self.now, uptime, self.may_send, self.circuits, meter, self.settings.lease)
        intents = Batcher(intending(store), MOST_INTENTS)
        self.executor = Executor(
            handlers,
            default,
            channels,
            Threads(),
            lambda job: Call(JobLedger(store, intents.put, job), reach),
            self.now,
            random.random,
        )
        self.settler = Settler(store, self.executor.unwritable, self.written)
        self.slots = Slots(self.settings.concurrency, time.monotonic)
        self.about = {
            "database": without_secrets(config.database_url),
            "types": sorted(handlers),
            "concurrency": self.settings.concurrency,
        }
        self.alone = asyncio.Lock()
        self.heard = asyncio.Event()  # what the last beat was answered
        self.waits_for_room = False
        self.skew = timedelta(0)
        self.capped: set[str] = set()
        self.outage = OutageLog(time.monotonic)
        self.next_beat = 0.0
        self.stopping = False

    @property
    def free(self) -> int:
        """Room for more jobs. What has ended takes none, unless writing it down has fallen far behind."""
        if self.settler.unwritten > UNWRITTEN * self.settings.concurrency:
            return 0
        return self.slots.wanted(self.executor.still_running())

    def now(self) -> datetime:
        """The database's time, as far as this process knows it."""
        return datetime.now(UTC) + self.skew

    async def run(self) -> None:
        """Works until told to stop, then lets running jobs end."""
        self.loop = asyncio.get_running_loop()
        await self.wakeup.listen()
        await self.until_done(self.register)
        await self.until_done(self.state_terms)
        await self.until_done(lambda: self.awaken(after_outage=False))
        await self.until_done(self.warm_up)
        self.heartbeat_thread.start()
        log.info("worker.started", worker=self.id, **self.about)
        try:
            while not self.stopping:
                await self.patiently(self.turn)
        finally:
            await self.drain()
            await self.heartbeat_thread.stop()
        log.info("worker.stopped", worker=self.id)

    def stop(self) -> None:
        """No new claims; `run` returns when the running jobs have ended."""
        self.stopping = True
        self.wakeup.nudge()

    async def stop_when(self, told: asyncio.Event) -> None:
        await told.wait()
        self.stop()

    async def turn(self) -> None:
        """One look, one claim, and a rest if there was nothing to take."""
        self.slots.count()
        poll = await self.look()
        free = self.free
        claimed = await self.claims.claim(self.id, poll, free, self.slots.low_is_running()) if free else []
        self.slots.ready.extend(claimed)
        self.start_next()
        if not claimed and not self.stopping:
            self.waits_for_room = not free
            await self.wakeup.wait(self.rest(poll))

    async def look(self) -> PollResult:
        before = uptime()
        heartbeat = time.monotonic() >= self.next_beat
        if not heartbeat and self.claims.still_serves(self.free):
            return self.claims.last
        if self.outage.lasts():
            await self.awaken(after_outage=True)  # another server may have taken over
        poll = await self.claims.poll(self.id, heartbeat=heartbeat)
        self.outage.over()
        self.skew = poll.now - datetime.now(UTC)
        self.circuits.seen(poll.known, poll.now)
        self.capped = set(poll.known.caps) | {breaker.service for breaker in poll.known.breakers}
        if heartbeat:
            self.next_beat = time.monotonic() + self.settings.heartbeat - self.settings.poll / 2
            self.heartbeat_thread.beaten_at = before
            self.drop_revoked(poll)
            self.heard.set()
            await self.give_back_strays(poll)
            await self.give_back_stuck()
            if self.id not in poll.heartbeats:
                await self.start_over()
        await self.observer.observe(poll)
        return poll

    def drop_revoked(self, poll: PollResult) -> None:
        """Stops what others have taken over: whatever it still does, nobody would write it down."""
        held = poll.held if self.id in poll.heartbeats else frozenset()  # the dead hold nothing, whatever is listed
        taken_over = [job for job in self.slots.jobs() if (job.id, job.token) not in held]
        for job in taken_over:
            log.warning("job.revoked", job=str(job.id), type=job.type, next="another worker has it")
        gone = set(map(id, taken_over))
        self.slots.give_up(lambda job: id(job) in gone)
        for run in [run for run in self.slots.running if id(run.job) in gone]:
            run.stop()
            if not run.entered:
                self.slots.end(run)
        self.start_next()

    async def give_back_strays(self, poll: PollResult) -> None:
        """Gives back what the store says is ours and we know nothing of."""
        strays = [await self.store.job(job_id) for job_id in self.claims.strays(poll.held)]
        # Looked up once more: what was given back since the survey is no stray.
        await self.release([job for job in strays if job.token in self.claims.lost])

    def rest(self, poll: PollResult) -> float:
        """How long to wait unless told: the safety poll, or the next due job if that is sooner."""
        if poll.hinted and self.free:
            return FOLDED  # the lanes just looked at may be due any moment
        due = self.claims.time_to_next(poll)
        longest = self.settings.poll if self.free else self.settings.heartbeat / 2
        return longest if due is None or not self.free else min(longest, due.total_seconds())

    async def patiently(self, act: Callable[[], Awaitable[object]]) -> None:
        """Does it, and rests a little if it could not be done: a worker outlives its store's troubles, and its own."""
        try:
            await act()
        except StoreUnreachable as error:
            self.outage.seen(error)
            await asyncio.sleep(STORE_AGAIN)
        except Exception:
            log.exception("worker.trouble", next=f"going on in {TROUBLE_AGAIN} s")
            await asyncio.sleep(TROUBLE_AGAIN)

    def start_next(self) -> None:
        """Fills the slots with those that wait for one; once told to stop, they are given back instead."""
        abandoned = self.executor.still_running()
        while not self.stopping and (job := self.slots.next(abandoned)) is not None:
            run = Run(job, time.monotonic())
            self.slots.running.add(run)
            run.task = self.loop.create_task(self.carry_out(run))

    async def carry_out(self, run: Run) -> None:
        run.entered = True
        try:
            ending = await (self.perform_alone(run) if run.job.rescues else self.perform(run))
        except BaseException as error:
            if run.stopped:
                raise
            ending = self.executor.broken(run.job_now(), error)
        finally:
            self.slots.end(run)
            self.start_next()
            self.say_there_is_room()
        self.settler.put(ending)

    async def perform(self, run: Run) -> SettledJob:
        if self.overslept():
            await self.next_beat_heard()
        run.begun = True
        if gate := self.circuits.shut(run.job.channel):
            return self.executor.put_off(run.job, told_of_gate(gate))
        crash_point("handler.before")
        ending = await self.executor.perform(run.job, run.follow)
        crash_point("handler.after")
        if run.call is not None and not run.call.asked:
            self.circuits.judge(ending)  # its handler has ways of its own
        return ending

    async def perform_alone(self, run: Run) -> SettledJob:
        """A job whose worker died under it before: one at a time, so that a second death shows whose doing it was."""
        async with self.alone:
            await self.until_done(lambda: self.store.mark_suspect(self.id, run.job.id))
            return await self.perform(run)

    def overslept(self) -> bool:
        return uptime() - self.heartbeat_thread.beaten_at > self.settings.lease

    def may_send(self) -> str | None:
        """Others take a worker for dead whose last beat is a lease ago; it sends nothing from then on."""
        return "This worker may have been taken for dead, so it sends nothing." if self.overslept() else None

    async def next_beat_heard(self) -> None:
        """Whoever was frozen past its lease may have been buried: the next beat stops what others have taken over."""
        while self.overslept():
            self.heard.clear()
            await self.heard.wait()

    async def until_done(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await act()
            except StoreUnreachable:
                await asyncio.sleep(STORE_AGAIN)

    def say_there_is_room(self) -> None:
        """Wakes the worker if room is what it waits for."""
        if self.waits_for_room and self.free:
            self.waits_for_room = False
            self.wakeup.nudge()

    def written(self, endings: list[SettledJob]) -> None:
        self.say_there_is_room()
        if any(self.frees_others(ending) for ending in endings):
            self.wakeup.nudge() if self.free else self.wakeup.tell()

    def frees_others(self, ending: SettledJob) -> bool:
        """Whether something may start now that could not before: the next of its lane or capped channel, or itself."""
        job, again = ending.job, ending.settlement.run_at
        if job.account is not None or job.brand is not None or job.channel in self.capped:
            return True
        return again is not None and again <= self.now() + timedelta(seconds=self.settings.poll)

    async def warm_up(self) -> None:
        """Two questions at once, so that both connections are there before the first job: to claim and to settle."""
        await asyncio.gather(self.store.gates(), self.store.gates())

    async def register(self) -> None:
        await self.store.register_worker(WorkerInfo(id=self.id, host=socket.gethostname(), pid=os.getpid()))

    async def state_terms(self) -> None:
        """What the settings say, for all to see."""
        await self.store.set_default_caps(self.channel_limits.caps)
        await self.store.set_configured_blackouts(self.channel_limits.blackouts)

    async def awaken(self, *, after_outage: bool) -> None:
        held = await self.store.detect_restore(after_outage=after_outage)
        for job in held:
            log.error("job.held", job=str(job.id), account=job.account, next="a person says whether it went out")

    async def start_over(self) -> None:
        """Others took this worker for dead and its jobs with it: it goes on as a new one, and settles nothing old."""
        log.error("worker.buried", worker=self.id, jobs=len(self.slots.running), next="starting over under a new name")
        self.id = str(new_id())
        await self.register()

    async def drain(self) -> None:
        """Gives back what has not begun, waits until what has is over and written down, then gives back the rest."""
        self.stopping = True
        await self.patiently(lambda: self.give_back(lambda run: not run.begun))
        if self.slots or self.settler.unwritten:
            log.info("worker.draining", running=len(self.slots.running), seconds=self.settings.drain)
            ending = asyncio.create_task(self.all_ended())
            await self.beat_until(asyncio.wait([ending], timeout=self.settings.drain))
            ending.cancel()
        await self.patiently(lambda: self.give_back(lambda _: True))
        await self.settler.give_up()
        await self.circuits.flushed()
        if self.claims.lost:
            self.next_beat = 0.0
            await self.patiently(self.look)
        await self.patiently(lambda: self.store.unregister_worker(self.id))

    async def give_back(self, which: Callable[[Run], bool]) -> None:
        waiting = self.slots.give_up(lambda _: True)
        left = [run for run in self.slots.running if which(run)]
        for run in left:
            run.stop()
        if left:
            # Not for ever: a handler may not let itself be stopped.
            await asyncio.wait([run.task for run in left], timeout=GRACE)
        self.slots.running.difference_update(left)
        unended = [run.job_now() for run in left if run.task.cancelled() or not run.task.done()]
        await self.release([*waiting, *unended])

    async def give_back_stuck(self) -> None:
        await self.release(self.slots.stuck())

    async def all_ended(self) -> None:
        while self.slots.running:
            await asyncio.wait([run.task for run in self.slots.running])
        await self.settler.flushed()

    async def release(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        stopped = AttemptError(None, "Its worker gave it back before it had ended.")
        try:
            await self.store.settle([SettledJob(job, settlement.release(job, self.now()), stopped) for job in jobs])
        except BaseException:
            self.slots.ready.extend(jobs)  # still in our hands
            raise
        for job in jobs:
            log.warning("job.released", job=str(job.id), type=job.type, next="another worker starts it anew")

    async def beat_until(self, done: Awaitable[object]) -> None:
        """The beat goes on while running jobs end."""
        waiting = asyncio.ensure_future(done)
        while not waiting.done():
            await self.patiently(self.look)
            await asyncio.wait([waiting], timeout=self.settings.poll)
