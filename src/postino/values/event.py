"""What happened, as told to the outside: one row of the outbox."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class EventType(StrEnum):
    """Every event there is, by its name on the wire."""

    CLAIMED = "job.claimed"
    COMPLETED = "job.completed"
    RETRYING = "job.retrying"
    DEFERRED = "job.deferred"
    FAILED = "job.failed"
    UNCERTAIN = "job.uncertain"
    RESCUED = "job.rescued"
    RELEASED = "job.released"
    CANCELLED = "job.cancelled"
    EDITED = "job.edited"
    RESCHEDULED = "job.rescheduled"
    REPLAYED = "job.replayed"
    RESOLVED = "job.resolved"
    DUPLICATED = "job.duplicated"
    ACCOUNT_MARKED = "account.marked"
    PAUSED = "gate.paused"
    RESUMED = "gate.resumed"
    COOLED = "gate.cooled"
    CIRCUIT_OPENED = "circuit.opened"
    CIRCUIT_HALF_OPENED = "circuit.half_opened"
    CIRCUIT_CLOSED = "circuit.closed"
    BLACKOUT_ADDED = "blackout.added"
    BLACKOUT_REMOVED = "blackout.removed"


def get_account(data: Mapping[str, Any]) -> str | None:
    """The account that an event without a job is about."""
    match data:
        case {"scope": "account", "name": str(name)} | {"scope": "account", "account": str(name)}:
            return name
        case {"scope": _}:
            return None
        case {"account": str(name)}:
            return name
    return None


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """How far a listener has read. The transaction comes first: rows are numbered before they commit."""

    xid: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. `job_id` is None where it concerns several jobs (`data["jobs"]`) or none."""

    cursor: Cursor
    type: str
    at: datetime
    job_id: UUID | None = None
    data: dict[str, Any] = field(default_factory=dict)
