"""A gate: a reason for jobs not to run yet, with a time. Waiting at a gate spends no attempt."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Scope(StrEnum):
    """Which jobs a gate blocks.

    Places that name each scope: `rules/gates.py` (which gates block a job), `rules/unblock_advice.py` (how a person
    opens it), `claims.sql`, `lanes.sql` and `jobs.sql` of each store (which jobs a claim skips), the CHECK of the table
    `gates` in the migrations, `stores/operations/gates.py` and `lane_hints.py` (what changes with a gate),
    `engine/actions.py` (its name), `forecast/gate_timeline.py` and `timeline.py`, `cli/queues.py` (its options), and
    `client/types/literals.py`. `rules/blackout.py` lists the scopes that a blackout can have.
    """

    ALL = "all"
    QUEUE = "queue"
    CHANNEL = "channel"
    BRAND = "brand"
    ACCOUNT = "account"
    SERVICE = "service"  # only open circuits: the accounts of one network at one origin


class GateKind(StrEnum):
    """Why a gate is closed."""

    PAUSE = "pause"  # a person paused the jobs
    TOKEN = "token"  # the account must be reconnected, is suspended, or its credentials cannot be opened
    BLACKOUT = "blackout"  # a blackout is in force
    BREAKER = "breaker"  # the circuit is open
    COOLDOWN = "cooldown"  # the network rate-limits the account or the channel
    QUOTA = "quota"  # the quota is used up
    DATABASE = "database"  # the database may be a copy or a backup: a person must say what it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One closed gate. Without `until_at`, the gate stays closed until a person or a duty opens it."""

    scope: Scope
    name: str  # "" for all
    kind: GateKind
    since_at: datetime | None = None
    until_at: datetime | None = None
    reason: str | None = None
    manual: bool = False  # a person opened the circuit: the service may work
