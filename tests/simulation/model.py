"""A model of a store, made of dictionaries and lists.

The model takes settlements from `postino.rules` and decides everything else itself: which jobs can be claimed, in which
order, how many, and what each change stores. It never reads a store.
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


class ModelViolation(AssertionError):
    """A store did something that the model does not allow."""


@dataclass(repr=False)
class Entry:
    """One job in the model."""

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
        """Return whether the job has started to send: such jobs have their own line, before all others."""
        return self.may_be_live and self.line[1] is not None

    @property
    def line(self) -> tuple[str, str | None]:
        """Return the line of the job: its lane on its channel, or the channel itself."""
        return self.channel, get_lane(self.account, self.brand)

    def __repr__(self) -> str:
        where = f"{self.channel}/{self.queue.label} {self.line[1] or 'bulk'}"
        return f"<job {self.id.int % 10_000} {where} {self.state} at {self.run_at} #{self.attempts}>"

    def to_stored_fields(self) -> dict[str, object]:
        """Return the fields that a store must return exactly."""
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
    """The content of a store, and what it must do next."""

    now: datetime
    jobs: dict[UUID, Entry] = field(default_factory=dict)
    keys: dict[tuple[str, str], UUID] = field(default_factory=dict)
    paused: set[tuple[Scope, str]] = field(default_factory=set)
    caps: dict[str, int] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)
    letters: dict[tuple[UUID, int], Letter] = field(default_factory=dict)
    events: Counter[str] = field(default_factory=Counter)
    audit: list[tuple[str, str]] = field(default_factory=list)
    low_was_moved: bool = False  # since the last claim: until then a lane may seem due earlier than it is

    # Enqueue

    def enqueue(self, new: NewJob) -> tuple[UUID, bool]:
        if new.key is not None and (new.channel, new.key) in self.keys:
            return self.keys[new.channel, new.key], False
        if new.key is not None:
            self.keys[new.channel, new.key] = new.id
        scheduled_at = new.run_at or self.now
        self.jobs[new.id] = Entry(
            new.id,
            new.channel,
            new.queue,
            new.account,
            new.brand,
            new.key,
            new.payload,
            scheduled_at,
            max(scheduled_at, self.now),
        )
        return new.id, True

    # Claim

    def list_in_state(self, *states: State) -> list[Entry]:
        return [entry for entry in self.jobs.values() if entry.state in states]

    def is_paused(self, entry: Entry) -> bool:
        """Return whether a pause holds the job: it does not hold a started job."""
        gates = {(Scope.ALL, ""), (Scope.QUEUE, entry.queue.label), (Scope.CHANNEL, entry.channel)}
        gates |= {(Scope.BRAND, entry.brand)} if entry.brand is not None else set()
        gates |= {(Scope.ACCOUNT, entry.account)} if entry.account is not None else set()
        return not entry.started and bool(gates & self.paused)

    def can_run(self, entry: Entry) -> bool:
        """Return whether the job is due and no gate blocks it; caps and lanes are checked elsewhere."""
        waiting = entry.state in (State.PENDING, State.UNCERTAIN)
        due = entry.run_at is not None and entry.run_at <= self.now
        return waiting and due and not self.is_paused(entry)

    def list_under_way(self) -> list[Entry]:
        """Return the running jobs, and those whose request may still arrive although the worker is dead."""
        lost = [e for e in self.list_in_state(State.UNCERTAIN) if e.lookup_at is not None and e.lookup_at > self.now]
        return self.list_in_state(State.RUNNING) + lost

    def count_brand_slots(self, channel: str, brand: str | None) -> int:
        """Return the free slots of a brand: it never holds all slots of a capped channel."""
        if brand is None or channel not in self.caps:
            return 10**9
        busy = [entry for entry in self.list_under_way() if (entry.channel, entry.brand) == (channel, brand)]
        return max(1, self.caps[channel] - 1) - len(busy)

    def can_run_together(self, together: Iterable[Entry]) -> bool:
        """Return whether these may run together: one for each lane of an account, no channel above its cap."""
        new = list(together)
        others = [entry for entry in self.list_under_way() if entry not in new]
        narrow = Counter(entry.line for entry in [*others, *new] if entry.account is not None)
        load = Counter(entry.channel for entry in [*others, *new])
        touched = {entry.channel for entry in new}
        brands = Counter((entry.channel, entry.brand) for entry in new)
        return (
            all(narrow[entry.line] == 1 for entry in new if entry.account is not None)
            and all(load[channel] <= cap for channel, cap in self.caps.items() if channel in touched)
            and all(brands[e.channel, e.brand] <= self.count_brand_slots(e.channel, e.brand) for e in new)
        )

    def list_claimable(self) -> list[Entry]:
        """Return the jobs that may run now, though perhaps not all together."""
        waiting = self.list_in_state(State.PENDING, State.UNCERTAIN)
        return [entry for entry in waiting if self.can_run(entry) and self.can_run_together([entry])]

    def count_claimable(self) -> int:
        """Return how many jobs can be claimed together, within lanes, brand shares and caps."""
        taken: list[Entry] = []
        for entry in sorted(self.list_claimable(), key=lambda entry: not entry.started):
            if self.can_run_together([*taken, entry]):
                taken.append(entry)
        return len(taken)

    def holds_low(self, worker: str) -> bool:
        return any(e.worker == worker and e.queue is Queue.LOW for e in self.list_in_state(State.RUNNING))

    def check_claim(self, worker: str, claimed: list[Entry], free: int) -> None:
        """Raise if a claim took a wrong job, in the wrong order, or too few jobs."""
        candidates = self.list_claimable() if worker in self.workers else []
        most = self.count_claimable() if worker in self.workers else 0
        for entry in claimed:
            if entry not in candidates:
                raise ModelViolation(f"not claimable, yet claimed: {entry}")
        if not self.can_run_together(claimed):
            raise ModelViolation(f"a lane twice, or a channel over its cap: {claimed}")
        if len(claimed) != min(free, most):
            raise ModelViolation(f"{len(claimed)} claimed with {free} free and {most} to be had: {claimed}")
        left = [entry for entry in candidates if entry not in claimed]
        first = self.list_exempt(worker, candidates, claimed, free)
        complaints = [self.find_overtaken(claimed, left, exempt) for exempt in [None, *first]]
        if all(complaints):
            raise ModelViolation(complaints[0])

    def list_exempt(self, worker: str, candidates: list[Entry], claimed: list[Entry], free: int) -> list[Entry]:
        """Return the jobs that may go before all others, because `low` has waited for a minute.

        A gated job counts as waiting: stores know when a line is due, not why its first job is blocked. A cancelled or
        rescheduled job counts too, until the next claim.
        """
        if self.holds_low(worker) or not free:
            return []
        low = [entry for entry in claimed if entry.queue is Queue.LOW and not entry.started]
        waiting = self.list_in_state(State.PENDING, State.UNCERTAIN)
        starving = [
            entry for entry in waiting if entry.queue is Queue.LOW and not entry.started and self.is_starving(entry)
        ]
        reachable = [entry for entry in starving if entry in candidates]
        # Started jobs go first, and a lane with an open request waits from the end of its quarantine.
        in_doubt = any(entry.lookup_at is not None for entry in self.jobs.values())
        exact = reachable == starving and not self.low_was_moved and not in_doubt
        if exact and reachable and not low:
            raise ModelViolation(f"low starves: {claimed} instead of {reachable}")
        return low if starving or self.low_was_moved else []

    def find_overtaken(self, claimed: list[Entry], left: list[Entry], exempt: Entry | None) -> str | None:
        """Describe a waiting job that should have been claimed instead of a lower or later one, if there is one."""
        for taken in claimed:
            for waiting in left:
                swapped = [waiting if entry is taken else entry for entry in claimed]
                same_line = (taken.line, taken.started) == (waiting.line, waiting.started)
                if same_line and waiting.started and self.get_due_time(waiting) < self.get_due_time(taken):
                    return f"overtaken among what has started: {waiting} by {taken}, of {claimed}"
                if same_line and taken.queue == waiting.queue and self.get_due_time(waiting) < self.get_due_time(taken):
                    return f"overtaken in its own line: {waiting} by {taken}, of {claimed}"
                if self.has_first_share(waiting, claimed):
                    continue  # the rest of its brand's slots is what the queues leave
                if waiting.started and not taken.started and self.can_run_together(swapped):
                    return f"overtaken although it has started: {waiting} by {taken}, of {claimed}"
                behind = not waiting.started and not taken.started and waiting.queue < taken.queue
                if taken is not exempt and behind and self.can_run_together(swapped):
                    return f"overtaken by a lower rank: {waiting} by {taken}, of {claimed}"
        return None

    def has_first_share(self, waiting: Entry, claimed: Iterable[Entry]) -> bool:
        """Return whether the job is urgent, and its brand holds the slots that it gets before all others."""
        is_urgent = waiting.started or waiting.queue is Queue.HIGH
        if not is_urgent or waiting.brand is None or waiting.channel not in self.caps:
            return False
        urgent = [entry for entry in claimed if entry.started or entry.queue is Queue.HIGH]
        busy = [
            e for e in [*self.list_under_way(), *urgent] if (e.channel, e.brand) == (waiting.channel, waiting.brand)
        ]
        return len(busy) >= max(1, self.caps[waiting.channel] // 2)

    def is_starving(self, entry: Entry) -> bool:
        return entry.run_at is not None and self.now - entry.run_at >= PATIENCE_OF_LOW

    def get_due_time(self, entry: Entry) -> datetime:
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
        """Record an intent to send; return whether the claim is still valid and no pause holds the job."""
        entry = self.jobs[job.id]
        if entry.token != job.token or entry.state is not State.RUNNING or self.is_paused(entry):
            return False
        entry.may_be_live = True
        entry.lookup_at = max(self.now + within, entry.lookup_at or self.now)
        return True

    def receive_response(self, job_id: UUID) -> None:
        """Record the response to everything that was sent."""
        entry = self.jobs[job_id]
        entry.lookup_at = None
        if entry.state is State.UNCERTAIN:
            entry.run_at = self.now

    # Settle

    def settle(self, job: Job, settlement: Settlement) -> bool:
        """Settle a job if the claim is still valid; return whether it was."""
        entry = self.jobs[job.id]
        if entry.token != job.token or entry.state is not State.RUNNING:
            return False
        self.end(entry, settlement)
        return True

    def is_ended_by(self, job: Job) -> bool:
        """Return whether this claim ended the job: settling it again after a lost response changes nothing."""
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

    def remove_workers(self, dead: Mapping[str, int]) -> list[Entry]:
        """Remove workers whose heartbeats have stopped; return their jobs."""
        self.workers = {name: heartbeats for name, heartbeats in self.workers.items() if dead.get(name) != heartbeats}
        orphans = [entry for entry in self.list_in_state(State.RUNNING) if entry.worker not in self.workers]
        return sorted(orphans, key=lambda entry: entry.id)

    # Manual actions

    def require_state(self, job_id: UUID, *states: State) -> Entry:
        if job_id not in self.jobs:
            raise NotFound
        if self.jobs[job_id].state not in states:
            raise Conflict
        return self.jobs[job_id]

    def record(self, entry: Entry, event: EventType) -> None:
        self.events[event] += 1
        self.audit.append((event, str(entry.id)))

    def require_unsent(self, job_id: UUID) -> Entry:
        entry = self.require_state(job_id, State.PENDING)
        if entry.may_be_live:
            raise Conflict
        return entry

    def cancel(self, job_id: UUID) -> None:
        entry = self.require_unsent(job_id)
        entry.state, entry.deferral_reason = State.CANCELLED, None
        self.low_was_moved |= entry.queue is Queue.LOW
        self.record(entry, EventType.CANCELLED)

    def edit(self, job_id: UUID, payload: bytes) -> None:
        entry = self.require_unsent(job_id)
        entry.payload = payload
        self.record(entry, EventType.EDITED)

    def reschedule(self, job_id: UUID, run_at: datetime | None) -> None:
        entry = self.require_unsent(job_id)
        entry.scheduled_at = run_at or self.now
        self.low_was_moved |= entry.queue is Queue.LOW
        entry.run_at = max(entry.scheduled_at, self.now)
        entry.deferral_reason, entry.dispatched = None, False
        self.record(entry, EventType.RESCHEDULED)

    def resolve(self, job_id: UUID, resolution: Done | Retry | Reject) -> None:
        entry = self.require_state(job_id, State.UNCERTAIN)
        self.end(entry, settle_resolution(resolution, self.now, entry.last_error or entry.deferral_reason))
        self.record(entry, EventType.RESOLVED)

    def get_open_letter(self, job_id: UUID) -> tuple[Entry, Letter]:
        entry = self.require_state(job_id, State.FAILED)
        letter = self.letters[job_id, entry.generation]
        if letter.resolution:
            raise Conflict
        return entry, letter

    def replay(self, job_id: UUID, payload: bytes | None, force: bool) -> None:
        entry, letter = self.get_open_letter(job_id)
        if find_replay_objection(letter.cause, edited=payload is not None, force=force):
            raise Conflict
        letter.resolution = "replayed"
        entry.state, entry.run_at, entry.dispatched = State.PENDING, self.now, False
        entry.payload = entry.payload if payload is None else payload
        entry.attempts = entry.rescues = entry.deferrals = 0
        entry.generation += 1
        self.record(entry, EventType.REPLAYED)

    def discard(self, job_id: UUID) -> None:
        _, letter = self.get_open_letter(job_id)
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
        due = [e for e in self.list_in_state(State.PENDING) if self.get_due_time(e) <= self.now and not e.dispatched]
        for entry in due:
            entry.dispatched = True
        return len(due)
