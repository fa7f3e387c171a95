"""From what a request says to what is wanted: contents, times, and what to tell people about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from postino.api.models import MOST_ACCOUNTS, ContentBody, MediaBody, OverrideBody, PostBody
from postino.errors import WrongUse
from postino.publishing.post_request import PostRequest
from postino.rules.local_time import parse_time
from postino.values.content import Content, ContentOverride, MediaRef
from postino.values.time_zones import get_zone

NAMES = {"text": "body"}  # what a content calls otherwise
NO_COMMENTS = "Postino does not write first comments yet. Leave it out."
NO_UPLOADS = "Postino keeps no uploads yet. Give the `url` under which the picture or film can be fetched."


@dataclass(frozen=True, slots=True)
class Timing:
    """When it is to go out and until when it may, and what people should know about how that was found."""

    at: datetime | None
    until_at: datetime | None
    notes: tuple[str, ...]


def wish_of(body: PostBody, timing: Timing) -> PostRequest:
    check_number(body.accounts)
    return PostRequest(
        content=content_of(body),
        accounts=tuple(body.accounts),
        at=timing.at,
        publish_until_at=timing.until_at,
        allow_duplicate=body.allow_duplicate,
        allow_blackout=body.allow_blackout,
    )


def check_number(accounts: Sequence[str]) -> None:
    if not accounts:
        raise WrongUse("accounts: name at least one account that publishes it.", "accounts")
    if len(accounts) > MOST_ACCOUNTS:
        told = f"{len(accounts)} are too many for one request, {MOST_ACCOUNTS} are the most."
        raise WrongUse(f"accounts: {told}", "accounts")


def timing_of(body: ContentBody) -> Timing:
    notes: list[str] = []
    at = instant(body.at, body.timezone, "at", notes)
    until_at = instant(body.publish_until, body.timezone, "publish_until", notes)
    return Timing(at, until_at, tuple(notes))


def instant(text: str | None, timezone: str | None, field: str, notes: list[str]) -> datetime | None:
    try:
        if text is None:
            check_zone(timezone)
            return None
        found = parse_time(text, timezone)
    except WrongUse as error:
        blamed = field if error.field == "at" else error.field
        raise WrongUse(f"{blamed}: {error}", blamed) from error
    if found.note is not None:
        notes.append(found.note.message)
    return found.at


def check_zone(name: str | None) -> None:
    """A wrong name is told at once, and not with the first time that needs it."""
    if name is not None:
        get_zone(name)


def content_of(body: ContentBody, before: Content | None = None) -> Content:
    """What is left out is as it was before."""
    if body.first_comment is not None:
        raise WrongUse(f"first_comment: {NO_COMMENTS}", "first_comment")
    said: dict[str, Any] = {
        "text": body.text or "",
        "thread": tuple(body.thread or ()),
        "title": body.title,
        "hashtags": tuple(body.hashtags or ()),
        "media": media_of(body.media or [], ""),
        "placeholders": body.placeholders or {},
        "overrides": {network: make_override(network, said) for network, said in (body.overrides or {}).items()},
    }
    changed = {NAMES.get(name, name): value for name, value in said.items() if name in body.model_fields_set}
    return replace(before or Content(), **changed)


def make_override(network: str, body: OverrideBody) -> ContentOverride:
    return ContentOverride(
        body=body.text,
        thread=None if body.thread is None else tuple(body.thread),
        title=body.title,
        hashtags=None if body.hashtags is None else tuple(body.hashtags),
        media=None if body.media is None else media_of(body.media, f"overrides.{network}."),
        options=body.options,
    )


def media_of(media: Sequence[MediaBody], prefix: str) -> tuple[MediaRef, ...]:
    return tuple(media_ref(one, f"{prefix}media[{number}]") for number, one in enumerate(media))


def media_ref(media: MediaBody, field: str) -> MediaRef:
    if media.id is not None:
        raise WrongUse(f"{field}.id: {NO_UPLOADS}", f"{field}.id")
    if media.url is None:
        raise WrongUse(f"{field}.url is missing: the address under which it can be fetched.", f"{field}.url")
    return MediaRef(url=media.url, alt=media.alt, kind=media.known_kind)
