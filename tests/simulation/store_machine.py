"""Everything that can happen to jobs, in any order: each rule acts on the model and every store; all must agree."""

import itertools
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from postino.errors import Conflict, NotFound
from postino.rules import settlement
from postino.rules.retry import RetryPolicy, Schedule
from postino.rules.settlement import Settlement
from postino.stores.records import (
    AuditContext,
    ClaimRequest,
    DeadLetterFilter,
    EnqueuedJob,
    JobFilter,
    NewJob,
    SettledJob,
    WorkerInfo,
)
from postino.stores.store import Store
from postino.values.event import Cursor, Event, EventType
from postino.values.gate import Scope
from postino.values.job import Job, Queue, State
from postino.values.ledger import NewIntent, ReceiptEntry, ReceiptSource, Verdict
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry, Unknown
from postino.values.provider import Receipt
from tests.audit_chain import find_broken_entry
from tests.simulation.model import Entry, Model
from tests.simulation.stores import StoresUnderTest

LONGEST = timedelta(weeks=3)  # PostgreSQL's partitions are made for nine
TICK = timedelta(milliseconds=1)
EVERYTHING = 10_000
ACT = AuditContext("somebody", "felt like it")
POLICY = RetryPolicy(max_attempts=3, backoff=Schedule([1, 70]))

Owner = tuple[str | None, str | None]
CHANNELS = ("film", "foto", "nota")
ACCOUNTS = ("anna", "bruno")
BRANDS = ("rosso", "verde")
# An account belongs to one brand, or to none.
OWNERS: tuple[Owner, ...] = (
    (None, None), ("anna", "rosso"), ("bruno", None), ("carla", "rosso"), (None, "rosso"), (None, "verde"),
)  # fmt: skip
WORKERS = ("w1", "w2", "w3")
SECONDS = (0.0005, 1, 30, 61, 3600, 2 * 86400)
SEND_WITHIN, LOOKUP_DELAY = 5.0, 25.0
GATES = [
    (Scope.ALL, ""),
    *((Scope.QUEUE, queue.label) for queue in Queue),
    *((Scope.CHANNEL, channel) for channel in CHANNELS),
    *((Scope.BRAND, brand) for brand in BRANDS),
    *((Scope.ACCOUNT, account) for account in ACCOUNTS),
]

Place = tuple[str, Owner, Queue]
Spec = tuple[int, str | None, float | None]
seconds = st.sampled_from(SECONDS)
when = st.one_of(st.none(), st.just(-100.0), seconds)
picks = st.integers(0, 30)
mostly = st.sampled_from((True, True, True, False))
specs = st.tuples(st.integers(0, 53), st.none() | st.sampled_from("abc"), when)
outcomes = st.one_of(
    st.builds(Done, st.none() | st.just({"views": 3}), st.none() | st.just("remote")),
    st.just(Retry("busy \x00 line")),
    st.tuples(st.just("defer"), seconds),
    st.just(Reject("never")),
    st.just(Unknown("lost the answer")),
)


