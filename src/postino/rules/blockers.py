"""Find what blocks a job, by the same rule that claims use, and when it can start.

It decides nothing itself. No job waits for its parent: a child is independent once it is enqueued.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from postino.rules.blackout import find_free_time, find_window
from postino.rules.circuit_breaker import CircuitState
from postino.rules.claim_order import BrandTurn, compute_brand_room
from postino.rules.gates import (
    GateSources,
    compute_closed_gates,
    describe_closed_gate,
    get_network_title,
    is_blocking,
    to_gate,
)
from postino.rules.settlement import DeadLetterCause
from postino.rules.unblock_advice import (
    ADVICE_ON_DATABASE,
    advise_close,
    advise_handler,
    advise_on_cooldown,
    advise_on_locked,
    advise_on_suspension,
    advise_raise_cap,
    advise_reconnect,
    advise_reschedule,
    advise_resolve,
    advise_resume,
)
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job, State
from postino.values.post import POST, AccountState

LAG_AFTER = timedelta(seconds=5)  # a job that is due and free for this long should have started
MAX_AHEAD = 1000  # jobs ahead that `explain` counts


class BlockerKind(StrEnum):
    """Why a job waits, the most important reason first."""

    DATABASE = GateKind.DATABASE.value
    PAUSE = GateKind.PAUSE.value
    BLACKOUT = GateKind.BLACKOUT.value
    BREAKER = GateKind.BREAKER.value
    COOLDOWN = GateKind.COOLDOWN.value
    QUOTA = GateKind.QUOTA.value
    CAP = "cap"  # no slot is free
    TOKEN = GateKind.TOKEN.value
    AWAITING_LOOKUP = "awaiting_lookup"  # the post may be live already: a lookup is due
    NOT_DUE = "not_due"
    NO_WORKER = "no_worker"
    NO_HANDLER = "no_handler"  # workers run, and none handles jobs of its type
    LAG = "lag"  # only earlier jobs are ahead of it


RANK = {kind: place for place, kind in enumerate(BlockerKind)}
WORKER_BLOCKERS = frozenset({BlockerKind.NO_WORKER, BlockerKind.NO_HANDLER, BlockerKind.LAG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One reason why a job waits. Without `until_at` no clock ends it."""

    kind: BlockerKind
    sentence: str
    since_at: datetime | None = None
    until_at: datetime | None = None
    cause: str | None = None
    unblock: str | None = None
    ending: str | None = None  # what ends it, where that is not the same for all blockers of its kind


@dataclass(frozen=True, slots=True)
class UncertainJob:
    """Another job on the same channel whose request may still be on its way, and until when."""

    brand: str
    lane: str | None
    until_at: datetime


@dataclass(frozen=True, slots=True)
class RunningJob:
    """The job that occupies the lane of the account; without an id if the reader may not see it."""

    id: UUID | None
    worker: str
    since_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSnapshot:
    """A job and everything that may keep it from running."""

    job: Job
    gate_sources: GateSources = field(default_factory=GateSources)  # with the gates and the circuit of its account
    running_by_brand: Mapping[str, int] = field(default_factory=dict)  # on its channel, uncertain jobs included
    uncertain_jobs: tuple[UncertainJob, ...] = ()
    running_job: RunningJob | None = None
    jobs_ahead: int = 0  # due earlier in the same line
    live_workers: int = 1
    has_handler: bool = True  # one of them handles jobs of its type
    publish_until_at: datetime | None = None
    cause: DeadLetterCause | None = None  # of a failed job
    cancelled_by: str | None = None  # "by whom (why)"
    account_state: AccountState | None = None


def find_blockers(snapshot: JobSnapshot, now: datetime) -> tuple[Blocker, ...]:
    """Return everything that blocks the job now; for a job that is not due, everything that will by then."""
    job = snapshot.job
    if job.run_at is None:
        return (_make_lookup_blocker(job),)
    at = max(now, job.run_at)
    blockers = [*_find_gate_blockers(snapshot, at), *_find_capacity_blockers(snapshot, at, now=at == now)]
    if job.run_at > now:
        blockers.append(_make_not_due_blocker(job) if job.state is State.PENDING else _make_lookup_blocker(job))
    elif not snapshot.live_workers:
        sentence, unblock = "No worker is running.", "Start one: `postino worker`."
        blockers.append(Blocker(kind=BlockerKind.NO_WORKER, sentence=sentence, unblock=unblock))
    elif not snapshot.has_handler:
        sentence = describe_missing_handler(job.type)
        blockers.append(Blocker(kind=BlockerKind.NO_HANDLER, sentence=sentence, unblock=advise_handler(job.type)))
    elif not blockers and now - job.run_at > LAG_AFTER:
        blockers.append(_make_lag_blocker(snapshot))
    return tuple(sorted(blockers, key=lambda blocker: RANK[blocker.kind]))


