"""What is in a job's way, by the very rule that claims go by, and when it will be no more. It decides nothing itself.

Nothing makes a job wait for its parent: a child is its own job from the moment it is enqueued.
"""

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from postino.rules.blackout import find_free_time, find_window
from postino.rules.claim_order import BrandTurn, compute_brand_room
from postino.rules.gates import GateSources, compute_closed_gates, describe_closed_gate, is_blocking
from postino.rules.settlement import DeadLetterCause
from postino.rules.unblock_advice import (
    advise_on_cooldown,
    advise_reconnect,
    advise_reschedule,
    advise_resolve,
    advise_resume,
)
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job, State
from postino.values.post import POST

LAG_AFTER = timedelta(seconds=5)  # due and free for so long, a job should have started
MAX_AHEAD = 1000  # beyond, nobody counts


class BlockerKind(StrEnum):
    """Why a job waits, in the order in which people should hear of it."""

    PAUSE = GateKind.PAUSE.value
    BLACKOUT = GateKind.BLACKOUT.value
    BREAKER = GateKind.BREAKER.value
    COOL_DOWN = GateKind.COOL_DOWN.value
    QUOTA = GateKind.QUOTA.value
    CAP = "cap"  # as many run as may
    TOKEN = GateKind.TOKEN.value
    AWAITING_LOOKUP = "awaiting_lookup"  # something may be out there, and nobody knows yet
    NOT_DUE = "not_due"
    NO_WORKER = "no_worker"
    LAG = "lag"  # nothing is in its way but those before it


