"""Jobs: the unit of work of the engine, as frozen values."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, TypeVar
from uuid import UUID

from postino import clock

T = TypeVar("T")


class State(StrEnum):
    """The state of a job. docs/lifecycle.md describes the states and the moves between them."""

    PENDING = "pending"
    RUNNING = "running"
    UNCERTAIN = "uncertain"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in (State.COMPLETED, State.FAILED, State.CANCELLED)


class Queue(IntEnum):
    """The priority of a job: lower numbers run first, across all channels."""

    HIGH = 0
    DEFAULT = 1
    LOW = 2

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def from_label(cls, label: str) -> "Queue":
        return cls[label.upper()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One unit of work, unfinished or finished. Instants are aware and in UTC."""

    id: UUID
    type: str
    channel: str
    queue: Queue
    state: State
    payload: bytes
    idempotency_key: str
    scheduled_at: datetime
    run_at: datetime | None  # None: uncertain, and a person must resolve it
    created_at: datetime
    account: str | None = None
    brand: str | None = None
    user_id: str | None = None  # a user of the caller's own system; for an imported post, the caller's name
    parent_id: UUID | None = None
    correlation_id: str | None = None
    attempts: int = 0
    max_attempts: int | None = None  # None: the value of the channel, the type or the settings
    backoff: str | None = None
    time_limit: float | None = None
    generation: int = 1
    rescues: int = 0
    deferrals: int = 0
    deferral_reason: str | None = None
    may_be_live: bool = False  # an accepted receipt, or an intent without a definite refusal
    lookup_at: datetime | None = None  # a call is in doubt: when the network may be asked about it
    remote_id: str | None = None
    last_error: str | None = None
    claimed_by: str | None = None
    claimed_at: datetime | None = None
    token: UUID | None = None
    dispatched_at: datetime | None = None
    rate_limit_count: int = 0  # how often the network refused it with a rate limit
    ignore_blackouts: bool = False  # a person allowed it with `--allow-blackout`
    result: str | None = None
    finished_at: datetime | None = None

    @property
    def lane(self) -> str | None:
        return get_lane(self.account, self.brand)


def make_constructor(frozen: type[T]) -> Callable[..., T]:
    """Return a constructor for a frozen dataclass with slots that takes a quarter of the usual time.

    The usual one sets each field through `object.__setattr__`. This one fills a mutable copy, then changes its class.
    """

    def freeze(draft: Any) -> None:
        draft.__class__ = frozen

    columns = [
        (each.name, Any, field() if each.default is MISSING else field(default=each.default))
        for each in fields(frozen)  # type: ignore[arg-type]
    ]
    return make_dataclass(frozen.__name__, columns, namespace={"__post_init__": freeze}, slots=True)


make_job = make_constructor(Job)


def get_lane(account: str | None, brand: str | None) -> str | None:
    """Return the lane of a job: that of its account, else of its brand, else None.

    The lane of an account runs one job at a time. The lane of a brand has no limit; it exists so that pausing a brand
    does not slow other brands down.
    """
    if account is not None:
        return f"@{account}"
    return None if brand is None else f"#{brand}"


def new_id() -> UUID:
    """Return a UUIDv7. Ids made later by this process sort after earlier ones."""
    return new_ids(1)[0]


def new_ids(count: int) -> list[UUID]:
    """Return `count` UUIDv7s in order, which share their random part.

    48 bits of milliseconds and 12 bits of their fraction make a tick, which always increases.
    """
    first = clock.take_ticks(count)
    rest = 0x7 << 76 | 0x2 << 62 | clock.random_bits(62)
    return [UUID(int=(tick >> 12) << 80 | (tick & 0xFFF) << 64 | rest) for tick in range(first, first + count)]


def no_job(job_id: UUID) -> str:
    """Return the message for a job that does not exist, or that the caller may not see."""
    return f"There is no job {job_id}. Run `postino jobs list` to see the newest jobs."


def no_dead_letter(job_id: UUID) -> str:
    return f"Job {job_id} has no dead letter. Run `postino dead list` to see all dead letters."
