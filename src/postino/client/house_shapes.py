"""What is told of the house itself: accounts, gates, workers, figures, imports, the audit trail."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from postino.client import words
from postino.client.words import (
    AccountState,
    At,
    BlackoutScope,
    CalendarWindow,
    CircuitState,
    GateKind,
    ImportState,
    QueueName,
    Scope,
    Severity,
    Status,
    Uuid,
)


class Account(TypedDict):
    """Who can publish, without what it takes to speak for them."""

    id: str
    network: str
    handle: str
    state: AccountState
    reason: str | None
    brand: str | None
    remote_id: str | None
    base_url: str
    sandbox: bool
    created_at: At


class Checked(TypedDict):
    """Whether the network takes an account's credentials; `works` is null where that cannot be told."""

    works: bool | None
    message: str
    account: Account


class Blackout(TypedDict):
    """Windows in which nothing is published: with `channel`, `brand` or `account`, as its scope says."""

    id: Uuid
    scope: BlackoutScope
    channel: NotRequired[str]
    brand: NotRequired[str]
    account: NotRequired[str]
    start: str
    end: str
    timezone: str
    days: list[int]
    reason: str | None
    sentence: str


class Shift(TypedDict):
    """A job that a blackout would move; without `moves_to` the blackouts leave it no time at all."""

    job_id: Uuid
    type: str
    channel: str
    account: str | None
    brand: str | None
    scheduled_at: At
    goes_at: At
    moves_to: At | None


class AddedBlackout(Blackout):
    """A blackout and what it moves: the first `shifts`, and how many `more`."""

    shifts: list[Shift]
    more: int
    unlooked: bool
    preview: bool


class Circuit(TypedDict):
    """Whether a service is asked at all, and since when not."""

    service: str
    state: CircuitState
    since_at: At | None
    until_at: At | None
    failures: int
    trips: int
    probes: int
    reason: str | None
    by_hand: bool


class Waiting(TypedDict):
    """How many jobs of a channel and queue wait, run or are in doubt."""

    channel: str
    queue: QueueName
    pending: int
    running: int
    uncertain: int
    oldest_run_at: At | None


class Gate(TypedDict):
    """A closed gate. Without `until_at` it stays closed until somebody opens it."""

    scope: Scope
    name: str
    kind: GateKind
    since_at: At | None
    until_at: At | None
    reason: str | None
    by_hand: bool
    sentence: str


class Cap(TypedDict):
    """How many jobs of a channel may run at once; null: as many as there are."""

    channel: str
    cap: int | None


class Dispatched(TypedDict):
    """How many due jobs the workers were told of."""

    dispatched: int


class WorkerHere(TypedDict):
    """A worker process, as it registered itself."""

    id: str
    host: str
    pid: int
    started_at: At | None
    heartbeats: int


class Worker(WorkerHere):
    """A worker process: how many jobs it runs, and whether it is there."""

    running: int
    here: bool


class Queues(TypedDict):
    """How much waits and runs where, every closed gate, caps, and who works."""

    data: list[Waiting]
    next_cursor: None
    gates: list[Gate]
    caps: dict[str, int]
    workers: list[WorkerHere]


class Brand(TypedDict):
    """Whose accounts and posts there are; `posts` counts by status, up to `counted_at_most` each."""

    brand: str
    accounts: int
    posts: dict[Status, int]
    counted_at_most: int


class Quota(TypedDict):
    """What an account's network takes in a period, how much is left, and when there is room again."""

    account: str
    network: str
    quota: str
    whose: Literal["account", "channel"]
    most: int
    left: int
    free_at: At | None
    period_seconds: float | None
    calendar: CalendarWindow | None
    timezone: str | None
    costs: dict[str, int]


class Figures(TypedDict):
    """How posts went. Rates are shares of 1, lateness is in seconds; null where nothing went out."""

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
    """The same of all posts that ended in a time, and network by network."""

    since_at: At
    until_at: At
    complete: bool
    networks: dict[str, Figures]


class Entry(TypedDict):
    """A post in the calendar."""

    id: Uuid
    status: Status
    network: str
    account: str
    scheduled_at: At
    local_time: At
    text: str


Day = TypedDict(
    "Day",
    {
        "date": words.Day,
        "from": At,
        "to": At,
        "count": int,
        "count_is_exact": bool,
        "has_more": bool,
        "posts": list[Entry],
    },
)
Day.__doc__ = "A local day from its midnight to the next, with its first posts."


class Calendar(TypedDict):
    """Local days with their posts."""

    timezone: str
    data: list[Day]
    next_cursor: None


class AuditLine(TypedDict):
    """What somebody did; its hash covers the line before it."""

    seq: int
    at: At
    actor: str
    action: str
    subject: str
    reason: str
    detail: str
    hash: str


class Audit(TypedDict):
    """The same where it was verified: whether any line was tampered with, and which is the first that was."""

    data: list[AuditLine]
    next_cursor: str | None
    verified: bool
    broken_at: int | None


class LineFault(TypedDict):
    """What is wrong with a line of a file."""

    line: int
    column: str | None
    value: str | None
    severity: Severity
    message: str


class Import(TypedDict):
    """A file of posts. `looked` rows are done; `posts` come of it, `created` or `known`; `bad` counts wrong lines."""

    id: Uuid
    state: ImportState
    token: str
    timezone: str | None
    rows: int
    looked: int
    created: int
    known: int
    posts: int
    bad: int
    faults: list[LineFault]
    more_faults: int
    created_at: At
    changed_at: At


class SignOfLife(TypedDict):
    """It answers."""

    status: Literal["live", "ready"]
