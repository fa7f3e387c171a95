"""Compute which gates are closed. Claims and `explain` use the same result.

It never stores anything and never decides the order of jobs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from postino.rules.blackout import Blackout, describe_blackout, find_window
from postino.rules.circuit_breaker import Breaker, get_call_limit
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job
from postino.values.networks import PLANNED_NETWORKS
from postino.values.outcome import Defer, GateClosed
from postino.values.service import get_network, is_origin_service

RECHECK_AFTER = timedelta(hours=1)  # for a gate without an end, which does not hold the job
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)  # as stores write "until a person or a duty opens the gate"

# A post that has started may be half published: pauses and blackouts do not stop it. An open circuit, a rate limit and
# rejected credentials do, because the network would refuse every request; and so does a database that may be a copy.
BLOCKS_STARTED = frozenset({GateKind.BREAKER, GateKind.COOLDOWN, GateKind.TOKEN, GateKind.DATABASE})


@dataclass(frozen=True, slots=True)
class GateSources:
    """Everything that may close a gate."""

    gates: tuple[Gate, ...] = ()
    blackouts: tuple[Blackout, ...] = ()
    breakers: tuple[Breaker, ...] = ()  # only open and half-open ones
    caps: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClosedGates:
    """What workers must not claim now, until when, and the caps of other channels."""

    gates: tuple[Gate, ...] = ()
    queues: Mapping[str, datetime] = field(default_factory=dict)
    channels: Mapping[str, datetime] = field(default_factory=dict)
    brands: Mapping[str, datetime] = field(default_factory=dict)
    accounts: Mapping[str, datetime] = field(default_factory=dict)  # in a claim only those in a blackout
    caps: Mapping[str, int] = field(default_factory=dict)
    everything: datetime | None = None
    channels_closed_to_started: frozenset[str] = frozenset()  # not even started posts
    is_closed_to_started: bool = False


NO_CLOSED_GATES = ClosedGates()


def compute_closed_gates(sources: GateSources, now: datetime) -> ClosedGates:
    """Return every gate that is closed now, by what it closes."""
    if not (sources.gates or sources.blackouts or sources.breakers):
        return ClosedGates(caps=sources.caps) if sources.caps else NO_CLOSED_GATES
    gates = tuple(list_closed_gates(sources, now))
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
        compute_caps(sources, now),
        until[Scope.ALL].get(""),
        frozenset(gate.name for gate in gates if gate.scope is Scope.CHANNEL and gate.kind in BLOCKS_STARTED),
        any(gate.scope is Scope.ALL and gate.kind in BLOCKS_STARTED for gate in gates),
    )


def list_closed_gates(sources: GateSources, now: datetime) -> list[Gate]:
    """Return the gates that are closed now: stored ones, blackouts and open circuits."""
    stored = [gate for gate in sources.gates if is_closed(gate, now)]
    found = ((blackout, find_window(blackout, now)) for blackout in sources.blackouts)
    windows = [
        Gate(
            scope=blackout.scope,
            name=blackout.name,
            kind=GateKind.BLACKOUT,
            since_at=window.since_at,
            until_at=window.until_at,
            reason=blackout.reason or describe_blackout(blackout),
        )
        for blackout, window in found
        if window is not None
    ]
    broken = [to_gate(breaker) for breaker in sources.breakers if get_call_limit(breaker, now) == 0]
    return [*stored, *windows, *broken]


def is_blocking(gate: Gate, job: Job) -> bool:
    """Return whether a closed gate blocks this job. Gates of services must be those of the job's own account."""
    has_service = job.account is not None and get_network(gate.name) == job.channel
    its = {
        Scope.ALL: "", Scope.QUEUE: job.queue.label, Scope.CHANNEL: job.channel, Scope.BRAND: job.brand,
        Scope.ACCOUNT: job.account, Scope.SERVICE: gate.name if has_service else None,
    }  # fmt: skip
    if its[gate.scope] != gate.name or (job.ignore_blackouts and gate.kind is GateKind.BLACKOUT):
        return False
    is_started = job.may_be_live and job.lane is not None  # only lanes have a line for started posts
    return not is_started or gate.kind in BLOCKS_STARTED


def wait_for_gate(gate: Gate, job: Job, now: datetime) -> Defer:
    """Return the outcome of a job that met a closed gate while it ran.

    Claims hold the job where the gate blocks it. Where it does not, such as a used-up quota in the middle of a thread,
    the job waits by its own time, or every claim would take it at once.
    """
    if is_blocking(gate, job):
        return GateClosed(gate.until_at or now, describe_closed_gate(gate))
    return Defer(gate.until_at or now + RECHECK_AFTER, describe_closed_gate(gate))


def is_closed(gate: Gate, now: datetime) -> bool:
    return gate.until_at is None or gate.until_at > now


def to_gate(breaker: Breaker) -> Gate:
    """Return the gate of an open circuit: of the accounts of a service, or of a whole channel."""
    return Gate(
        scope=Scope.SERVICE if is_origin_service(breaker.service) else Scope.CHANNEL,
        name=breaker.service,
        kind=GateKind.BREAKER,
        since_at=breaker.since_at,
        until_at=breaker.until_at,
        reason=breaker.reason,
        manual=breaker.manual,
    )


def compute_caps(sources: GateSources, now: datetime) -> dict[str, int]:
    """Return the caps by channel. A half-open circuit is a cap, too: the number of its probes."""
    caps = dict(sources.caps)
    for breaker in sources.breakers:
        probes = get_call_limit(breaker, now)
        if probes:
            caps[breaker.service] = min(probes, caps.get(breaker.service, probes))
    return caps


def describe_closed_gate(gate: Gate) -> str:
    """Describe in one sentence what a gate closes and why."""
    name = "everything" if gate.scope is Scope.ALL else f"{gate.scope} {gate.name}"
    match gate.kind:
        case GateKind.PAUSE:
            sentence = f"{_capitalize(name)} is paused"
        case GateKind.BLACKOUT:
            sentence = f"A blackout covers {name}"
        case GateKind.BREAKER if gate.manual:
            sentence = f"The circuit of {gate.name} was opened by a person"
        case GateKind.BREAKER:
            sentence = f"The circuit of {gate.name} is open"
        case GateKind.TOKEN:
            sentence = f"{_capitalize(name)} cannot publish"
        case GateKind.COOLDOWN if gate.scope is Scope.ACCOUNT:
            sentence = f"{_capitalize(name)} is rate-limited by {get_network_title(gate.name)}"
        case GateKind.COOLDOWN:
            sentence = f"All accounts are rate-limited by {get_network_title(gate.name)}"
        case GateKind.QUOTA:
            sentence = f"{_capitalize(name)} has used up its quota"
        case GateKind.DATABASE:
            sentence = "Nothing is sent from this database until a person says what it is"
    return f"{sentence}: {gate.reason}" if gate.reason else f"{sentence}."


def _capitalize(name: str) -> str:
    return name[:1].upper() + name[1:]


def get_network_title(name: str) -> str:
    """Return the display name of a channel, or of an account's network: `mastodon:acme` is on Mastodon."""
    network = name.partition(":")[0]
    return PLANNED_NETWORKS.get(network, network.capitalize())
