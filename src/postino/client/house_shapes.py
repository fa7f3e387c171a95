"""What is told of the house itself: accounts, gates, workers, figures, the audit trail."""

from __future__ import annotations

from typing import Any, TypedDict

from postino.client.shapes import Page


class Account(TypedDict):
    id: str
    network: str
    handle: str
    state: str
    reason: str | None
    brand: str | None
    remote_id: str | None
    base_url: str
    sandbox: bool
    created_at: str


class Checked(TypedDict):
    works: bool | None
    message: str
    account: Account


class Blackout(TypedDict, total=False):
    """`channel`, `brand` or `account`, as its scope says."""

    id: str
    scope: str
    channel: str
    brand: str
    account: str
    start: str
    end: str
    timezone: str
    days: list[int]
    reason: str | None
    sentence: str


class AddedBlackout(Blackout):
    shifts: list[dict[str, Any]]
    more: int
    unlooked: bool
    preview: bool


class Circuit(TypedDict):
    service: str
    state: str
    since_at: str | None
    until_at: str | None
    failures: int
    trips: int
    probes: int
    reason: str | None
    by_hand: bool


class Waiting(TypedDict):
    channel: str
    queue: str
    pending: int
    running: int
    uncertain: int
    oldest_run_at: str | None


class Queues(Page[Waiting]):
    gates: list[dict[str, Any]]
    caps: dict[str, int]
    workers: list[dict[str, Any]]


class Worker(TypedDict):
    id: str
    host: str
    pid: int
    started_at: str
    beats: int
    running: int
    here: bool


class Figures(TypedDict):
    published: int
    failed: int
    cancelled: int
    per_minute: float
    success_rate: float | None
    on_time_rate: float | None
    late_p50: float | None
    late_p95: float | None
    late_p99: float | None


class Stats(Figures):
    since_at: str
    until_at: str
    complete: bool
    networks: dict[str, Figures]


class Entry(TypedDict):
    id: str
    status: str
    network: str
    account: str
    scheduled_at: str
    local_time: str
    text: str


Day = TypedDict(
    "Day",
    {
        "date": str,
        "from": str,
        "to": str,
        "count": int,
        "count_is_exact": bool,
        "has_more": bool,
        "posts": list[Entry],
    },
)


class Calendar(Page[Day]):
    timezone: str


class AuditLine(TypedDict):
    seq: int
    at: str
    actor: str
    action: str
    subject: str
    reason: str
    detail: str
    hash: str


class Me(TypedDict):
    name: str
    role: str
    brands: list[str] | None
