"""What programs ask for, field by field; what is left out is not said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict
from uuid import UUID

Instant: TypeAlias = str | datetime
Id: TypeAlias = str | UUID
Verdict: TypeAlias = Literal["live", "send_again", "give_up"]


class Said(TypedDict, total=False):
    """What a post says and when it goes out; what is left out is not said."""

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


class NewPost(Said, total=False):
    allow_duplicate: bool
    allow_blackout: bool


class Changes(Said, total=False):
    reason: str


class DraftSaid(Said, total=False):
    accounts: Sequence[str] | None
    brand: str | None


class PostsWanted(TypedDict, total=False):
    """`from_at` and `to_at` are `from` and `to` of the API; several statuses and flags are one text with commas."""

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


class JobsWanted(TypedDict, total=False):
    state: str
    type: str
    channel: str
    account: str
    brand: str
    queue: str
    parent: Id
    limit: int
    cursor: str


class LettersWanted(TypedDict, total=False):
    type: str
    channel: str
    account: str
    brand: str
    cause: str
    resolved: bool
    limit: int
    cursor: str


class UncertainWanted(TypedDict, total=False):
    type: str
    channel: str
    account: str
    brand: str
    limit: int
    cursor: str


class NewJob(TypedDict, total=False):
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
    """`brands` None means all of them."""

    role: str
    password: str
    brands: Sequence[str] | None
    reason: str


class Again(TypedDict, total=False):
    """How a failed job is run again; without a `payload` with that it had."""

    payload: Any
    force: bool
    reason: str


class NewBlackout(TypedDict, total=False):
    scope: Literal["all", "channel", "brand", "account"]
    channel: str
    brand: str
    account: str
    start: str
    end: str
    timezone: str
    days: Sequence[int]
    reason: str
