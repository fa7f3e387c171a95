"""What may run now. One rule computes the closed gates; every claim takes its result, and so does `explain`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from postino.rules.blackout import Blackout, find_window
from postino.rules.blackout import describe_blackout as told_of_blackout
from postino.rules.circuit_breaker import Breaker, get_call_limit
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job

FOREVER = datetime(9999, 1, 1, tzinfo=UTC)  # how stores write "until somebody opens it"

# What has begun to go out is not held up half-way by what only people want; a network in trouble holds up all, and an
# account that cannot sign in cannot even ask.
BLOCKS_STARTED = frozenset({GateKind.BREAKER, GateKind.COOL_DOWN, GateKind.TOKEN})


@dataclass(frozen=True, slots=True)
class GateSources:
    """All that may close a gate, but for what concerns one account alone."""

    gates: tuple[Gate, ...] = ()
    blackouts: tuple[Blackout, ...] = ()
    breakers: tuple[Breaker, ...] = ()  # those that are not simply closed
    caps: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClosedGates:
    """Everything that may not be claimed from now, until when, and the caps on what may."""

    gates: tuple[Gate, ...] = ()
    queues: Mapping[str, datetime] = field(default_factory=dict)
    channels: Mapping[str, datetime] = field(default_factory=dict)
    brands: Mapping[str, datetime] = field(default_factory=dict)
    accounts: Mapping[str, datetime] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)
    everything: datetime | None = None
    channels_closed_to_started: frozenset[str] = frozenset()  # channels on which not even what has begun may go on


NO_CLOSED_GATES = ClosedGates()


def compute_closed_gates(known: GateSources, now: datetime) -> ClosedGates:
    if not (known.gates or known.blackouts or known.breakers):
        return ClosedGates(caps=known.caps) if known.caps else NO_CLOSED_GATES
    gates = tuple(list_closed_gates(known, now))
    until: dict[Scope, dict[str, datetime]] = {scope: {} for scope in Scope}
    for gate in gates:
        names = until[gate.scope]
        names[gate.name] = max(gate.until_at or FOREVER, names.get(gate.name, now))
    return ClosedGates(
        gates,
        until[Scope.QUEUE],
        until[Scope.CHANNEL],
        until[Scope.BRAND],
        until[Scope.ACCOUNT],
        compute_caps(known, now),
        until[Scope.ALL].get(""),
        frozenset(gate.name for gate in gates if gate.scope is Scope.CHANNEL and gate.kind in BLOCKS_STARTED),
    )


def list_closed_gates(known: GateSources, now: datetime) -> list[Gate]:
    """Those that are closed at this moment, whatever closes them."""
    stored = [gate for gate in known.gates if is_closed(gate, now)]
    found = ((blackout, find_window(blackout, now)) for blackout in known.blackouts)
    windows = [
        Gate(
            scope=blackout.scope,
            name=blackout.name,
            kind=GateKind.BLACKOUT,
            since_at=window.since_at,
            until_at=window.until_at,
            reason=blackout.reason or told_of_blackout(blackout),
        )
        for blackout, window in found
        if window is not None
    ]
    broken = [to_gate(breaker) for breaker in known.breakers if get_call_limit(breaker, now) == 0]
    return [*stored, *windows, *broken]


def is_blocking(gate: Gate, job: Job) -> bool:
    """Whether a closed gate stands in this job's way."""
    its = {
        Scope.ALL: "", Scope.QUEUE: job.queue.label, Scope.CHANNEL: job.channel, Scope.BRAND: job.brand,
        Scope.ACCOUNT: job.account,
    }  # fmt: skip
    if its[gate.scope] != gate.name or (job.ignore_blackouts and gate.kind is GateKind.BLACKOUT):
        return False
    begun = job.may_be_live and job.lane is not None  # what has neither account nor brand has no line in which to go on
    return not begun or gate.kind in BLOCKS_STARTED


def is_closed(gate: Gate, now: datetime) -> bool:
    return gate.until_at is None or gate.until_at > now


def to_gate(breaker: Breaker) -> Gate:
    return Gate(
        scope=Scope.CHANNEL,
        name=breaker.service,
        kind=GateKind.BREAKER,
        since_at=breaker.since_at,
        until_at=breaker.until_at,
        reason=breaker.reason,
        by_hand=breaker.by_hand,
    )


def compute_caps(known: GateSources, now: datetime) -> dict[str, int]:
    """Half-open is a cap, too: as many as may find out whether the network is well again."""
    caps = dict(known.caps)
    for breaker in known.breakers:
        probes = get_call_limit(breaker, now)
        if probes:
            caps[breaker.service] = min(probes, caps.get(breaker.service, probes))
    return caps


DESCRIPTIONS = {
    GateKind.PAUSE: "is paused",
    GateKind.TOKEN: "has to be connected again",
    GateKind.BLACKOUT: "is in a blackout window",
    GateKind.BREAKER: "is in trouble and left alone",
    GateKind.COOL_DOWN: "wants fewer calls for a while",
    GateKind.QUOTA: "has used up what it may publish for now",
}


def describe_closed_gate(gate: Gate) -> str:
    """What is closed and why, in one sentence for people."""
    what = "Everything" if gate.scope is Scope.ALL else f"The {gate.scope} {gate.name}"
    shut_by = "was told to be left alone" if gate.by_hand else DESCRIPTIONS[gate.kind]
    return f"{what} {shut_by}{f': {gate.reason}' if gate.reason else '.'}"
