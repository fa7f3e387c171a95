"""Events: what happened, as listeners and the event stream receive it. One event is one row of the outbox."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class EventType(StrEnum):
    """Every event type, by its name on the wire. A post has its own events beside those of its job."""

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
    POST_SCHEDULED = "post.scheduled"
    POST_PUBLISHING = "post.publishing"
    POST_PUBLISHED = "post.published"
    POST_DEFERRED = "post.deferred"
    POST_UNCERTAIN = "post.uncertain"
    POST_FAILED = "post.failed"
    POST_CANCELLED = "post.cancelled"
    ACCOUNT_STATE_CHANGED = "account.state_changed"
    ACCOUNT_TOKEN_EXPIRED = "account.token_expired"
    ACCOUNT_SUSPENDED = "account.suspended"
    ACCOUNT_LOCKED = "account.locked"
    PAUSED = "gate.paused"
    RESUMED = "gate.resumed"
    COOLDOWN_STARTED = "gate.cooldown_started"
    CIRCUIT_OPENED = "circuit.opened"
    CIRCUIT_HALF_OPENED = "circuit.half_opened"
    CIRCUIT_CLOSED = "circuit.closed"
    BLACKOUT_ADDED = "blackout.added"
    BLACKOUT_REMOVED = "blackout.removed"
    DATABASE_STANDING_CHANGED = "database.standing_changed"


def get_account(data: Mapping[str, Any]) -> str | None:
    """Return the account that an event without a job is about."""
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
    """The position of an event. The transaction comes first, because rows are numbered before they commit."""

    xid: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event. `job_id` is None if it concerns several jobs (`data["jobs"]`) or none."""

    cursor: Cursor
    type: str
    at: datetime
    job_id: UUID | None = None
    data: dict[str, Any] = field(default_factory=dict)
