"""Write the events of posts beside those of their jobs, in the same transaction. A job that is not a post has none."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from postino.rules.post_status import PostStatus
from postino.rules.settlement import Settlement
from postino.stores.operations.text import clean_text
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, each
from postino.values.event import EventType
from postino.values.job import Job
from postino.values.post import POST

STATUS = {
    EventType.POST_SCHEDULED: PostStatus.SCHEDULED,
    EventType.POST_PUBLISHING: PostStatus.PUBLISHING,
    EventType.POST_PUBLISHED: PostStatus.PUBLISHED,
    EventType.POST_DEFERRED: PostStatus.SCHEDULED,
    EventType.POST_UNCERTAIN: PostStatus.UNCERTAIN,
    EventType.POST_FAILED: PostStatus.FAILED,
    EventType.POST_CANCELLED: PostStatus.CANCELLED,
}
# What the settlement of a post's job is for the post. A retry has no event of its own: the next is post.publishing.
SETTLED = {
    EventType.COMPLETED: EventType.POST_PUBLISHED,
    EventType.DEFERRED: EventType.POST_DEFERRED,
    EventType.UNCERTAIN: EventType.POST_UNCERTAIN,
    EventType.FAILED: EventType.POST_FAILED,
}
ACTIONS = {
    EventType.CANCELLED: EventType.POST_CANCELLED,
    EventType.RESCHEDULED: EventType.POST_SCHEDULED,
    EventType.REPLAYED: EventType.POST_SCHEDULED,
}


class PostEvent(NamedTuple):
    """An event of a post about to be written, with the fields that only its type has."""

    type: EventType
    job: Job
    fields: Mapping[str, Any]


def write_post_events(events: Iterable[PostEvent]) -> Operation[None]:
    """Insert the events of posts, in this order, in one statement."""
    rows = [
        {"id": event.job.id, "type": event.type, "data": make_post_data(event)}
        for event in events
        if event.job.type == POST
    ]
    if rows:
        yield each("insert_post_events", rows)


def make_post_data(event: PostEvent) -> str:
    """Return the data of an event. The statement adds the content's id and, once published, the time."""
    job = event.job
    data = {
        "post_id": str(job.id),
        "network": job.channel,
        "account": job.account,
        "brand": job.brand,
        "scheduled_at": format_time(job.scheduled_at),
        "status": STATUS[event.type],
    }
    return json.dumps(data | {name: value for name, value in event.fields.items() if value is not None})


def make_settled_event(job: Job, settlement: Settlement) -> PostEvent | None:
    """Return the event of a settled post; None if its settlement has none."""
    event = SETTLED.get(settlement.event) if settlement.event else None
    fields: dict[str, Any] = {}
    match event:
        case None:
            return None
        case EventType.POST_PUBLISHED:
            remote_id = settlement.remote_id or job.remote_id
            fields = {"remote_id": clean_text(remote_id), "url": find_url(settlement.result)}
        case EventType.POST_DEFERRED:
            fields = {"until": format_time(settlement.until_at), "reason": clean_text(settlement.deferral_reason)}
        case _:
            error = clean_text(settlement.error or settlement.deferral_reason)
            fields = {"cause": settlement.cause, "last_error": error, "attempts": job.attempts}
            if event is EventType.POST_UNCERTAIN:
                fields["until"] = format_time(settlement.next_run_at)
    return PostEvent(event, job, fields)


def make_action_event(job: Job, action: EventType, audit: AuditContext) -> PostEvent | None:
    """Return the event of a post on which a person acted; None if the action has none."""
    event = ACTIONS.get(action)
    if event is None:
        return None
    cancelled = event is EventType.POST_CANCELLED
    return PostEvent(event, job, {"cancelled_by": audit.actor, "reason": clean_text(audit.reason)} if cancelled else {})


def find_url(result: str | None) -> str | None:
    """Return the post's URL from the result of its handler."""
    value = None if result is None else json.loads(result)
    url = value.get("url") if isinstance(value, dict) else None
    return clean_text(url) if isinstance(url, str) else None


def format_time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
