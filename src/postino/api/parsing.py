"""Convert request bodies to contents and times, with notes about how ambiguous times were read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from postino.api.models import MAX_ACCOUNTS, ContentBody, MediaBody, OverrideBody, PostBody, ResolveBody
from postino.errors import WrongUse
from postino.publishing.post_request import PostRequest
from postino.rules.local_time import parse_time as parse_local_time
from postino.values.content import Content, ContentOverride, MediaRef
from postino.values.outcome import Done, Reject, Retry
from postino.values.time_zones import get_zone

CONTENT_NAMES = {"text": "body"}  # fields that have another name in Content
NO_FIRST_COMMENT = "Postino does not support first comments yet. Leave it out."
NO_UPLOADS = "Postino does not store uploads yet. Give the `url` of the image or video."


@dataclass(frozen=True, slots=True)
class Timing:
    """When to publish and until when, with notes such as "this time exists twice, the first is meant"."""

    at: datetime | None
    until_at: datetime | None
    notes: tuple[str, ...]


def parse_post_request(body: PostBody, timing: Timing) -> PostRequest:
    check_account_count(body.accounts)
    return PostRequest(
        content=parse_content(body),
        accounts=tuple(body.accounts),
        at=timing.at,
        publish_until_at=timing.until_at,
        allow_duplicate=body.allow_duplicate,
        allow_blackout=body.allow_blackout,
    )


def check_account_count(accounts: Sequence[str]) -> None:
    if not accounts:
        raise WrongUse("accounts: name at least one account.", "accounts")
    if len(accounts) > MAX_ACCOUNTS:
        message = f"accounts: {len(accounts)} are too many for one request, {MAX_ACCOUNTS} are allowed."
        raise WrongUse(message, "accounts")


def parse_timing(body: ContentBody) -> Timing:
    notes: list[str] = []
    at = parse_time(body.at, body.timezone, "at", notes)
    until_at = parse_time(body.publish_until, body.timezone, "publish_until", notes)
    return Timing(at, until_at, tuple(notes))


def parse_time(text: str | None, timezone: str | None, field: str, notes: list[str]) -> datetime | None:
    """Parse a time of a body; add a note if it was ambiguous. A wrong time zone is an error even without a time."""
    try:
        if text is None:
            if timezone is not None:
                get_zone(timezone)
            return None
        parsed = parse_local_time(text, timezone)
    except WrongUse as error:
        wrong = field if error.field == "at" else error.field
        raise WrongUse(f"{wrong}: {error}", wrong) from error
    if parsed.note is not None:
        notes.append(parsed.note.message)
    return parsed.at


def parse_content(body: ContentBody, before: Content | None = None) -> Content:
    """Build a content; fields that the body leaves out are as in `before`."""
    if body.first_comment is not None:
        raise WrongUse(f"first_comment: {NO_FIRST_COMMENT}", "first_comment")
    fields: dict[str, Any] = {
        "text": body.text or "",
        "thread": tuple(body.thread or ()),
        "title": body.title,
        "hashtags": tuple(body.hashtags or ()),
        "media": parse_media(body.media or [], ""),
        "placeholders": body.placeholders or {},
        "overrides": {network: parse_override(network, it) for network, it in (body.overrides or {}).items()},
    }
    changes = {CONTENT_NAMES.get(name, name): value for name, value in fields.items() if name in body.model_fields_set}
    return replace(before or Content(), **changes)


def parse_override(network: str, body: OverrideBody) -> ContentOverride:
    return ContentOverride(
        body=body.text,
        thread=None if body.thread is None else tuple(body.thread),
        title=body.title,
        hashtags=None if body.hashtags is None else tuple(body.hashtags),
        media=None if body.media is None else parse_media(body.media, f"overrides.{network}."),
        options=body.options,
    )


def parse_media(media: Sequence[MediaBody], prefix: str) -> tuple[MediaRef, ...]:
    return tuple(parse_media_ref(one, f"{prefix}media[{number}]") for number, one in enumerate(media))


def parse_media_ref(media: MediaBody, field: str) -> MediaRef:
    if media.id is not None:
        raise WrongUse(f"{field}.id: {NO_UPLOADS}", f"{field}.id")
    if media.url is None:
        raise WrongUse(f"{field}.url is missing: the URL of the image or video.", f"{field}.url")
    return MediaRef(url=media.url, alt=media.alt, kind=media.known_kind)


def parse_verdict(body: ResolveBody) -> Done | Retry | Reject:
    """Return the outcome that a person's verdict about an uncertain post means."""
    if not body.reason.strip():
        raise WrongUse("reason: say how you found out; it is stored in the audit trail.", "reason")
    match body.verdict:
        case "live":
            if not (body.remote_id or "").strip():
                raise WrongUse("remote_id is missing: the id of the post on its network.", "remote_id")
            return Done(remote_id=body.remote_id)
        case "send_again":
            return Retry(body.reason)
        case "give_up":
            return Reject(body.reason)
