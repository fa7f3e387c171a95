"""What may run now. One rule computes the closed gates; every claim takes its result."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Scope(StrEnum):
    """What a gate stands in front of."""

    QUEUE = "queue"
    CHANNEL = "channel"
    BRAND = "brand"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Gate:
    """A stored reason not to run: a pause, or a cap on how many run at once."""

    scope: Scope
    name: str
    paused_at: datetime | None = None
    reason: str | None = None
    cap: int | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """Everything that may not be claimed from now, and the caps on what may."""

    queues: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    brands: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    caps: dict[str, int] = field(default_factory=dict)


def closed(gates: Iterable[Gate]) -> Closed:
    paused: dict[Scope, set[str]] = {scope: set() for scope in Scope}
    caps: dict[str, int] = {}
    for gate in gates:
        if gate.paused_at is not None:
            paused[gate.scope].add(gate.name)
        if gate.cap is not None and gate.scope is Scope.CHANNEL:
            caps[gate.name] = gate.cap
    return Closed(
        frozenset(paused[Scope.QUEUE]),
        frozenset(paused[Scope.CHANNEL]),
        frozenset(paused[Scope.BRAND]),
        frozenset(paused[Scope.ACCOUNT]),
        caps,
    )
