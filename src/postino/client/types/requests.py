"""Fields of API requests. Postino treats an absent field as not given; null clears a field where that is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict
from uuid import UUID

Instant: TypeAlias = str | datetime
Id: TypeAlias = str | UUID
Resolution: TypeAlias = Literal["live", "send_again", "give_up"]


class ContentFields(TypedDict, total=False):
    """What to publish, and when."""

    text: str | None
    thread: Sequence[str] | None
    title: str | None
    hashtags: Sequence[str] | None
    media: Sequence[Mapping[str, str]] | None
    placeholders: Mapping[str, str] | None
    overrides: Mapping[str, Mapping[str, Any]] | None
    at: Instant | None
    timezone: str | None
    publish_until: Instant | None


class PostFields(ContentFields, total=False):
    """Fields of a new post."""

    allow_duplicate: bool
    allow_blackout: bool


class PostChanges(ContentFields, total=False):
    """Fields of an edit."""

    reason: str


class DraftFields(ContentFields, total=False):
    """Fields of a draft."""

    accounts: Sequence[str] | None
    brand: str | None


class ListPostsParams(TypedDict, total=False):
    """`from_at` and `to_at` are `from` and `to` of the API. Separate several statuses or flags with commas."""

    status: str
    network: str
    account: str
    brand: str
    from_at: Instant
    to_at: Instant
    timezone: str
    text: str
    flags: str
    limit: int
    cursor: str


class ListJobsParams(TypedDict, total=False):
    """Parameters that select the jobs to list."""

    state: str
    type: str
    channel: str
    account: str
    brand: str
    queue: str
    parent: Id
    limit: int
    cursor: str


class ListDeadLettersParams(TypedDict, total=False):
    """Which dead letters to list."""

    type: str
    channel: str
    account: str
    brand: str
    cause: str
    resolved: bool
    limit: int
    cursor: str


class ListUncertainParams(TypedDict, total=False):
    """Which uncertain jobs to list."""

    type: str
    channel: str
    account: str
    brand: str
    limit: int
    cursor: str


class JobFields(TypedDict, total=False):
    """Fields of a new job."""

    channel: str
    payload: Any
    run_at: Instant
    timezone: str
    queue: str
    account: str
    brand: str
    user_id: str
    correlation_id: str
    max_attempts: int
    time_limit: float


class UserChanges(TypedDict, total=False):
    """Fields of a user to change. `brands` None means all brands."""

    role: str
    password: str
    brands: Sequence[str] | None
    reason: str


class ReplayOptions(TypedDict, total=False):
    """Options for replaying a failed job. Without `payload` it runs with the payload it had."""

    payload: Any
    force: bool
    reason: str


class BlackoutFields(TypedDict, total=False):
    """Fields of a new blackout."""

    scope: Literal["all", "channel", "brand", "account"]
    channel: str
    brand: str
    account: str
    start: str
    end: str
    timezone: str
    days: Sequence[int]
    reason: str