class StoreMachine(RuleBasedStateMachine):
    """Many jobs, a few lines, three workers, one clock."""

    def __init__(self, world: StoresUnderTest) -> None:
        super().__init__()
        self.world = world
        self.clock = world.clock
        self.clock.now = self.clock.started_at
        self.model = Model(self.clock.now)
        self.numbers = itertools.count(1)
        self.instants: set[datetime] = set()
        self.places: list[Place] = []
        self.enqueued: list[NewJob] = []
        self.claims: list[Job] = []
        self.marks: dict[str, dict[tuple[str, str, Queue], datetime]] = {worker: {} for worker in WORKERS}
        world.on_all(lambda side: side.empty())
        for worker in WORKERS:
            self.register(worker)

    @initialize(
        channels=st.sets(st.sampled_from(CHANNELS), min_size=1),
        owners=st.sets(st.sampled_from(OWNERS), min_size=1),
        queues=st.sets(st.sampled_from(Queue), min_size=1),
        batch=st.lists(specs, min_size=6, max_size=12),
    )
    def start_with_jobs(
        self, channels: set[str], owners: set[Owner], queues: set[Queue], batch: Sequence[Spec]
    ) -> None:
        """Start with some jobs and a limited choice of channels and owners, so that jobs compete."""
        self.places = list(itertools.product(sorted(channels), sorted(owners, key=str), sorted(queues)))
        self.enqueue(batch)

    # The clock and what must be unique: equal times would leave the choice to the store, and each would choose its own.

    def tick(self, passed: timedelta = TICK) -> None:
        self.model.now = self.clock.now = self.clock.now + passed

    def new_id(self) -> UUID:
        return UUID(int=0x01900000_0000_7000_8000_000000000000 + next(self.numbers))

    def instant(self, after: float) -> datetime:
        """Return a time that no other job has."""
        at = self.clock.now + timedelta(seconds=after)
        while at in self.instants or at.microsecond % 1000 == 0:
            at += timedelta(microseconds=1)
        self.instants.add(at)
        return at

    def pick_time(self, after: float | None) -> datetime | None:
        return None if after is None else self.instant(after)

    # Enqueue

    @rule(batch=st.lists(specs, min_size=1, max_size=6))
    def enqueue(self, batch: Sequence[Spec]) -> None:
        group: list[NewJob] = []
        for place, key, after in batch:
            channel, (account, brand), queue = self.places[place % len(self.places)]
            new = NewJob(
                id=self.new_id(),
                type="sim",
                channel=channel,
                queue=queue,
                payload=b"\x00\xff{}",
                key=key,
                run_at=self.pick_time(after),
                account=account,
                brand=brand,
                parent_id=self.enqueued[-1].id if self.enqueued else None,
            )
            self.enqueued.append(new)
            soon = after is None or after < 1  # by then the clock has moved on, and it is due now, like all the others
            clash = any(
                (key is not None and (other.channel, other.key) == (channel, key))
                or (soon and (other.run_at is None or other.run_at < self.clock.now + timedelta(seconds=1)))
                for other in group
            )
            if clash:
                self.put(group)
                group = []
            group.append(new)
        self.put(group)

    @rule(place=st.integers(0, 53))
    def enqueue_one(self, place: int) -> None:
        self.enqueue([(place, None, None)])

    @precondition(lambda self: any(job.key for job in self.enqueued))
    @rule(pick=picks)
    def enqueue_once_more(self, pick: int) -> None:
        keyed = [job for job in self.enqueued if job.key]
        self.put([keyed[pick % len(keyed)]])

    def put(self, jobs: list[NewJob]) -> None:
        self.tick()
        expected = [self.model.enqueue(job) for job in jobs]
        answers: list[EnqueuedJob] = self.world.agree(lambda store: store.enqueue(jobs))
        assert [(answer.job.id, answer.created) for answer in answers] == expected
        for answer in answers:
            self.check_job(answer.job)

    # Claim and settle

    @rule(worker=st.sampled_from(WORKERS), free=st.integers(0, 5) | st.just(100), marked=st.booleans())
    def claim(self, worker: str, free: int, marked: bool) -> None:
        self.tick()
        self.take(worker, free, self.marks[worker] if marked else {})

    @precondition(lambda self: self.model.list_claimable())
    @rule(worker=st.sampled_from(WORKERS))
    def claim_one(self, worker: str) -> None:
        """Claim with one free slot, which detects wasted slots."""
        self.claim(worker, 1, False)

    def take(self, worker: str, free: int, marks: dict[tuple[str, str, Queue], datetime]) -> list[Job]:
        token = self.new_id()
        low_is_running = self.model.holds_low(worker)
        if worker in self.model.workers:
            self.model.workers[worker] += 1

        async def claim(store: Store) -> list[Job]:
            poll = await store.poll(worker, heartbeat=True, marks=marks)
            assert poll.heartbeats == self.model.workers
            order = ClaimRequest(
                worker=worker,
                token=token,
                free=free,
                poll=poll,
                marks=marks,
                low_is_running=low_is_running,
            )
            return await store.claim(order)

        claimed = self.world.agree(claim, by_id)
        self.model.claim(worker, token, [job.id for job in claimed], free)
        self.claims += claimed
        for job in claimed:
            if job.lane is None and job.run_at is not None:
                line = job.channel, job.type, job.queue
                self.marks[worker][line] = max(job.run_at, self.marks[worker].get(line, job.run_at))
        return claimed

    @precondition(lambda self: self.model.list_claimable())
    @rule(worker=st.sampled_from(WORKERS), free=st.integers(1, 5), outcome_spec=outcomes)
    def work(self, worker: str, free: int, outcome_spec: Outcome | tuple[str, float]) -> None:
        """Claim jobs and settle all of them with the same outcome."""
        self.tick()
        self.end({job.id: (job, outcome_spec, 0) for job in self.take(worker, free, {})})

    work_on = work_hard = work  # repeated, so that Hypothesis chooses it more often
    claim_more = claim

    @precondition(lambda self: self.list_held())
    @rule(endings=st.lists(st.tuples(picks, outcomes, st.floats(0, 1)), min_size=1, max_size=5))
    def settle(self, endings: Sequence[tuple[int, Outcome | tuple[str, float], float]]) -> None:
        held = self.list_held()
        self.end(
            {
                held[pick % len(held)].id: (held[pick % len(held)], outcome_spec, chance)
                for pick, outcome_spec, chance in endings
            }
        )

    @precondition(lambda self: self.claims)
    @rule(pick=picks, outcome_spec=outcomes)
    def settle_an_old_claim(self, pick: int, outcome_spec: Outcome | tuple[str, float]) -> None:
        job = self.claims[pick % len(self.claims)]
        self.end({job.id: (job, outcome_spec, 0.5)})

    def list_held(self) -> list[Job]:
        return [job for job in self.claims if self.model.jobs[job.id].token == job.token]

    def end(self, endings: dict[UUID, tuple[Job, Outcome | tuple[str, float], float]]) -> None:
        if not endings:
            return
        self.tick()
        self.write(
            [
                SettledJob(job, self.decide_settlement(job, outcome_spec, chance))
                for job, outcome_spec, chance in endings.values()
            ]
        )

    def decide_settlement(self, job: Job, outcome_spec: Outcome | tuple[str, float], chance: float) -> Settlement:
        outcome = (
            Defer(self.clock.now + timedelta(seconds=outcome_spec[1]), "later")
            if isinstance(outcome_spec, tuple)
            else outcome_spec
        )
        return self.use_unique_time(settlement.settle_job(job, outcome, POLICY, self.clock.now, chance))

    def use_unique_time(self, decided: Settlement) -> Settlement:
        if decided.run_at is None:
            return decided
        return replace(decided, run_at=self.instant((decided.run_at - self.clock.now).total_seconds()))

    def write(self, endings: list[SettledJob]) -> None:
        settled_before = {ending.job.id for ending in endings if self.model.is_ended_by(ending.job)}
        expected = {ending.job.id for ending in endings if self.model.settle(ending.job, clean(ending.settlement))}
        assert self.world.agree(lambda store: store.settle(endings)) - settled_before == expected

    @precondition(lambda self: self.list_held())
    @rule(some=st.lists(picks, min_size=1, max_size=5))
    def release(self, some: list[int]) -> None:
        self.tick()
        held = self.list_held()
        jobs = {held[pick % len(held)].id: held[pick % len(held)] for pick in some}.values()
        self.write([SettledJob(job, self.use_unique_time(settlement.release_job(job, self.clock.now))) for job in jobs])

    # What leaves, and what is heard of it

    @precondition(lambda self: self.list_unsent())
    @rule(pick=picks)
    def send(self, pick: int) -> None:
        unsent = self.list_unsent()
        job = unsent[pick % len(unsent)]
        self.tick()
        within: dict[str, Any] = {"send_within": SEND_WITHIN, "lookup_delay": LOOKUP_DELAY}
        intent = NewIntent(job_id=job.id, token=job.token, step="post", position=0, number=1, **within)
        (entry,) = self.world.agree(lambda store: store.record_intents([intent]))
        assert (entry is not None) is self.model.send(job, timedelta(seconds=SEND_WITHIN + LOOKUP_DELAY))
        self.update_running(job, may_be_live=True, lookup_at=self.model.jobs[job.id].lookup_at)

    send_more = send

    @precondition(lambda self: self.list_in_doubt())
    @rule(pick=picks)
    def receive_response(self, pick: int) -> None:
        """Receive a response, perhaps late."""
        self.tick()
        in_doubt = self.list_in_doubt()
        job_id = in_doubt[pick % len(in_doubt)].id
        receipt = Receipt(remote_id=str(job_id))
        entry = ReceiptEntry(
            step="post", number=1, verdict=Verdict.ACCEPTED, source=ReceiptSource.CALL, receipt=receipt
        )
        self.world.agree(lambda store: store.record_receipt(job_id, entry))
        self.model.receive_response(job_id)
        for job in self.list_held():
            if job.id == job_id:
                self.update_running(job, lookup_at=None)

    def list_unsent(self) -> list[Job]:
        return [job for job in self.list_held() if not job.may_be_live]

    def list_in_doubt(self) -> list[Entry]:
        return [entry for entry in self.model.jobs.values() if entry.lookup_at is not None]

    def update_running(self, job: Job, **changed: Any) -> None:
        """Update the copy of a running job that its worker has."""
        self.claims[self.claims.index(job)] = replace(job, **changed)

    # Workers come and go

    @precondition(lambda self: self.model.list_in_state(State.RUNNING))
    @rule(dead=st.sets(st.sampled_from(WORKERS)), late=st.booleans())
    def rescue(self, dead: set[str], late: bool) -> None:
        """Rescue the jobs of dead workers; a `late` worker has one more heartbeat after the poll."""
        self.tick()
        heartbeats = {worker: self.model.workers.get(worker, 0) - late for worker in dead}
        orphans = self.model.remove_workers(heartbeats)
        times = {entry.id: self.instant(0) for entry in orphans}

        def decide(job: Job, now: datetime, is_suspect: bool = True) -> Settlement:
            decided = settlement.rescue_job(job, now)
            if decided.run_at is None:
                return decided
            return replace(decided, run_at=times[job.id] + (decided.run_at - now))

        before = {entry.id: self.make_claimed_job(entry) for entry in orphans}
        for entry in orphans:
            self.model.end(entry, decide(before[entry.id], self.clock.now))
        endings = self.world.agree(lambda store: store.rescue(heartbeats, decide))
        assert [ending.job.id for ending in endings] == [entry.id for entry in orphans]

    def make_claimed_job(self, entry: Entry) -> Job:
        return next(job for job in self.claims if (job.id, job.token) == (entry.id, entry.token))

    @rule(worker=st.sampled_from(WORKERS))
    def retire_or_start(self, worker: str) -> None:
        if worker in self.model.workers:
            self.tick()
            del self.model.workers[worker]
            self.world.agree(lambda store: store.unregister_worker(worker))
        else:
            self.register(worker)

    def register(self, worker: str) -> None:
        self.tick()
        self.model.workers[worker] = 0
        self.marks[worker] = {}
        self.world.agree(lambda store: store.register_worker(WorkerInfo(id=worker, host="here", pid=7)))

    # By hand

    def act_manually(self, expected: Callable[[], None], act: Callable[[Store], Awaitable[Any]]) -> None:
        """Check that all stores do it, or refuse it for the same reason."""
        self.tick()

        async def attempt(store: Store) -> Any:
            try:
                return await act(store)
            except (Conflict, NotFound) as refused:
                return type(refused), str(refused)

        refusal: type[Exception] | None = None
        try:
            expected()
        except (Conflict, NotFound) as refused:
            refusal = type(refused)
        answer = self.world.agree(attempt)
        assert (answer[0] if isinstance(answer, tuple) else None) == refusal, (answer, refusal)
        if isinstance(answer, Job):
            self.check_job(answer)

    def has_sent(self, job_id: UUID) -> bool:
        return job_id in self.model.jobs and self.model.jobs[job_id].may_be_live

    def pick_job(self, pick: int, apt: bool, *states: State) -> UUID:
        """Pick a job, usually in one of these states."""
        some = self.model.list_in_state(*(states if apt else State)) or list(self.model.jobs.values())
        return some[pick % len(some)].id if some else UUID(int=1)

    @precondition(lambda self: self.model.list_in_state(State.PENDING))
    @rule(pick=picks, apt=mostly)
    def cancel(self, pick: int, apt: bool) -> None:
        job_id = self.pick_job(pick, apt, State.PENDING)
        self.act_manually(lambda: self.model.cancel(job_id), lambda store: store.cancel_job(job_id, ACT))

    @precondition(lambda self: self.model.list_in_state(State.PENDING))
    @rule(pick=picks, apt=mostly)
    def dispatch_due_and_edit(self, pick: int, apt: bool) -> None:
        self.tick()
        expected = self.model.dispatch_due()
        assert self.world.agree(lambda store: store.dispatch_due()) == expected
        job_id = self.pick_job(pick, apt, State.PENDING)
        self.act_manually(lambda: self.model.edit(job_id, b"new"), lambda store: store.edit_job(job_id, b"new", ACT))

    @precondition(lambda self: self.model.list_in_state(State.PENDING))
    @rule(pick=picks, apt=mostly, after=when)
    def reschedule(self, pick: int, apt: bool, after: float | None) -> None:
        job_id = self.pick_job(pick, apt, State.PENDING)
        at = self.pick_time(after)
        self.act_manually(
            lambda: self.model.reschedule(job_id, at), lambda store: store.reschedule_job(job_id, at, ACT)
        )

    @precondition(lambda self: self.model.list_in_state(State.UNCERTAIN))
    @rule(pick=picks, apt=mostly, answer=st.sampled_from(("live", "again", "give up")))
    def resolve(self, pick: int, apt: bool, answer: str) -> None:
        job_id = self.pick_job(pick, apt, State.UNCERTAIN)
        if self.has_sent(job_id):
            return  # the ledger's machine asks people about those
        answers: dict[str, Done | Retry | Reject] = {
            "live": Done(remote_id=f"seen {job_id}"),
            "again": Retry("again"),
            "give up": Reject("nobody knows"),
        }
        result = answers[answer]
        self.act_manually(
            lambda: self.model.resolve(job_id, result),
            lambda store: store.resolve_job(job_id, result, ACT),
        )

    @precondition(lambda self: self.model.list_in_state(State.FAILED))
    @rule(pick=picks, apt=mostly, payload=st.sampled_from((None, b"better")), force=st.booleans())
    def replay(self, pick: int, apt: bool, payload: bytes | None, force: bool) -> None:
        job_id = self.pick_job(pick, apt, State.FAILED)
        if self.has_sent(job_id):
            return
        self.act_manually(
            lambda: self.model.replay(job_id, payload, force),
            lambda store: store.replay_dead_letter(job_id, payload, force, ACT),
        )

    @precondition(lambda self: self.model.list_in_state(State.FAILED))
    @rule(pick=picks, apt=mostly)
    def discard(self, pick: int, apt: bool) -> None:
        job_id = self.pick_job(pick, apt, State.FAILED)
        self.act_manually(lambda: self.model.discard(job_id), lambda store: store.discard_dead_letter(job_id, ACT))

    @precondition(lambda self: len(self.model.paused) < 2)
    @rule(gate=st.sampled_from(GATES))
    def pause(self, gate: tuple[Scope, str]) -> None:
        self.act_manually(lambda: self.model.pause(*gate), lambda store: store.pause(*gate, ACT))

    @precondition(lambda self: self.model.paused)
    @rule(gate=st.sampled_from(GATES), apt=mostly, pick=picks)
    def resume(self, gate: tuple[Scope, str], apt: bool, pick: int) -> None:
        paused = sorted(self.model.paused)
        gate = paused[pick % len(paused)] if apt and paused else gate
        self.act_manually(lambda: self.model.resume(*gate), lambda store: store.resume(*gate, ACT))

    @precondition(lambda self: len(self.model.caps) < 2)
    @rule(channel=st.sampled_from(CHANNELS), most=st.sampled_from((None, 0, 1, 1, 2, 3)))
    def cap(self, channel: str, most: int | None) -> None:
        self.act_manually(lambda: self.model.cap(channel, most), lambda store: store.set_cap(channel, most, ACT))

    # Time, and looking

    @rule(passed=seconds)
    def wait(self, passed: float) -> None:
        if self.clock.now - self.clock.started_at + timedelta(seconds=passed) < LONGEST:
            self.tick(max(TICK, timedelta(seconds=passed)))
            self.take(WORKERS[0], 0, {})  # a worker without a free slot looks too, and reads the hints

    @precondition(lambda self: self.model.list_in_state(State.PENDING, State.FAILED))
    @rule()
    def look(self) -> None:
        self.tick()
        self.take(WORKERS[0], 0, {})

    def check_job(self, job: Job) -> None:
        expected = self.model.jobs[job.id].to_stored_fields()
        assert {name: getattr(job, name) for name in expected} == expected, job

    @invariant()
    def every_job_matches_the_model(self) -> None:
        jobs = self.world.agree(lambda store: store.jobs(JobFilter(limit=EVERYTHING)))
        assert {job.id for job in jobs} == self.model.jobs.keys()
        assert len(jobs) == len(self.model.jobs), "a job is listed twice"
        for job in jobs:
            self.check_job(job)
            is_held = job.state is State.RUNNING and job.token and job.claimed_by
            assert job.state.is_final or is_held or job.run_at or job.state is State.UNCERTAIN, f"forgotten: {job}"

    @invariant()
    def every_job_is_reachable(self) -> None:
        assert self.world.on_all(lambda side: side.store.unreachable_jobs()) == [[] for _ in self.world.sides]

    @invariant()
    def all_runnable_jobs_can_be_claimed(self) -> None:
        for side, claimable_jobs in zip(
            self.world.sides, self.world.on_all(lambda side: side.list_all_claimable()), strict=True
        ):
            entries = [self.model.jobs[job.id] for job in claimable_jobs]
            assert all(entry in self.model.list_claimable() for entry in entries), (side.name, claimable_jobs)
            assert self.model.can_run_together(entries), (side.name, claimable_jobs)
            waiting = [entry for entry in self.model.list_claimable() if entry not in entries]
            assert len(entries) == self.model.count_claimable(), f"{side.name} does not claim these: {waiting}"

    def teardown(self) -> None:
        if sys.exc_info()[0] is None:  # Hypothesis calls this after a failure too, which must stay the reported one
            self.check_records()
            self.finish_everything()

    def check_records(self) -> None:
        letters = self.world.agree(lambda store: store.dead_letters(DeadLetterFilter(resolved=True, limit=EVERYTHING)))
        letters_by_job = {(letter.job.id, letter.job.generation): letter for letter in letters}
        assert letters_by_job.keys() == self.model.letters.keys()
        for key, letter in letters_by_job.items():
            expected = self.model.letters[key]
            assert (letter.cause, len(letter.history)) == (expected.cause, expected.history)
            assert letter.resolution == expected.resolution
        for job_id, entry in self.model.jobs.items():
            attempts = self.world.agree(lambda store, job_id=job_id: store.attempts(job_id))  # type: ignore[misc]
            assert len(attempts) == entry.history
        trail = self.world.agree(lambda store: store.audit(EVERYTHING))[::-1]
        assert [(line.action, line.subject) for line in trail] == self.model.audit
        assert find_broken_entry(trail) is None
        self.world.agree(lambda store: store.gates())
        self.world.agree(lambda store: store.queue_depths())
        assert {worker.id for worker in self.world.agree(lambda store: store.workers())} == self.model.workers.keys()
        self.check_events()

    def check_events(self) -> None:
        expected = {name: count for name, count in self.model.events.items() if count}
        for _ in range(200):  # an event may be hidden while any transaction runs, also one of the server
            counts = self.world.on_all(lambda side: side.store.events(Cursor(), EVERYTHING))
            if all(count_events(events) == expected for events in counts):
                return
            time.sleep(0.01)
        raise AssertionError([count_events(events) for events in counts], expected)

    def finish_everything(self) -> None:
        """Check that every job can end once all gates are open and time has passed."""
        for gate in sorted(self.model.paused):
            self.resume(gate, False, 0)
        for channel in list(self.model.caps):
            self.cap(channel, None)
        self.rescue(set(), False)
        if WORKERS[0] not in self.model.workers:
            self.register(WORKERS[0])
        self.end({job.id: (job, Done(), 0) for job in self.list_held()})
        self.tick(timedelta(days=3))
        while self.take(WORKERS[0], 7, {}):
            self.end({job.id: (job, Done(), 0) for job in self.list_held()})
        left = self.model.list_in_state(State.PENDING, State.RUNNING)
        assert not left, f"never finished: {left}"


def count_events(events: Sequence[Event]) -> Counter[str]:
    """Count the events of each type, per job: one event may be about several jobs."""
    counted: Counter[str] = Counter()
    for event in events:
        counted[event.type] += len(event.data["jobs"]) if event.type == EventType.CLAIMED else 1
    return counted


def by_id(jobs: list[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: job.id)


def clean(decided: Settlement) -> Settlement:
    """Remove NUL from texts, which no database stores."""
    return replace(decided, error=decided.error.replace("\x00", "\\x00") if decided.error else None)
