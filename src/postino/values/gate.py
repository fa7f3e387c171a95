"""A gate: a reason for jobs not to run yet, with a time. Waiting at a gate spends no attempt."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Scope(StrEnum):
    """Which jobs a gate blocks."""

    ALL = "all"
    QUEUE = "queue"
    CHANNEL = "channel"
    BRAND = "brand"
    ACCOUNT = "account"


class GateKind(StrEnum):
    """Why a gate is closed."""

    PAUSE = "pause"  # a person paused it
    TOKEN = "token"  # the account must be reconnected
    BLACKOUT = "blackout"  # a blackout is in force
    BREAKER = "breaker"  # the circuit is open
    COOLDOWN = "cooldown"  # the network rate-limits it
    QUOTA = "quota"  # the quota is used up


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One closed gate. Without `until_at` it stays closed until somebody opens it."""

    scope: Scope
    name: str  # "" for all
    kind: GateKind
    since_at: datetime | None = None
    until_at: datetime | None = None
    reason: str | None = None
    by_hand: bool = False  # a person opened the circuit: the service may work
