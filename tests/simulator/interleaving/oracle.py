"""What must be true after each commit, whatever ran at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from postino.rules.gates import is_blocking
from postino.stores.records import EnqueuedJob, SettledJob
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job
from postino.values.ledger import Verdict
from postino.values.outcome import Reject, Retry

if TYPE_CHECKING:
    from tests.simulator.interleaving.actor import Actor
    from tests.simulator.interleaving.life import Life


@dataclass(slots=True)
class KnownJob:
    """What the commits so far make of a job."""

    number: int
    payload: bytes
    key: str | None
    token: UUID | None = None  # of the claim that holds it
    is_cancelled: bool = False
    is_ended: bool = False
    intents: dict[int, Verdict | None] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        return Verdict.ACCEPTED in self.intents.values()

    @property
    def may_be_live(self) -> bool:
        return self.is_live or None in self.intents.values()


class Oracle:
    """Hears of each commit in the order of the commits, and fails the life where one contradicts another."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.jobs: dict[UUID, KnownJob] = {}
        self.keys: dict[tuple[str, str], UUID] = {}
        self.closed: dict[tuple[Scope, str], int] = {}  # pauses, with the step of their commit
        self.blackouts: dict[UUID, int] = {}  # of all hours, on the brand
        self.caps: dict[str, int | None] = {}
        self.duty_until: datetime | None = None

    def describe(self, job_id: UUID) -> str:
        known = self.jobs.get(job_id)
        return f"job {known.number}" if known else f"unknown job {job_id}"

    def list_open(self) -> list[UUID]:
        return [job_id for job_id, known in self.jobs.items() if not known.is_ended]

    def enqueued(self, wanted: Sequence[tuple[str | None, bytes]], jobs: Iterable[EnqueuedJob]) -> None:
        for (key, payload), it in zip(wanted, jobs, strict=True):
            if it.created and it.job.id not in self.jobs:
                self.jobs[it.job.id] = KnownJob(len(self.jobs) + 1, payload, key)
                self.life.tell(f"{self.describe(it.job.id)} exists")
            if key is not None and self.keys.setdefault((it.job.channel, key), it.job.id) != it.job.id:
                self.life.fail(f"key: {key} belongs to two jobs")

    def claimed(self, actor: Actor, jobs: Iterable[Job]) -> None:
        for job in jobs:
            known, name = self.jobs[job.id], self.describe(job.id)
            if known.token is not None:
                self.life.fail(f"claimed twice: {name} is held by another claim")
            if known.is_cancelled:
                self.life.fail(f"cancelled: {name} was claimed after its cancel was confirmed")
            if known.payload != job.payload:
                self.life.fail(f"other payload: {name} was claimed with a payload that was replaced before")
            if job.run_at is None or job.claimed_at is None or job.run_at > job.claimed_at:
                self.life.fail(f"early: {name} was claimed before its time")
            for gate in self.list_gates(actor.begun_at):
                if is_blocking(gate, job):
                    self.life.fail(f"gate: {name} was claimed although {gate.scope} {gate.name} is closed")
            known.token = job.token

    def list_gates(self, step: int) -> list[Gate]:
        """Return the gates that were closed before this step, and have not been opened since."""
        pauses = [
            Gate(scope=scope, name=name, kind=GateKind.PAUSE) for (scope, name), at in self.closed.items() if at < step
        ]
        is_dark = any(at < step for at in self.blackouts.values())
        return pauses + ([Gate(scope=Scope.BRAND, name="rosso", kind=GateKind.BLACKOUT)] if is_dark else [])

    def settled(self, jobs: Iterable[SettledJob], stored: set[UUID]) -> None:
        for it in jobs:
            if it.job.id not in stored:
                continue
            known = self.jobs[it.job.id]
            if known.token != it.job.token:
                self.life.fail(f"fence: {self.describe(it.job.id)} was settled by a claim that no longer holds it")
            known.token, known.is_ended = None, it.settlement.state.is_final

    def rescued(self, jobs: Iterable[SettledJob]) -> None:
        for it in jobs:
            known = self.jobs[it.job.id]
            known.token, known.is_ended = None, it.settlement.state.is_final

    def intended(self, actor: Actor, job: Job, number: int) -> None:
        known, name = self.jobs[job.id], self.describe(job.id)
        if known.token != job.token:
            self.life.fail(f"fence: {name} got an intent of a claim that no longer holds it")
        if known.is_cancelled:
            self.life.fail(f"cancelled: {name} got an intent after its cancel was confirmed")
        if not known.may_be_live:
            for gate in self.list_gates(actor.statement_at):
                if gate.kind is GateKind.PAUSE and is_blocking(gate, job):
                    self.life.fail(f"gate: {name} got an intent although {gate.scope} {gate.name} is paused")
        known.intents.setdefault(number, None)

    def received(self, job_id: UUID, number: int, verdict: Verdict) -> None:
        known = self.jobs[job_id]
        if known.intents.get(number) is not Verdict.ACCEPTED:
            known.intents[number] = verdict

    def edited(self, job_id: UUID, payload: bytes) -> None:
        known, name = self.jobs[job_id], self.describe(job_id)
        if known.token is not None or known.may_be_live:
            self.life.fail(f"edited: {name} got another payload while it ran, or may be live")
        known.payload = payload

    def cancelled(self, job_id: UUID) -> None:
        known = self.jobs[job_id]
        if known.may_be_live:
            self.life.fail(f"cancelled: {self.describe(job_id)} was cancelled, and may be live")
        known.token, known.is_cancelled, known.is_ended = None, True, True

    def resolved(self, job: Job, verdict: Retry | Reject) -> None:
        known = self.jobs[job.id]
        known.is_ended = job.state.is_final
        if isinstance(verdict, Retry):  # a person says that nothing is live
            known.intents = {number: known_as or Verdict.REFUSED for number, known_as in known.intents.items()}

    def replayed(self, job: Job) -> None:
        self.jobs[job.id].is_ended = job.state.is_final

    def take_duty(self, now: datetime, seconds: float) -> None:
        if self.duty_until is not None and now < self.duty_until:
            self.life.fail("duty: two workers do it at the same time")
        self.duty_until = now + timedelta(seconds=seconds)

    def capped(self, channel: str, cap: int | None) -> None:
        self.caps[channel] = cap
        for actor in self.life.scheduler.actors:
            before = actor.caps.get(channel)
            actor.caps[channel] = None if cap is None or before is None else max(cap, before)


def describe_time(at: datetime | None) -> str:
    return "now" if at is None else f"{at:%H:%M:%S}"
