"""What a store must do, as dictionaries and lists.

The model takes outcomes from `postino.rules` and has its own idea of everything else: who may be claimed, in which
order, how many, and what each change leaves behind. It never looks at a store.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.rules.replay import find_replay_objection
from postino.rules.settlement import DeadLetterCause, Settlement, settle_resolution
from postino.stores.records import NewJob
from postino.values.event import EventType
from postino.values.gate import Scope
from postino.values.job import Job, Queue, State, get_lane
from postino.values.outcome import Done, Reject, Retry

PATIENCE_OF_LOW = timedelta(seconds=60)


class BrokenPromise(AssertionError):
    """A store did what no store may do."""


@dataclass(repr=False)
class Entry:
    """One job, as the model sees it."""

    id: UUID
    channel: str
    queue: Queue
    account: str | None
    brand: str | None
    key: str | None
    payload: bytes
    scheduled_at: datetime
    run_at: datetime | None
    state: State = State.PENDING
    attempts: int = 0
    generation: int = 1
    rescues: int = 0
    deferrals: int = 0
    deferral_reason: str | None = None
    last_error: str | None = None
    worker: str | None = None
    token: UUID | None = None
    ended_by: UUID | None = None
    dispatched: bool = False
    history: int = 0
    may_be_live: bool = False
    lookup_at: datetime | None = None

    @property
    def started(self) -> bool:
        """What an account or brand has started to send waits in a line of its own, before all others."""
        return self.may_be_live and self.line[1] is not None

    @property
    def line(self) -> tuple[str, str | None]:
        """Where it waits: the line of its account or brand on its channel, or its channel's own."""
        return self.channel, get_lane(self.account, self.brand)

    def __repr__(self) -> str:
        where = f"{self.channel}/{self.queue.label} {self.line[1] or 'bulk'}"
        return f"<job {self.id.int % 10_000} {where} {self.state} at {self.run_at} #{self.attempts}>"

    def seen(self) -> dict[str, object]:
        """What must be read back from a store, word for word."""
        return {
            "state": self.state,
            "attempts": self.attempts,
            "run_at": self.run_at,
            "scheduled_at": self.scheduled_at,
            "deferrals": self.deferrals,
            "deferral_reason": self.deferral_reason,
            "rescues": self.rescues,
            "generation": self.generation,
            "last_error": self.last_error,
            "payload": self.payload,
            "may_be_live": self.may_be_live,
        } | ({} if self.state.is_final else {"token": self.token, "lookup_at": self.lookup_at})


@dataclass
class Letter:
    """A dead letter."""

    cause: DeadLetterCause
    history: int
    resolution: str | None = None