def describe_missing_handler(type_: str) -> str:
    return f"No running worker handles jobs of type {type_}."


def estimate_start(snapshot: JobSnapshot, now: datetime) -> datetime | None:
    """Return the first instant without a blocker, as if all running jobs had ended; None where no clock can tell."""
    at, job = snapshot.job.run_at, snapshot.job
    windows = [it for it in snapshot.gate_sources.blackouts if is_blocking(_make_blackout_gate(it.scope, it.name), job)]
    while at is not None:
        free_at = find_free_time(windows, max(at, now))
        if free_at is None or not (blockers := _find_lasting_blockers(snapshot, free_at)):
            return free_at
        untils = [blocker.until_at for blocker in blockers]
        at = None if None in untils else max(until for until in untils if until is not None)
    return None


def _make_blackout_gate(scope: Scope, name: str) -> Gate:
    return Gate(scope=scope, name=name, kind=GateKind.BLACKOUT)


def _find_lasting_blockers(snapshot: JobSnapshot, at: datetime) -> list[Blocker]:
    return [*_find_gate_blockers(snapshot, at), *_find_capacity_blockers(snapshot, at, now=False)]


def _find_gate_blockers(snapshot: JobSnapshot, at: datetime) -> list[Blocker]:
    gates = compute_closed_gates(snapshot.gate_sources, at).gates
    return [_to_blocker(gate, snapshot, at) for gate in gates if is_blocking(gate, snapshot.job)]


def _to_blocker(gate: Gate, snapshot: JobSnapshot, at: datetime) -> Blocker:
    blocker = Blocker(
        kind=BlockerKind(gate.kind.value),
        sentence=describe_closed_gate(replace(gate, reason=None)),
        since_at=gate.since_at,
        until_at=gate.until_at,
        cause=gate.reason,
        unblock=_advise_on_gate(gate, snapshot, at),
    )
    return _describe_hold(blocker, gate.name, snapshot.account_state) if gate.kind is GateKind.TOKEN else blocker


def _describe_hold(blocker: Blocker, account: str, state: AccountState | None) -> Blocker:
    """Say why the account is held, and what a person can do."""
    match state:
        case AccountState.SUSPENDED:
            return replace(
                blocker,
                sentence=f"Account {account} is suspended by {get_network_title(account)}.",
                unblock=advise_on_suspension(account),
                ending="when somebody resumes or reconnects the account",
            )
        case AccountState.LOCKED:
            return replace(
                blocker,
                sentence=f"No vault key opens the credentials of account {account}.",
                unblock=advise_on_locked(account),
                ending="when the vault key is back, or the account is reconnected",
            )
        case _:
            return replace(blocker, sentence=f"Account {account} must be reconnected.")


def _advise_on_gate(gate: Gate, snapshot: JobSnapshot, at: datetime) -> str:
    match gate.kind:
        case GateKind.PAUSE:
            return advise_resume(gate)
        case GateKind.TOKEN:
            return advise_reconnect(gate.name)
        case GateKind.BREAKER:
            return advise_close(gate.name)
        case GateKind.BLACKOUT:
            same = [it for it in snapshot.gate_sources.blackouts if (it.scope, it.name) == (gate.scope, gate.name)]
            ids = [it.id for it in same if find_window(it, at)]
            return f"To publish it anyway, remove the blackout: `postino blackouts remove {ids[0]}`."
        case GateKind.COOLDOWN:
            return advise_on_cooldown(gate)
        case GateKind.QUOTA:
            return "Wait, or publish with another account: the network would refuse this post."
        case GateKind.DATABASE:
            return ADVICE_ON_DATABASE


def _find_capacity_blockers(snapshot: JobSnapshot, at: datetime, *, now: bool) -> list[Blocker]:
    """Find occupied slots: now by all running jobs, later only by requests that may still be on their way."""
    job = snapshot.job
    uncertain = [other for other in snapshot.uncertain_jobs if other.until_at > at]
    running = snapshot.running_by_brand if now else Counter(other.brand for other in uncertain)
    blockers = []
    cap = compute_closed_gates(snapshot.gate_sources, at).caps.get(job.channel)
    if cap is not None:
        blockers += _find_cap_blocker(snapshot, cap, running, sorted(other.until_at for other in uncertain))
        if not blockers:
            blockers += _find_brand_share_blocker(snapshot, cap, running, uncertain)
    blockers += _find_probe_blockers(snapshot, at)
    if job.account is not None:
        ends = [other.until_at for other in uncertain if other.lane == job.lane]
        blockers += _find_lane_blockers(snapshot, ends, now=now)
    return blockers


