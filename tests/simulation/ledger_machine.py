"""Publishing jobs through the engine's own calls while workers die, people act and time passes, in any order."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from postino.engine.call import Call
from postino.engine.call_context import CallContext
from postino.engine.circuit_monitor import CircuitMonitor
from postino.engine.job_ledger import JobLedger, StopRun
from postino.engine.quota_meter import QuotaMeter
from postino.errors import Conflict
from postino.rules import settlement
from postino.rules.ledger import list_uncertain_intents
from postino.rules.retry import RetryPolicy, Schedule
from postino.stores.records import AuditContext, ClaimRequest, JobFilter, NewJob, SettledJob, WorkerInfo
from postino.stores.store import Store
from postino.values.event import Cursor, EventType
from postino.values.job import Job, Queue, State
from postino.values.ledger import IntentEntry, NewIntent
from postino.values.outcome import Done, Outcome, Reject, Retry
from postino.values.provider import NEVER, SAME_HANDLE
from tests.simulation.ledger_network import CALL_POLICY, Door, Network, Visit
from tests.simulation.stores import StoresUnderTest

POLICY = RetryPolicy(max_attempts=3, backoff=Schedule([1, 70]))
ACT = AuditContext("somebody", "felt like it")
SECONDS = (1, 4, 6, 20, 100)
LIVE = (State.PENDING, State.RUNNING, State.UNCERTAIN)
HOWS = ("accepted", "lost", "slowly", "gone", "error", "hangs", "refused", "limited", "unsent")
LONGEST = timedelta(weeks=3)
ROUNDS = 80

picks = st.integers(0, 9)
mostly = st.sampled_from((True, True, True, False))
seldom = st.sampled_from((False, False, False, True))
kinds = st.tuples(st.integers(1, 3), st.booleans(), st.sampled_from((None, "anna")))


@dataclass(eq=False)
class Run:
    """One claim of one job, in the hands of a worker that may be dead without knowing it."""

    worker: str
    call: Call
    task: asyncio.Task[Outcome]


class LedgerMachine(RuleBasedStateMachine):
    """A few jobs, two workers, one network, one clock."""

    def __init__(self, world: StoresUnderTest) -> None:
        super().__init__()
        self.world = world
        self.loop = world.loop
        self.clock = world.clock
        self.clock.now = self.clock.started_at
        (side,) = world.sides
        self.store: Store = side.store
        self.do(side.empty())
        self.network = self.do(self.make_network())
        self.numbers = itertools.count(1)
        self.kinds: dict[UUID, tuple[int, bool]] = {}
        self.runs: list[Run] = []
        self.workers: list[str] = []
        for _ in range(2):
            self.hire()

    async def make_network(self) -> Network:
        return Network(self.clock, asyncio.Event())

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def hire(self) -> None:
        worker = f"w{next(self.numbers)}"
        self.do(self.store.register_worker(WorkerInfo(id=worker, host="here", pid=1)))
        self.workers.append(worker)

    def new_id(self) -> UUID:
        return UUID(int=0x01900000_0000_7000_8000_000000000000 + next(self.numbers))

    @initialize(posts=st.lists(kinds, min_size=1, max_size=3), ready=st.booleans())
    def write(self, posts: list[tuple[int, bool, str | None]], ready: bool) -> None:
        self.network.ready = ready
        for parts, harmless, account in posts:
            job_id = self.new_id()
            self.kinds[job_id] = parts, harmless
            self.network.texts[job_id] = "first"
            new = NewJob(
                id=job_id, type="post", channel="net", queue=Queue.DEFAULT, payload=b'"first"', account=account
            )
            self.do(self.store.enqueue([new]))

    # Runs

    @rule(pick=picks, free=st.integers(1, 3))
    def claim(self, pick: int, free: int) -> None:
        self.do(self.take(self.workers[pick % len(self.workers)], free))

    @rule(pick=picks, hows=st.lists(st.sampled_from(HOWS), min_size=1, max_size=4), settled=mostly)
    def work(self, pick: int, hows: list[str], settled: bool) -> None:
        """Takes what is due, lets the network do something about it, and mostly writes down what came of that."""
        self.do(self.take(self.workers[pick % len(self.workers)], 3))
        for how in hows:
            if self.network.visits:
                self.do(self.move(-1, how))
        for run in [run for run in self.runs if run.task.done()] if settled else []:
            self.do(self.write_down(run))

    @rule(pick=picks, hows=st.lists(st.sampled_from(HOWS), min_size=1, max_size=4), settled=mostly)
    def work_later(self, pick: int, hows: list[str], settled: bool) -> None:
        """When quarantines and pauses are over."""
        self.wait(100)
        self.do(self.store.rescue({}, settlement.rescue_job))
        self.work(pick, hows, settled)

    work_more = work_later_still = work_later

    async def take(self, worker: str, free: int) -> None:
        poll = await self.store.poll(worker, heartbeat=True)
        order = ClaimRequest(worker=worker, token=self.new_id(), free=free, poll=poll)
        for job in await self.store.claim(order):
            circuits = CircuitMonitor(self.store, {}, self.clock, lambda: None)
            meter = QuotaMeter(self.store, {})
            context = CallContext(None, Door(), self.clock, self.uptime, lambda: None, circuits, meter)  # type: ignore[arg-type]
            call = Call(JobLedger(self.store, self.intend, job), context, CALL_POLICY)
            run = Run(worker, call, asyncio.create_task(self.publish(job, call)))
            run.task.add_done_callback(lambda _: self.network.stirred.set())
            self.runs.append(run)
        await self.idle()

    async def publish(self, job: Job, call: Call) -> Outcome:
        parts, harmless = self.kinds[job.id]
        resend, network, receipt = SAME_HANDLE if harmless else NEVER, self.network, None
        try:
            made = await call.step("container", network.make, json.loads(job.payload))
            pause = timedelta(seconds=5)
            await call.until("ready", network.is_ready, made, every=pause, patience=12 * pause)
            for number in range(parts):
                part = job.id, number
                receipt = await call.once(
                    f"part {number}", network.send, part, made, harmless, found=network.find, resend=resend
                )
        except StopRun as stop:
            return stop.outcome
        assert receipt is not None
        return Done(None, receipt.remote_id)

    async def intend(self, intent: NewIntent) -> IntentEntry | None:
        return (await self.store.record_intents([intent]))[0]

    def uptime(self) -> float:
        return self.clock.now.timestamp()

    async def idle(self) -> None:
        """Until every run has ended or waits for the network."""
        while sum(not run.task.done() for run in self.runs) > len(self.network.visits):
            self.network.stirred.clear()
            await self.network.stirred.wait()

    @precondition(lambda self: self.network.visits)
    @rule(pick=picks, how=st.sampled_from(HOWS))
    def network_moves(self, pick: int, how: str) -> None:
        self.do(self.move(pick, how))

    network_moves_on = network_moves

    def ghosts(self) -> list[Visit]:
        """At the network for workers that were buried."""
        alive = {run.task for run in self.runs if run.worker in self.workers}
        return [visit for visit in self.network.visits if visit.run not in alive]

    @precondition(lambda self: self.ghosts())
    @rule(pick=picks, how=st.sampled_from(HOWS))
    def ghosts_go_on(self, pick: int, how: str) -> None:
        ghosts = self.ghosts()
        self.do(self.move(self.network.visits.index(ghosts[pick % len(ghosts)]), how))

    async def move(self, pick: int, how: str) -> None:
        visit = self.network.visits[pick % len(self.network.visits)]
        self.network.move(visit, how)
        if visit.answer.done():
            await asyncio.wait([visit.answer])
            await asyncio.sleep(0)
            await self.idle()

    @precondition(lambda self: any(run.task.done() for run in self.runs))
    @rule(pick=picks)
    def settle(self, pick: int) -> None:
        ended = [run for run in self.runs if run.task.done()]
        self.do(self.write_down(ended[pick % len(ended)]))

    async def write_down(self, run: Run) -> None:
        self.runs.remove(run)
        decided = settlement.settle_job(run.call.job, run.task.result(), POLICY, self.clock.now, 0)
        await self.store.settle([SettledJob(run.call.job, decided)])

    # Workers die, or are only taken for dead

    @rule(pick=picks)
    def crash(self, pick: int) -> None:
        worker = self.workers.pop(pick % len(self.workers))
        self.do(self.end([run for run in self.runs if run.worker == worker]))
        self.do(self.store.unregister_worker(worker))
        self.hire()

    @rule(pick=picks)
    def bury_alive(self, pick: int) -> None:
        """Its runs go on, and hear of nothing."""
        worker = self.workers.pop(pick % len(self.workers))
        self.do(self.store.unregister_worker(worker))
        self.hire()

    @rule(pick=picks)
    def freeze(self, pick: int) -> None:
        """In the middle of a visible call; its jobs are taken from it meanwhile."""
        self.do(self.take(self.workers[pick % len(self.workers)], 3))
        if self.network.visits:
            self.do(self.move(-1, "hangs"))
        self.bury_alive(pick)
        self.rescue()

    @rule(pick=picks)
    def drain(self, pick: int) -> None:
        worker = self.workers[pick % len(self.workers)]
        runs = [run for run in self.runs if run.worker == worker]
        self.do(self.end(runs))
        given_back = [SettledJob(run.call.job, settlement.release_job(run.call.job, self.clock.now)) for run in runs]
        self.do(self.store.settle(given_back))

    async def end(self, runs: list[Run]) -> None:
        for run in runs:
            run.task.cancel()
            self.runs.remove(run)
        await asyncio.gather(*(run.task for run in runs), return_exceptions=True)

    @rule()
    def rescue(self) -> None:
        self.do(self.store.rescue({}, settlement.rescue_job))

    # Time and people

    @rule(passed=st.sampled_from(SECONDS))
    def wait(self, passed: float) -> None:
        if self.clock.now - self.clock.started_at < LONGEST:
            self.clock.now += timedelta(seconds=passed)

    @rule(slow=seldom)
    def containers_take_their_time(self, slow: bool) -> None:
        self.network.ready = not slow

    def some(self, pick: int, *states: State) -> Job | None:
        jobs = self.do(self.store.jobs(JobFilter(states=states)))
        return jobs[pick % len(jobs)] if jobs else None

    @rule(pick=picks, meant=seldom)
    def cancel(self, pick: int, meant: bool) -> None:
        job = self.some(pick, *LIVE)
        if job is not None and meant:
            with contextlib.suppress(Conflict):
                self.do(self.store.cancel_job(job.id, ACT))
                self.nothing_is_out(job)

    @rule(pick=picks)
    def edit(self, pick: int) -> None:
        job = self.some(pick, *LIVE)
        text = f"edit {next(self.numbers)}"
        if job is not None:
            with contextlib.suppress(Conflict):
                self.do(self.store.edit_job(job.id, json.dumps(text).encode(), ACT))
                self.nothing_is_out(job)
                self.network.texts[job.id] = text

    def nothing_is_out(self, job: Job) -> None:
        """What left was refused, every time; so it is as if nothing had."""
        assert not any(self.network.is_there((job.id, part)) for part in range(1, 4))
        self.network.departed.discard(job.id)

    @rule(pick=picks, at=picks)
    def edit_what_waits(self, pick: int, at: int) -> None:
        self.network.ready = False
        self.work_later(at, ["accepted"], True)
        self.edit(pick)
        self.network.ready = True

    @rule(pick=picks, gives_up=seldom)
    def resolve(self, pick: int, gives_up: bool) -> None:
        """People look carefully, and not before everything on its way has arrived."""
        job = self.some(pick, State.UNCERTAIN)
        if job is not None and (gives_up or job.lookup_at is None or job.lookup_at <= self.clock.now):
            self.do(self.store.resolve_job(job.id, Reject("enough") if gives_up else self.do(self.truth(job)), ACT))

    async def truth(self, job: Job) -> Done | Retry:
        in_doubt = list_uncertain_intents(await self.store.ledger(job.id))
        if not in_doubt:
            return Retry("all of it is known")
        part = job.id, int(in_doubt[-1].step.removeprefix("part "))
        remote_id = self.network.is_there(part)
        if remote_id is not None:
            return Done(remote_id=remote_id)
        self.network.unknown.discard(part)
        return Retry("it is not there")

    @rule(pick=picks, edited=seldom)
    def replay(self, pick: int, edited: bool) -> None:
        job = self.some(pick, State.FAILED)
        text = f"replay {next(self.numbers)}"
        if job is not None:
            with contextlib.suppress(Conflict):
                self.do(self.store.replay_dead_letter(job.id, json.dumps(text).encode() if edited else None, True, ACT))
                if edited:
                    assert not any(part[0] == job.id for part in self.network.shown)
                    self.network.texts[job.id] = text

    # What must hold after each of these

    @invariant()
    def nothing_is_out_there_twice(self) -> None:
        assert all(len(posts) == 1 for posts in self.network.shown.values()), self.network.shown

    @invariant()
    def every_job_is_held_or_has_a_time_or_is_listed_for_a_person(self) -> None:
        jobs = self.do(self.store.jobs(JobFilter(limit=100)))
        assert {job.id for job in jobs} == self.kinds.keys()
        for job in jobs:
            self.check(job)

    def check(self, job: Job) -> None:
        out = [part for part in self.network.shown if part[0] == job.id]
        ledger = self.do(self.store.ledger(job.id))
        assert job.may_be_live or job.id not in self.network.departed
        match job.state:
            case State.COMPLETED:
                assert len(out) == self.kinds[job.id][0]
                told = {fact.receipt.remote_id for fact in ledger.receipts if fact.receipt}
                assert told == {self.network.is_there(part) for part in out}
            case State.CANCELLED:
                assert not out
            case State.PENDING:
                assert job.run_at is not None
                assert job.generation > 1 or not list_uncertain_intents(ledger), (
                    "tried again although something may be out there"
                )
            case State.UNCERTAIN:
                assert job.run_at is not None or job.token is None
        if not job.state.is_final:
            assert (job.lookup_at is not None) == bool(list_uncertain_intents(ledger))

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.finish_everything()
        finally:
            self.do(self.end(list(self.runs)))

    def finish_everything(self) -> None:
        """Whatever happened: once nothing goes wrong any more and people answer, every job comes to its end."""
        self.do(self.end(list(self.runs)))
        self.do(self.retire_all())
        self.network.ready = True
        for _ in range(ROUNDS):
            if self.some(0, *LIVE) is None:
                break
            self.clock.now += timedelta(minutes=10)
            self.do(self.one_good_round())
            self.every_job_is_held_or_has_a_time_or_is_listed_for_a_person()
            self.nothing_is_out_there_twice()
        assert self.some(0, *LIVE) is None, "never finished"
        events = self.do(self.store.events(Cursor(), 10_000))
        assert EventType.DUPLICATED not in {event.type for event in events}

    async def retire_all(self) -> None:
        for worker in self.workers:
            await self.store.unregister_worker(worker)
        await self.store.rescue({}, settlement.rescue_job)
        await self.store.register_worker(WorkerInfo(id="last", host="here", pid=1))

    async def one_good_round(self) -> None:
        await self.take("last", 10)
        while self.network.visits:
            await self.move(0, "accepted")
        for run in list(self.runs):
            await self.write_down(run)
        for job in await self.store.jobs(JobFilter(states=(State.UNCERTAIN,))):
            if job.run_at is None:
                await self.store.resolve_job(job.id, await self.truth(job), ACT)