@dataclass
class Model:
    """Everything a store holds, and what it must do next."""

    now: datetime
    jobs: dict[UUID, Entry] = field(default_factory=dict)
    keys: dict[tuple[str, str], UUID] = field(default_factory=dict)
    paused: set[tuple[Scope, str]] = field(default_factory=set)
    caps: dict[str, int] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)
    letters: dict[tuple[UUID, int], Letter] = field(default_factory=dict)
    events: Counter[str] = field(default_factory=Counter)
    audit: list[tuple[str, str]] = field(default_factory=list)
    low_was_moved: bool = False  # since the last claim: until then a lane may look due earlier than it is

    # Enqueue

    def enqueue(self, new: NewJob) -> tuple[UUID, bool]:
        if new.key is not None and (new.channel, new.key) in self.keys:
            return self.keys[new.channel, new.key], False
        if new.key is not None:
            self.keys[new.channel, new.key] = new.id
        wanted = new.run_at or self.now
        self.jobs[new.id] = Entry(
            new.id, new.channel, new.queue, new.account, new.brand, new.key, new.payload, wanted, max(wanted, self.now)
        )
        return new.id, True

    # Claim

    def in_state(self, *states: State) -> list[Entry]:
        return [entry for entry in self.jobs.values() if entry.state in states]

    def may_run(self, entry: Entry) -> bool:
        """Due, and behind no closed gate: whether anything else stands in its way depends on what runs beside it.

        What has started is not stopped half-way by a person's pause.
        """
        gates = {(Scope.ALL, ""), (Scope.QUEUE, entry.queue.label), (Scope.CHANNEL, entry.channel)}
        gates |= {(Scope.BRAND, entry.brand)} if entry.brand is not None else set()
        gates |= {(Scope.ACCOUNT, entry.account)} if entry.account is not None else set()
        waiting = entry.state in (State.PENDING, State.UNCERTAIN)
        due = entry.run_at is not None and entry.run_at <= self.now
        return waiting and due and (entry.started or not gates & self.paused)

    def under_way(self) -> list[Entry]:
        """What runs, and what may still be on its way although its worker is gone."""
        lost = [e for e in self.in_state(State.UNCERTAIN) if e.lookup_at is not None and e.lookup_at > self.now]
        return self.in_state(State.RUNNING) + lost

    def brand_room(self, channel: str, brand: str | None) -> int:
        """One brand never holds all slots of a capped channel."""
        if brand is None or channel not in self.caps:
            return 10**9
        busy = [entry for entry in self.under_way() if (entry.channel, entry.brand) == (channel, brand)]
        return max(1, self.caps[channel] - 1) - len(busy)

    def fit(self, together: Iterable[Entry]) -> bool:
        """Whether all these may run beside what is under way: one for each account's lane, no channel over its cap."""
        new = list(together)
        others = [entry for entry in self.under_way() if entry not in new]
        narrow = Counter(entry.line for entry in [*others, *new] if entry.account is not None)
        load = Counter(entry.channel for entry in [*others, *new])
        touched = {entry.channel for entry in new}
        brands = Counter((entry.channel, entry.brand) for entry in new)
        return (
            all(narrow[entry.line] == 1 for entry in new if entry.account is not None)
            and all(load[channel] <= cap for channel, cap in self.caps.items() if channel in touched)
            and all(brands[e.channel, e.brand] <= self.brand_room(e.channel, e.brand) for e in new if not e.started)
        )

    def claimable(self) -> list[Entry]:
        """Each of these may run now, though perhaps not all together."""
        waiting = self.in_state(State.PENDING, State.UNCERTAIN)
        return [entry for entry in waiting if self.may_run(entry) and self.fit([entry])]

    def most_claimable(self) -> int:
        """How many can be taken together: an account's lane gives one, a brand and a channel what their caps leave."""
        taken: list[Entry] = []
        for entry in sorted(self.claimable(), key=lambda entry: not entry.started):
            if self.fit([*taken, entry]):
                taken.append(entry)
        return len(taken)

    def holds_low(self, worker: str) -> bool:
        return any(e.worker == worker and e.queue is Queue.LOW for e in self.in_state(State.RUNNING))

    def check_claim(self, worker: str, claimed: list[Entry], free: int) -> None:
        """Refuses a claim that took what it may not, in the wrong order, or too few."""
        candidates = self.claimable() if worker in self.workers else []
        most = self.most_claimable() if worker in self.workers else 0
        for entry in claimed:
            if entry not in candidates:
                raise BrokenPromise(f"not claimable, yet claimed: {entry}")
        if not self.fit(claimed):
            raise BrokenPromise(f"a lane twice, or a channel over its cap: {claimed}")
        if len(claimed) != min(free, most):
            raise BrokenPromise(f"{len(claimed)} claimed with {free} free and {most} to be had: {claimed}")
        left = [entry for entry in candidates if entry not in claimed]
        first = self.may_go_first(worker, candidates, claimed, free)
        complaints = [self.overtaking(claimed, left, exempt) for exempt in [None, *first]]
        if all(complaints):
            raise BrokenPromise(complaints[0])

    def may_go_first(self, worker: str, candidates: list[Entry], claimed: list[Entry], free: int) -> list[Entry]:
        """One of these may have gone before all others, because `low` has waited for a minute.

        A job behind a gate counts as waiting, though it gets nothing from it: stores see when a line is due, not why
        its head cannot go. So does one that was cancelled or rescheduled, until the next claim.
        """
        if self.holds_low(worker) or not free:
            return []
        low = [entry for entry in claimed if entry.queue is Queue.LOW and not entry.started]
        waiting = self.in_state(State.PENDING, State.UNCERTAIN)
        starving = [
            entry for entry in waiting if entry.queue is Queue.LOW and not entry.started and self.starves(entry)
        ]
        reachable = [entry for entry in starving if entry in candidates]
        # What has started goes first, and a lane in which something may be on its way waits from the end of that.
        in_doubt = any(entry.lookup_at is not None for entry in self.jobs.values())
        exact = reachable == starving and not self.low_was_moved and not in_doubt
        if exact and reachable and not low:
            raise BrokenPromise(f"low starves: {claimed} instead of {reachable}")
        return low if starving or self.low_was_moved else []

    def overtaking(self, claimed: list[Entry], left: list[Entry], exempt: Entry | None) -> str | None:
        """Could one left behind have had the place of one of lower rank, or of a younger one of its own line?"""
        for taken in claimed:
            for waiting in left:
                swapped = [waiting if entry is taken else entry for entry in claimed]
                same_line = (taken.line, taken.started) == (waiting.line, waiting.started)
                if same_line and waiting.started and self.due(waiting) < self.due(taken):
                    return f"overtaken among what has started: {waiting} by {taken}, of {claimed}"
                if same_line and taken.queue == waiting.queue and self.due(waiting) < self.due(taken):
                    return f"overtaken in its own line: {waiting} by {taken}, of {claimed}"
                if waiting.started and not taken.started and self.fit(swapped):
                    return f"overtaken although it has started: {waiting} by {taken}, of {claimed}"
                behind = not waiting.started and not taken.started and waiting.queue < taken.queue
                if taken is not exempt and behind and self.fit(swapped):
                    return f"overtaken by a lower rank: {waiting} by {taken}, of {claimed}"
        return None

    def starves(self, entry: Entry) -> bool:
        return entry.run_at is not None and self.now - entry.run_at >= PATIENCE_OF_LOW

    def due(self, entry: Entry) -> datetime:
        assert entry.run_at is not None
        return entry.run_at

    def claim(self, worker: str, token: UUID, ids: Iterable[UUID], free: int) -> None:
        claimed = [self.jobs[job_id] for job_id in ids]
        self.check_claim(worker, claimed, free)
        for entry in claimed:
            entry.state, entry.worker, entry.token = State.RUNNING, worker, token
            entry.attempts += 1
            entry.deferral_reason = None
        self.events[EventType.CLAIMED] += len(claimed)
        self.low_was_moved = False

    def send(self, job: Job, within: timedelta) -> bool:
        """Something is about to leave: whether the claim still stands."""
        entry = self.jobs[job.id]
        if entry.token != job.token or entry.state is not State.RUNNING:
            return False
        entry.may_be_live = True
        entry.lookup_at = max(self.now + within, entry.lookup_at or self.now)
        return True

    def hear(self, job_id: UUID) -> None:
        """What became of all that has left is known."""
        entry = self.jobs[job_id]
        entry.lookup_at = None
        if entry.state is State.UNCERTAIN:
            entry.run_at = self.now

    # Settle

    def settle(self, job: Job, settlement: Settlement) -> bool:
        """Only while the claim stands: whether it did."""
        entry = self.jobs[job.id]
        if entry.token != job.token or entry.state is not State.RUNNING:
            return False
        self.end(entry, settlement)
        return True

    def ended(self, job: Job) -> bool:
        """Whether this very claim brought the job to its end: telling it again after a lost answer is no news."""
        entry = self.jobs[job.id]
        return entry.state.is_final and entry.ended_by is not None and entry.ended_by == job.token

    def end(self, entry: Entry, settlement: Settlement) -> None:
        final = settlement.state.is_final
        entry.state = settlement.state
        entry.ended_by = entry.token if final else None
        entry.token = entry.worker = None
        entry.last_error = settlement.error or entry.last_error
        entry.history += final or settlement.event not in (None, EventType.DEFERRED)
        entry.deferral_reason = None if final else settlement.deferral_reason
        if not final:
            entry.run_at, entry.dispatched = settlement.run_at, False
            entry.attempts -= settlement.refund
            entry.rescues += settlement.rescued
            entry.deferrals += settlement.deferral_reason is not None
        if settlement.state is State.FAILED:
            assert settlement.cause is not None
            self.letters[entry.id, entry.generation] = Letter(settlement.cause, entry.history)
        if settlement.event is not None:
            self.events[settlement.event] += 1

    def bury(self, dead: Mapping[str, int]) -> list[Entry]:
        """Ends workers whose beats stand where they were seen; the jobs nobody holds."""
        self.workers = {name: heartbeats for name, heartbeats in self.workers.items() if dead.get(name) != heartbeats}
        orphans = [entry for entry in self.in_state(State.RUNNING) if entry.worker not in self.workers]
        return sorted(orphans, key=lambda entry: entry.id)

    # By hand

    def wanted(self, job_id: UUID, *states: State) -> Entry:
        if job_id not in self.jobs:
            raise NotFound
        if self.jobs[job_id].state not in states:
            raise Conflict
        return self.jobs[job_id]

    def record(self, entry: Entry, done: EventType) -> None:
        self.events[done] += 1
        self.audit.append((done, str(entry.id)))

    def unsent(self, job_id: UUID) -> Entry:
        entry = self.wanted(job_id, State.PENDING)
        if entry.may_be_live:
            raise Conflict
        return entry

    def cancel(self, job_id: UUID) -> None:
        entry = self.unsent(job_id)
        entry.state, entry.deferral_reason = State.CANCELLED, None
        self.low_was_moved |= entry.queue is Queue.LOW
        self.record(entry, EventType.CANCELLED)

    def edit(self, job_id: UUID, payload: bytes) -> None:
        entry = self.unsent(job_id)
        entry.payload = payload
        self.record(entry, EventType.EDITED)

    def reschedule(self, job_id: UUID, run_at: datetime | None) -> None:
        entry = self.unsent(job_id)
        entry.scheduled_at = run_at or self.now
        self.low_was_moved |= entry.queue is Queue.LOW
        entry.run_at = max(entry.scheduled_at, self.now)
        entry.deferral_reason, entry.dispatched = None, False
        self.record(entry, EventType.RESCHEDULED)

    def resolve(self, job_id: UUID, said: Done | Retry | Reject) -> None:
        entry = self.wanted(job_id, State.UNCERTAIN)
        self.end(entry, settle_resolution(said, self.now, entry.last_error or entry.deferral_reason))
        self.record(entry, EventType.RESOLVED)

    def open_letter(self, job_id: UUID) -> tuple[Entry, Letter]:
        entry = self.wanted(job_id, State.FAILED)
        letter = self.letters[job_id, entry.generation]
        if letter.resolution:
            raise Conflict
        return entry, letter

    def replay(self, job_id: UUID, payload: bytes | None, force: bool) -> None:
        entry, letter = self.open_letter(job_id)
        if find_replay_objection(letter.cause, edited=payload is not None, force=force):
            raise Conflict
        letter.resolution = "replayed"
        entry.state, entry.run_at, entry.dispatched = State.PENDING, self.now, False
        entry.payload = entry.payload if payload is None else payload
        entry.attempts = entry.rescues = entry.deferrals = 0
        entry.generation += 1
        self.record(entry, EventType.REPLAYED)

    def discard(self, job_id: UUID) -> None:
        _, letter = self.open_letter(job_id)
        letter.resolution = "discarded"
        self.audit.append(("dead_letter.discarded", str(job_id)))

    def pause(self, scope: Scope, name: str) -> None:
        self.paused.add((scope, name))
        self.events[EventType.PAUSED] += 1
        self.audit.append((EventType.PAUSED, f"{scope}:{name}"))

    def resume(self, scope: Scope, name: str) -> None:
        if (scope, name) not in self.paused:
            raise NotFound
        self.paused.remove((scope, name))
        self.events[EventType.RESUMED] += 1
        self.audit.append((EventType.RESUMED, f"{scope}:{name}"))

    def cap(self, channel: str, most: int | None) -> None:
        self.caps.pop(channel, None)
        if most is not None:
            self.caps[channel] = most
        self.audit.append(("gate.capped", f"{Scope.CHANNEL}:{channel}"))

    def dispatch_due(self) -> int:
        due = [e for e in self.in_state(State.PENDING) if self.due(e) <= self.now and not e.dispatched]
        for entry in due:
            entry.dispatched = True
        return len(due)