RANK = {kind: place for place, kind in enumerate(BlockerKind)}
WORKER_BLOCKERS = frozenset({BlockerKind.NO_WORKER, BlockerKind.LAG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One thing in the way. Without `until_at` no clock ends it."""

    kind: BlockerKind
    sentence: str
    since_at: datetime | None = None
    until_at: datetime | None = None
    cause: str | None = None
    unblock: str | None = None


@dataclass(frozen=True, slots=True)
class UncertainJob:
    """Another that may be under way on the job's channel although nobody runs it, and until when."""

    brand: str
    lane: str | None
    until_at: datetime


@dataclass(frozen=True, slots=True)
class RunningJob:
    """The job that an account's lane is taken by."""

    id: UUID
    worker: str
    since_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSnapshot:
    """A job, and all that may keep it from running."""

    job: Job
    gate_sources: GateSources = field(default_factory=GateSources)  # the gates of its account among them
    running_by_brand: Mapping[str, int] = field(
        default_factory=dict
    )  # on its channel, by brand; with what may be under way
    uncertain_jobs: tuple[UncertainJob, ...] = ()
    running_job: RunningJob | None = None
    jobs_ahead: int = 0  # due before it in its own line
    live_workers: int = 1  # alive, as far as anybody can tell
    publish_until_at: datetime | None = None
    cause: DeadLetterCause | None = None  # of a failed one
    cancelled_by: str | None = None  # by whom, and why


def find_blockers(facts: JobSnapshot, now: datetime) -> tuple[Blocker, ...]:
    """All of it, as it is now; for a job that is not due, as it will be by then."""
    job = facts.job
    if job.run_at is None:
        return (_make_lookup_blocker(job),)
    at = max(now, job.run_at)
    found = [*_find_gate_blockers(facts, at), *_find_capacity_blockers(facts, at, now=at == now)]
    if job.run_at > now:
        found.append(_make_not_due_blocker(job) if job.state is State.PENDING else _make_lookup_blocker(job))
    elif not facts.live_workers:
        found.append(
            Blocker(
                kind=BlockerKind.NO_WORKER, sentence="No worker is running.", unblock="Start one: `postino worker`."
            )
        )
    elif not found and now - job.run_at > LAG_AFTER:
        found.append(_make_lag_blocker(facts))
    return tuple(sorted(found, key=lambda blocker: RANK[blocker.kind]))


def estimate_start(facts: JobSnapshot, now: datetime) -> datetime | None:
    """The first instant at which nothing is in its way that a clock can tell of, once what runs now has ended."""
    at = facts.job.run_at
    windows = [
        it for it in facts.gate_sources.blackouts if is_blocking(_make_blackout_gate(it.scope, it.name), facts.job)
    ]
    while at is not None:
        free_at = find_free_time(windows, max(at, now))
        if free_at is None or not (left := _find_lasting_blockers(facts, free_at)):
            return free_at
        untils = [blocker.until_at for blocker in left]
        at = None if None in untils else max(until for until in untils if until is not None)
    return None


def _make_blackout_gate(scope: Scope, name: str) -> Gate:
    return Gate(scope=scope, name=name, kind=GateKind.BLACKOUT)


def _find_lasting_blockers(facts: JobSnapshot, at: datetime) -> list[Blocker]:
    return [*_find_gate_blockers(facts, at), *_find_capacity_blockers(facts, at, now=False)]


def _find_gate_blockers(facts: JobSnapshot, at: datetime) -> list[Blocker]:
    gates = compute_closed_gates(facts.gate_sources, at).gates
    return [_to_blocker(gate, facts, at) for gate in gates if is_blocking(gate, facts.job)]


def _to_blocker(gate: Gate, facts: JobSnapshot, at: datetime) -> Blocker:
    return Blocker(
        kind=BlockerKind(gate.kind.value),
        sentence=describe_closed_gate(replace(gate, reason=None)),
        since_at=gate.since_at,
        until_at=gate.until_at,
        cause=gate.reason,
        unblock=_advise_on_gate(gate, facts, at),
    )


def _advise_on_gate(gate: Gate, facts: JobSnapshot, at: datetime) -> str:
    match gate.kind:
        case GateKind.PAUSE:
            return advise_resume(gate)
        case GateKind.TOKEN:
            return advise_reconnect(gate.name)
        case GateKind.BREAKER:
            command = f"postino circuits close {shlex.quote(gate.name)} --reason WHY"
            return f"If {gate.name} is well again, say so: `{command}`."
        case GateKind.BLACKOUT:
            same = [it for it in facts.gate_sources.blackouts if (it.scope, it.name) == (gate.scope, gate.name)]
            ids = [it.id for it in same if find_window(it, at)]
            return f"If it may be published all the same, remove the window: `postino blackouts remove {ids[0]}`."
        case GateKind.COOL_DOWN:
            return advise_on_cooldown(gate)
        case GateKind.QUOTA:
            return "Wait, or publish by another account: the network would refuse it."


def _find_capacity_blockers(facts: JobSnapshot, at: datetime, *, now: bool) -> list[Blocker]:
    """Room that others take: now by all that runs, later by nothing but what may still be under way then."""
    job = facts.job
    open_doubts = [doubt for doubt in facts.uncertain_jobs if doubt.until_at > at]
    running = facts.running_by_brand if now else Counter(doubt.brand for doubt in open_doubts)
    found = []
    cap = compute_closed_gates(facts.gate_sources, at).caps.get(job.channel)
    if cap is not None:
        found += _find_cap_blocker(facts, cap, running, sorted(doubt.until_at for doubt in open_doubts))
        if not found:
            found += _find_brand_share_blocker(facts, cap, running, open_doubts)
    if job.account is not None:
        found += _find_lane_blockers(facts, [it.until_at for it in open_doubts if it.lane == job.lane], now=now)
    return found


def _find_cap_blocker(facts: JobSnapshot, cap: int, running: Mapping[str, int], ends: list[datetime]) -> list[Blocker]:
    channel, usual = facts.job.channel, facts.gate_sources.caps.get(facts.job.channel)
    if sum(running.values()) < cap:
        return []
    what = f"As many as may run on {channel} at once are running: {cap}."
    if cap == 0:
        what = f"Nothing may run on {channel}: its cap is 0."
    elif usual is None or cap < usual:
        what = f"The channel {channel} was in trouble, and is tried with no more than {cap} at once."
    unblock = f"Raise the cap: `postino queues cap {shlex.quote(channel)} {max(1, 2 * cap)}`." if cap == usual else None
    return [Blocker(kind=BlockerKind.CAP, sentence=what, until_at=_find_free_slot_time(ends, cap), unblock=unblock)]


def _find_brand_share_blocker(
    facts: JobSnapshot, cap: int, running: Mapping[str, int], doubts: list[UncertainJob]
) -> list[Blocker]:
    """One brand never holds all slots; what has begun to go out, or may not wait, is in another line."""
    job = facts.job
    if job.brand is None or job.may_be_live or job.ignore_blackouts:
        return []
    turn = BrandTurn(job.channel, job.brand)
    by_brand = {(job.channel, brand): number for brand, number in running.items()}
    left = compute_brand_room({job.channel: cap}, by_brand, [turn])[job.channel, job.brand]
    if left > 0:
        return []
    share = left + running.get(job.brand, 0)
    what = f"The brand {job.brand} has as many running on {job.channel} as one brand may: {share} of {cap}."
    ends = sorted(doubt.until_at for doubt in doubts if doubt.brand == job.brand)
    return [Blocker(kind=BlockerKind.CAP, sentence=what, until_at=_find_free_slot_time(ends, share))]


def _find_free_slot_time(ends: list[datetime], most: int) -> datetime | None:
    """When fewer than so many of what may be under way are left."""
    return ends[len(ends) - most] if 0 < most <= len(ends) else None


def _find_lane_blockers(facts: JobSnapshot, ends: list[datetime], *, now: bool) -> list[Blocker]:
    job, what = facts.job, "post" if facts.job.type == POST else "job"
    found = []
    if now and facts.running_job is not None:
        told = f"Another {what} of the account {job.account} runs, and an account runs one at a time."
        cause = f"{facts.running_job.id}, on worker {facts.running_job.worker}"
        found.append(Blocker(kind=BlockerKind.CAP, sentence=told, since_at=facts.running_job.since_at, cause=cause))
    if ends:
        told = f"Another {what} of the account {job.account} may still be on its way."
        found.append(Blocker(kind=BlockerKind.CAP, sentence=told, until_at=max(ends)))
    return found


def _make_lookup_blocker(job: Job) -> Blocker:
    person = job.run_at is None
    told = "Only a person can tell whether it is out." if person else "It may be out; the network is asked about it."
    unblock = advise_resolve(job) if person else None
    return Blocker(
        kind=BlockerKind.AWAITING_LOOKUP, sentence=told, until_at=job.run_at, cause=job.last_error, unblock=unblock
    )


def _make_not_due_blocker(job: Job) -> Blocker:
    tried = job.attempts > 0 or job.deferral_reason is not None
    return Blocker(
        kind=BlockerKind.NOT_DUE,
        sentence="It is to be tried again later." if tried else "It is not due yet.",
        since_at=None if tried else job.created_at,
        until_at=job.run_at,
        cause=job.deferral_reason or (job.last_error if tried else None),
        unblock=advise_reschedule(job),
    )


def _make_lag_blocker(facts: JobSnapshot) -> Blocker:
    ahead, job = facts.jobs_ahead, facts.job
    number = f"more than {MAX_AHEAD:,}" if ahead > MAX_AHEAD else f"{ahead:,}"
    told = "Nothing is in its way, but no worker has come to it yet."
    if ahead:
        told = f"Nothing is in its way but those that were due before it: {number}."
    more = "Start another worker: `postino worker`."
    alone = "Wait: an account runs one at a time."
    unblock = alone if ahead and job.account is not None else more
    return Blocker(kind=BlockerKind.LAG, sentence=told, since_at=job.run_at, unblock=unblock)
