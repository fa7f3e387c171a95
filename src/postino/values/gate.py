"""A gate: a reason for a job not to run yet, with a time. Gates spend no attempt and cost no neighbour anything."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Scope(StrEnum):
    """What a gate stands in front of."""

    ALL = "all"
    QUEUE = "queue"
    CHANNEL = "channel"
    BRAND = "brand"
    ACCOUNT = "account"


class GateKind(StrEnum):
    """Why it is closed."""

    PAUSE = "pause"  # a person said so
    TOKEN = "token"  # the account has to be connected again
    BLACKOUT = "blackout"  # a window in which nothing is published
    BREAKER = "breaker"  # the network is in trouble
    COOL_DOWN = "cool_down"  # the network wants fewer calls for a while
    QUOTA = "quota"  # what may be published in a period is used up


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One closed gate. Without `until_at` it stays closed until somebody opens it."""

    scope: Scope
    name: str  # "" for all
    kind: GateKind
    since_at: datetime | None = None
    until_at: datetime | None = None
    reason: str | None = None
    by_hand: bool = False  # a circuit that a person opened: nothing is known to be wrong there
