"""Compute the status of posts and contents for people, from the job. It is never stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from postino.values.job import State

LATE_AFTER = timedelta(minutes=5)


class PostStatus(StrEnum):
    SCHEDULED = "scheduled"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNCERTAIN = "uncertain"


STATUS = {
    State.PENDING: PostStatus.SCHEDULED,
    State.RUNNING: PostStatus.PUBLISHING,
    State.COMPLETED: PostStatus.PUBLISHED,
    State.FAILED: PostStatus.FAILED,
    State.CANCELLED: PostStatus.CANCELLED,
    State.UNCERTAIN: PostStatus.UNCERTAIN,
}


class Flag(StrEnum):
    RETRYING = "retrying"
    DEFERRED = "deferred"
    LATE = "late"
    AT_RISK = "at_risk"


class ContentStatus(StrEnum):
    DRAFT = "draft"
    SCHEDULED = "scheduled"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    PARTIALLY_PUBLISHED = "partially_published"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The status of a post and its flags, each with its reason."""

    status: PostStatus
    flags: Mapping[Flag, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostSnapshot:
    """What the status of a post depends on. `deferred`: why it waits, by itself or at a closed gate."""

    state: State
    scheduled_at: datetime
    run_at: datetime | None = None
    published_at: datetime | None = None
    publish_until_at: datetime | None = None
    attempts: int = 0
    max_attempts: int | None = None
    deferral_reason: str | None = None
    token_expired: bool = False


def compute_post_status(facts: PostSnapshot, now: datetime) -> StatusReport:
    """Compute the status and the flags of a post.

    | state     | status     | may be                                   |
    |-----------|------------|------------------------------------------|
    | pending   | scheduled  | retrying, deferred, late, at_risk        |
    | running   | publishing | retrying, late                           |
    | completed | published  | late: it went out later than asked for   |
    | failed    | failed     |                                          |
    | cancelled | cancelled  |                                          |
    | uncertain | uncertain  |                                          |
    """
    reasons = {
        Flag.RETRYING: _describe_retries(facts),
        Flag.DEFERRED: facts.deferral_reason if facts.state is State.PENDING else None,
        Flag.LATE: _describe_delay(facts, now),
        Flag.AT_RISK: _describe_risk(facts),
    }
    return StatusReport(STATUS[facts.state], {flag: why for flag, why in reasons.items() if why is not None})


def compute_content_status(posts: Iterable[PostStatus]) -> ContentStatus:
    """Compute the status of a content. Cancelled posts count only if there are no others.

    | its posts                                         | content             |
    |---------------------------------------------------|---------------------|
    | none                                              | draft               |
    | all cancelled                                     | cancelled           |
    | one uncertain: a person may be needed             | uncertain           |
    | one on its way                                    | publishing          |
    | all published                                     | published           |
    | some published; others failed or are yet to come  | partially_published |
    | some failed; none published                       | failed              |
    | all yet to come                                   | scheduled           |
    """
    there = set(posts)
    if not there:
        return ContentStatus.DRAFT
    match there - {PostStatus.CANCELLED}:
        case left if not left:
            return ContentStatus.CANCELLED
        case left if PostStatus.UNCERTAIN in left:
            return ContentStatus.UNCERTAIN
        case left if PostStatus.PUBLISHING in left:
            return ContentStatus.PUBLISHING
        case left if left == {PostStatus.PUBLISHED}:
            return ContentStatus.PUBLISHED
        case left if PostStatus.PUBLISHED in left:
            return ContentStatus.PARTIALLY_PUBLISHED
        case left if PostStatus.FAILED in left:
            return ContentStatus.FAILED
        case _:
            return ContentStatus.SCHEDULED


def _describe_retries(facts: PostSnapshot) -> str | None:
    """Describe failed attempts. An attempt counts when it starts: the current one has not failed yet."""
    match facts.state:
        case State.PENDING:
            behind = facts.attempts
        case State.RUNNING:
            behind = facts.attempts - 1
        case _:
            behind = 0
    if behind < 1:
        return None
    return "One attempt has failed." if behind == 1 else f"{behind} attempts have failed."


def _describe_delay(facts: PostSnapshot, now: datetime) -> str | None:
    match facts.state:
        case State.PENDING | State.RUNNING:
            late, verb = now - facts.scheduled_at, "is"
        case State.COMPLETED if facts.published_at is not None:
            late, verb = facts.published_at - facts.scheduled_at, "went out"
        case _:
            return None
    return f"It {verb} {_format_duration(late)} late." if late > LATE_AFTER else None


def _describe_risk(facts: PostSnapshot) -> str | None:
    if facts.state is not State.PENDING:
        return None
    if facts.token_expired:
        return "The account's access has ended: reconnect it, or this post cannot go out."
    if facts.publish_until_at is not None and facts.run_at is not None and facts.run_at >= facts.publish_until_at:
        return "The post is due after its `publish_until`. Reschedule it, or Postino will not publish it."
    if facts.max_attempts is not None and 0 < facts.attempts == facts.max_attempts - 1:
        return "The next attempt is the last one: if it fails, the post fails."
    return None


def _format_duration(late: timedelta) -> str:
    minutes = int(late.total_seconds() // 60)
    hours, rest = divmod(minutes, 60)
    return f"{minutes} minutes" if not hours else f"{hours} h {rest} min"
