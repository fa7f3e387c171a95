"""Publish jobs through calls of the engine while workers die, people act and time passes, in any order."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from dataclasses import dataclass
from datetime import time, timedelta
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
from postino.rules.blackout import Blackout
from postino.rules.ledger import can_be_live, list_uncertain_intents
from postino.rules.retry import RetryPolicy, Schedule
from postino.stores.operations.job_actions import replace_payload
from postino.stores.records import AuditContext, ClaimRequest, JobFilter, NewJob, SettledJob, WorkerInfo
from postino.stores.store import Store
from postino.values.event import Cursor, EventType
from postino.values.gate import Scope
from postino.values.job import Job, Queue, State
from postino.values.ledger import IntentEntry, NewIntent
from postino.values.outcome import Done, Outcome, Reject, Retry
from postino.values.post import POST
from postino.values.provider import NEVER, SAME_HANDLE
from tests.simulation.ledger_network import CALL_POLICY, FakeOutbound, Network, PendingCall
from tests.simulation.stores import StoresUnderTest

POLICY = RetryPolicy(max_attempts=3, backoff=Schedule([1, 70]))
ACT = AuditContext("somebody", "felt like it")
SECONDS = (1, 4, 6, 20, 100)
UNFINISHED = (State.PENDING, State.RUNNING, State.UNCERTAIN)
REPLIES = ("accepted", "lost", "slowly", "gone", "error", "hangs", "refused", "limited", "unsent")
GATES = ((Scope.ALL, ""), (Scope.CHANNEL, "net"), (Scope.ACCOUNT, "anna"))
LONGEST = timedelta(weeks=3)
ROUNDS = 80

picks = st.integers(0, 9)
mostly = st.sampled_from((True, True, True, False))
seldom = st.sampled_from((False, False, False, True))
kinds = st.tuples(st.integers(1, 3), st.booleans(), st.sampled_from((None, "anna")))


@dataclass(eq=False)
class Run:
    """One claim of one job by a worker, which may count as dead without knowing it."""

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
        self.paused: set[tuple[Scope, str]] = set()
        self.blackouts: dict[tuple[Scope, str], UUID] = {}
        for _ in range(2):
            self.start_worker()

    async def make_network(self) -> Network:
        return Network(self.clock, asyncio.Event())

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def start_worker(self) -> None:
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
            new = NewJob(id=job_id, type=POST, channel="net", queue=Queue.DEFAULT, payload=b'"first"', account=account)
            self.do(self.store.enqueue([new]))

    # Runs

    @rule(pick=picks, free=st.integers(1, 3))
    def claim(self, pick: int, free: int) -> None:
        self.do(self.take(self.workers[pick % len(self.workers)], free))

    @rule(pick=picks, replies=st.lists(st.sampled_from(REPLIES), min_size=1, max_size=4), settled=mostly)
    def work(self, pick: int, replies: list[str], settled: bool) -> None:
        """Claim due jobs, let the network respond, and usually settle the jobs."""
        self.do(self.take(self.workers[pick % len(self.workers)], 3))
        for reply in replies:
            if self.network.pending_calls:
                self.do(self.move(-1, reply))
        for run in [run for run in self.runs if run.task.done()] if settled else []:
            self.do(self.settle_run(run))

    @rule(pick=picks, replies=st.lists(st.sampled_from(REPLIES), min_size=1, max_size=4), settled=mostly)
    def work_later(self, pick: int, replies: list[str], settled: bool) -> None:
        """Work after all quarantines and cool-downs have ended."""
        self.wait(100)
        self.do(self.store.rescue({}, settlement.rescue_job))
        self.work(pick, replies, settled)

    work_more = work_later_still = work_later

    async def take(self, worker: str, free: int) -> None:
        poll = await self.store.poll(worker, heartbeat=True)
        order = ClaimRequest(worker=worker, token=self.new_id(), free=free, poll=poll)
        for job in await self.store.claim(order):
            assert job.may_be_live or not self.is_held(job), "a pause or a blackout does not hold it"
            circuits = CircuitMonitor(self.store, {}, self.clock, lambda: None)
            meter = QuotaMeter(self.store, {})
            context = CallContext(None, FakeOutbound(), self.clock, self.uptime, lambda: None, circuits, meter)  # type: ignore[arg-type]
            call = Call(JobLedger(self.store, self.intend, job), context, CALL_POLICY)
            run = Run(worker, call, asyncio.create_task(self.publish(job, call)))
            run.task.add_done_callback(lambda _: self.network.changed.set())
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
        """Wait until every run has ended or waits for the network."""
        while sum(not run.task.done() for run in self.runs) > len(self.network.pending_calls):
            self.network.changed.clear()
            await self.network.changed.wait()

    @precondition(lambda self: self.network.pending_calls)
    @rule(pick=picks, reply=st.sampled_from(REPLIES))
    def network_moves(self, pick: int, reply: str) -> None:
        self.do(self.move(pick, reply))

    network_moves_on = network_moves

    def list_orphaned_calls(self) -> list[PendingCall]:
        """Return the open calls of unregistered workers."""
        alive = {run.task for run in self.runs if run.worker in self.workers}
        return [pending for pending in self.network.pending_calls if pending.run not in alive]

    @precondition(lambda self: self.list_orphaned_calls())
    @rule(pick=picks, reply=st.sampled_from(REPLIES))
    def orphaned_calls_go_on(self, pick: int, reply: str) -> None:
        ghosts = self.list_orphaned_calls()
        self.do(self.move(self.network.pending_calls.index(ghosts[pick % len(ghosts)]), reply))

    async def move(self, pick: int, reply: str) -> None:
        pending = self.network.pending_calls[pick % len(self.network.pending_calls)]
        self.network.move(pending, reply)
        if pending.answer.done():
            await asyncio.wait([pending.answer])
            await asyncio.sleep(0)
            await self.idle()

    @precondition(lambda self: any(run.task.done() for run in self.runs))
    @rule(pick=picks)
    def settle(self, pick: int) -> None:
        ended = [run for run in self.runs if run.task.done()]
        self.do(self.settle_run(ended[pick % len(ended)]))

    async def settle_run(self, run: Run) -> None:
        self.runs.remove(run)
        decided = settlement.settle_job(run.call.job, run.task.result(), POLICY, self.clock.now, 0)
        await self.store.settle([SettledJob(run.call.job, decided)])

    # Workers die, or only count as dead

    @rule(pick=picks)
    def crash(self, pick: int) -> None:
        worker = self.workers.pop(pick % len(self.workers))
        self.do(self.end([run for run in self.runs if run.worker == worker]))
        self.do(self.store.unregister_worker(worker))
        self.start_worker()

    @rule(pick=picks)
    def unregister_running_worker(self, pick: int) -> None:
        """Unregister a worker whose runs continue."""
        worker = self.workers.pop(pick % len(self.workers))
        self.do(self.store.unregister_worker(worker))
        self.start_worker()

    @rule(pick=picks)
    def freeze(self, pick: int) -> None:
        """Freeze a worker in a visible call while its jobs are rescued."""
        self.do(self.take(self.workers[pick % len(self.workers)], 3))
        if self.network.pending_calls:
            self.do(self.move(-1, "hangs"))
        self.unregister_running_worker(pick)
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
    def containers_become_slow(self, slow: bool) -> None:
        self.network.ready = not slow

    def pick_job(self, pick: int, *states: State) -> Job | None:
        jobs = self.do(self.store.jobs(JobFilter(states=states)))
        return jobs[pick % len(jobs)] if jobs else None

    @rule(pick=picks, wanted=seldom)
    def cancel(self, pick: int, wanted: bool) -> None:
        job = self.pick_job(pick, *UNFINISHED)
        if job is not None and wanted:
            with contextlib.suppress(Conflict):
                self.do(self.store.cancel_job(job.id, ACT))
                self.check_nothing_is_live(job)

    @rule(pick=picks)
    def edit(self, pick: int) -> None:
        job = self.pick_job(pick, *UNFINISHED)
        text = f"edit {next(self.numbers)}"
        if job is not None:
            with contextlib.suppress(Conflict):
                self.do(
                    self.store.driver.transact(replace_payload(job.id, json.dumps(text).encode(), ACT))
                )  # as edit_post does
                self.check_nothing_is_live(job)
                self.network.texts[job.id] = text

    def check_nothing_is_live(self, job: Job) -> None:
        """Check that no part is live: every request was refused."""
        assert not any(self.network.find_live_post((job.id, part)) for part in range(1, 4))

    @rule(pick=picks, at=picks)
    def edit_waiting_job(self, pick: int, at: int) -> None:
        self.network.ready = False
        self.work_later(at, ["accepted"], True)
        self.edit(pick)
        self.network.ready = True

    @rule(pick=picks, gives_up=seldom)
    def resolve(self, pick: int, gives_up: bool) -> None:
        """Resolve a job by hand, after its quarantine unless the person gives up."""
        job = self.pick_job(pick, State.UNCERTAIN)
        if job is not None and (gives_up or job.lookup_at is None or job.lookup_at <= self.clock.now):
            self.do(
                self.store.resolve_job(
                    job.id, Reject("enough") if gives_up else self.do(self.look_up_by_hand(job)), ACT
                )
            )

    async def look_up_by_hand(self, job: Job) -> Done | Retry:
        in_doubt = list_uncertain_intents(await self.store.ledger(job.id))
        if not in_doubt:
            return Retry("all of it is known")
        part = job.id, int(in_doubt[-1].step.removeprefix("part "))
        remote_id = self.network.find_live_post(part)
        if remote_id is not None:
            return Done(remote_id=remote_id)
        self.network.unknown.discard(part)
        return Retry("it is not live")

    @rule(pick=picks)
    def replay(self, pick: int) -> None:
        job = self.pick_job(pick, State.FAILED)
        if job is not None:
            with contextlib.suppress(Conflict):
                self.do(self.store.replay_dead_letter(job.id, None, True, ACT))

    # Invariants

    # Pauses and blackouts

    def is_held(self, job: Job) -> bool:
        """Return whether a pause or a blackout holds the job as long as nothing of it is out."""
        return any(name in ("", "net", job.account) for _, name in (*self.paused, *self.blackouts))

    @rule(gate=st.sampled_from(GATES), pauses=st.booleans())
    def close_gate(self, gate: tuple[Scope, str], pauses: bool) -> None:
        if pauses:
            self.do(self.store.pause(*gate, ACT))
            self.paused.add(gate)
        elif gate not in self.blackouts:
            start, window = time(0), self.new_id()
            scope, name = gate
            self.do(
                self.store.add_blackout(
                    Blackout(id=window, scope=scope, name=name, start=start, end=start, timezone="UTC"), ACT
                )
            )
            self.blackouts[gate] = window

    @precondition(lambda self: self.paused or self.blackouts)
    @rule()
    def open_gates(self) -> None:
        for gate in self.paused:
            self.do(self.store.resume(*gate, ACT))
        for window in self.blackouts.values():
            self.do(self.store.remove_blackout(window, ACT))
        self.paused.clear()
        self.blackouts.clear()

    open_gates_soon = open_gates

    @invariant()
    def every_job_is_reachable(self) -> None:
        assert self.do(self.store.unreachable_jobs()) == []

    @invariant()
    def no_post_is_live_twice(self) -> None:
        assert all(len(posts) == 1 for posts in self.network.live.values()), self.network.live

    @invariant()
    def every_job_is_claimed_or_scheduled_or_listed(self) -> None:
        jobs = self.do(self.store.jobs(JobFilter(limit=100)))
        assert {job.id for job in jobs} == self.kinds.keys()
        for job in jobs:
            self.check(job)

    def check(self, job: Job) -> None:
        out = [part for part in self.network.live if part[0] == job.id]
        ledger = self.do(self.store.ledger(job.id))
        assert job.may_be_live or not out
        match job.state:
            case State.COMPLETED:
                assert len(out) == self.kinds[job.id][0]
                remote_ids = {entry.receipt.remote_id for entry in ledger.receipts if entry.receipt}
                assert remote_ids == {self.network.find_live_post(part) for part in out}
            case State.CANCELLED:
                assert not out
            case State.PENDING:
                assert job.run_at is not None
                assert job.generation > 1 or not list_uncertain_intents(ledger), "retried although a post may be live"
            case State.UNCERTAIN:
                assert job.run_at is not None or job.token is None
        if not job.state.is_final:
            assert job.may_be_live == can_be_live(ledger)
            assert (job.lookup_at is not None) == bool(list_uncertain_intents(ledger))

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.finish_everything()
        finally:
            self.do(self.end(list(self.runs)))

    def finish_everything(self) -> None:
        """Check that every job ends once faults stop and people resolve their jobs."""
        self.do(self.end(list(self.runs)))
        self.open_gates()
        self.do(self.replace_workers())
        self.network.ready = True
        for _ in range(ROUNDS):
            if self.pick_job(0, *UNFINISHED) is None:
                break
            self.clock.now += timedelta(minutes=10)
            self.do(self.run_without_faults())
            self.every_job_is_claimed_or_scheduled_or_listed()
            self.no_post_is_live_twice()
        assert self.pick_job(0, *UNFINISHED) is None, "never finished"
        events = self.do(self.store.events(Cursor(), 10_000))
        assert EventType.DUPLICATED not in {event.type for event in events}

    async def replace_workers(self) -> None:
        for worker in self.workers:
            await self.store.unregister_worker(worker)
        await self.store.rescue({}, settlement.rescue_job)
        await self.store.register_worker(WorkerInfo(id="last", host="here", pid=1))

    async def run_without_faults(self) -> None:
        await self.take("last", 10)
        while self.network.pending_calls:
            await self.move(0, "accepted")
        for run in list(self.runs):
            await self.settle_run(run)
        for job in await self.store.jobs(JobFilter(states=(State.UNCERTAIN,))):
            if job.run_at is None:
                await self.store.resolve_job(job.id, await self.look_up_by_hand(job), ACT)
