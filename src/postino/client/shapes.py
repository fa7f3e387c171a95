"""What is answered, as plain dicts. Instants are texts in UTC."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypedDict, TypeVar

from postino.client.wishes import DraftSaid

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    data: list[T]
    next_cursor: str | None


class Post(TypedDict):
    id: str
    status: str
    flags: list[str]
    reasons: dict[str, str]
    network: str
    account: str
    content_id: str
    scheduled_at: str
    run_at: str | None
    published_at: str | None
    remote_id: str | None
    url: str | None
    attempts: int
    last_error: str | None
    needs_person: bool
    publish_until: str | None
    version: int
    created_at: str
    text: str


class ChangedPost(Post):
    notes: list[str]


class PostDetails(Post):
    history: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    intents: list[dict[str, Any]]
    receipts: list[dict[str, Any]]


class Made(TypedDict):
    """What became of one wish: a post for each account."""

    content_id: str
    status: str
    posts: list[Post]
    notes: list[str]


class Content(TypedDict):
    id: str
    status: str
    text: str
    thread: list[str]
    title: str | None
    hashtags: list[str]
    media: list[dict[str, Any]]
    placeholders: dict[str, str]
    overrides: dict[str, dict[str, Any]]
    posts: list[Post]


class Preview(TypedDict):
    account: str
    network: str
    publishable: bool
    parts: list[str]
    title: str | None
    media: list[dict[str, Any]]
    hashtags: list[str]
    problems: list[dict[str, Any]]


class Previewed(TypedDict):
    preview: bool
    posts: list[Preview]
    notes: list[str]


class Judged(TypedDict):
    valid: bool
    problems: list[dict[str, Any]]
    posts: list[Preview]
    notes: list[str]


class Blocker(TypedDict):
    kind: str
    sentence: str
    since_at: str | None
    until_at: str | None
    cause: str | None
    unblock: str | None


class Explained(TypedDict):
    sentence: str
    runnable: bool
    eta: str | None
    blockers: list[Blocker]


class Draft(DraftSaid):
    """With whatever was said of it."""

    id: str
    author: str
    version: int
    created_at: str
    changed_at: str


class Job(TypedDict):
    id: str
    type: str
    channel: str
    queue: str
    state: str
    payload: Any
    idempotency_key: str
    scheduled_at: str
    run_at: str | None
    created_at: str
    account: str | None
    brand: str | None
    user_id: str | None
    parent_id: str | None
    correlation_id: str | None
    attempts: int
    max_attempts: int | None
    backoff: Any
    time_limit: float | None
    generation: int
    rescues: int
    deferrals: int
    deferred: str | None
    sent: bool
    look_at: str | None
    remote_id: str | None
    last_error: str | None
    claimed_by: str | None
    claimed_at: str | None
    dispatched_at: str | None
    limited: int
    regardless: bool
    result: Any
    finished_at: str | None


class QueuedJob(Job):
    notes: list[str]


class JobDetails(Job):
    history: list[dict[str, Any]]


class UncertainJob(Job):
    trouble: str | None
    needs_person: bool
    in_doubt: list[str]
    intents: list[dict[str, Any]]
    receipts: list[dict[str, Any]]


class UncertainDetails(UncertainJob):
    history: list[dict[str, Any]]


class Sight(TypedDict):
    sighting: Literal["found", "not_found", "cannot_tell"]
    why: str | None
    candidates: list[dict[str, Any]]


class Evaluation(TypedDict):
    runnable: bool
    in_blackout: bool
    has_collision: bool
    blockers: list[Blocker]


class Evaluated(TypedDict):
    channel: str
    run_at: str
    evaluation: Evaluation
    notes: list[str]


class Letter(TypedDict):
    id: str
    cause: str
    died_at: str
    error: str
    resolved_at: str | None
    resolution: str | None
    job: Job


class LetterDetails(Letter):
    trace: str | None
    history: list[dict[str, Any]]


class Event(TypedDict):
    id: str
    type: str
    at: str
    job_id: str | None
    brand: str | None
    data: Any