def _find_probe_blockers(snapshot: JobSnapshot, at: datetime) -> list[Blocker]:
    """Find the half-open circuit of the account's service whose next probe has to wait."""
    return [
        Blocker(
            kind=BlockerKind.CAP,
            sentence=_describe_half_open(breaker.service, breaker.probes),
            until_at=breaker.until_at,
        )
        for breaker in snapshot.gate_sources.breakers
        if breaker.state is CircuitState.HALF_OPEN
        and breaker.until_at is not None
        and breaker.until_at > at
        and is_blocking(to_gate(breaker), snapshot.job)
    ]


def _describe_half_open(service: str, probes: int) -> str:
    return f"The circuit of {service} is half-open and allows {probes} at a time."


def _find_cap_blocker(
    snapshot: JobSnapshot, cap: int, running: Mapping[str, int], ends: list[datetime]
) -> list[Blocker]:
    channel = snapshot.job.channel
    usual = snapshot.gate_sources.caps.get(channel)
    if sum(running.values()) < cap:
        return []
    sentence = f"All {cap} slots of {channel} are in use." if cap > 1 else f"The only slot of {channel} is in use."
    if cap == 0:
        sentence = f"The cap of {channel} is 0."
    elif usual is None or cap < usual:
        sentence = _describe_half_open(channel, cap)
    unblock = advise_raise_cap(channel, cap) if cap == usual else None
    return [Blocker(kind=BlockerKind.CAP, sentence=sentence, until_at=_find_free_slot_time(ends, cap), unblock=unblock)]


def _find_brand_share_blocker(
    snapshot: JobSnapshot, cap: int, running: Mapping[str, int], uncertain: list[UncertainJob]
) -> list[Blocker]:
    """One brand never holds all slots, not even with posts of which something was sent."""
    job = snapshot.job
    if job.brand is None:
        return []
    turn = BrandTurn(job.channel, job.brand)
    by_brand = {(job.channel, brand): number for brand, number in running.items()}
    room = compute_brand_room({job.channel: cap}, by_brand, [turn])[job.channel, job.brand]
    if room > 0:
        return []
    share = room + running.get(job.brand, 0)
    sentence = f"Brand {job.brand} uses all {share} of the {cap} slots of {job.channel} that one brand may use."
    ends = sorted(other.until_at for other in uncertain if other.brand == job.brand)
    return [Blocker(kind=BlockerKind.CAP, sentence=sentence, until_at=_find_free_slot_time(ends, share))]


def _find_free_slot_time(ends: list[datetime], slots: int) -> datetime | None:
    """Return when fewer than `slots` uncertain requests are left."""
    return ends[len(ends) - slots] if 0 < slots <= len(ends) else None


def _find_lane_blockers(snapshot: JobSnapshot, ends: list[datetime], *, now: bool) -> list[Blocker]:
    job, other = snapshot.job, snapshot.running_job
    noun = "post" if job.type == POST else "job"
    blockers = []
    if now and other is not None:
        sentence = f"Another {noun} of {job.account} is running, and an account runs one at a time."
        cause = None if other.id is None else f"{other.id}, on worker {other.worker}"
        blockers.append(Blocker(kind=BlockerKind.CAP, sentence=sentence, since_at=other.since_at, cause=cause))
    if ends:
        sentence = f"Another {noun} of {job.account} may still be on its way."
        blockers.append(Blocker(kind=BlockerKind.CAP, sentence=sentence, until_at=max(ends)))
    return blockers


def _make_lookup_blocker(job: Job) -> Blocker:
    done = "published" if job.type == POST else "completed"
    if job.run_at is None:
        sentence, unblock = f"Only a person can tell whether it was {done}.", advise_resolve(job)
    else:
        sentence, unblock = f"It may have been {done}: Postino asks the network.", None
    kind = BlockerKind.AWAITING_LOOKUP
    return Blocker(kind=kind, sentence=sentence, until_at=job.run_at, cause=job.last_error, unblock=unblock)


def _make_not_due_blocker(job: Job) -> Blocker:
    is_retry = job.attempts > 0 or job.deferral_reason is not None
    return Blocker(
        kind=BlockerKind.NOT_DUE,
        sentence="It will be retried later." if is_retry else "It is not due yet.",
        since_at=None if is_retry else job.created_at,
        until_at=job.run_at,
        cause=job.deferral_reason or (job.last_error if is_retry else None),
        unblock=advise_reschedule(job),
    )


def _make_lag_blocker(snapshot: JobSnapshot) -> Blocker:
    ahead, job = snapshot.jobs_ahead, snapshot.job
    number = f"More than {MAX_AHEAD:,}" if ahead > MAX_AHEAD else f"{ahead:,}"
    sentence = f"{number} earlier {'job is' if ahead == 1 else 'jobs are'} ahead of it."
    if not ahead:
        sentence = "No worker has claimed it yet."
    unblock = "Start another worker: `postino worker`."
    if ahead and job.account is not None:
        unblock = "Wait: an account runs one job at a time."
    return Blocker(kind=BlockerKind.LAG, sentence=sentence, since_at=job.run_at, unblock=unblock)
