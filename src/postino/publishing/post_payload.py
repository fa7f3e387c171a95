"""The payload of a post's job: the final text and media, as JSON, and back."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from postino.values.job import Job
from postino.values.provider import Account, Media, Post


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPayload:
    url: str
    kind: str = "image"
    alt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostPayload:
    """What the worker publishes: parts of a thread in order, media and options of the network."""

    parts: tuple[str, ...]
    title: str | None = None
    media: tuple[MediaPayload, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    publish_until_at: datetime | None = None


def dump_payload(payload: PostPayload) -> bytes:
    return json.dumps(dataclasses.asdict(payload), default=datetime.isoformat).encode()


def load_payload(data: bytes) -> PostPayload:
    return _payload_type().validate_json(data)


def to_provider_post(job: Job, payload: PostPayload, account: Account) -> Post:
    """Return the post as a network's provider takes it."""
    return Post(
        id=job.id,
        account=account,
        parts=payload.parts,
        title=payload.title,
        media=tuple(Media(url=media.url, kind=media.kind, alt=media.alt) for media in payload.media),
        created_at=job.created_at,
        options=payload.options,
    )


@cache
def _payload_type() -> TypeAdapter[PostPayload]:
    return TypeAdapter(PostPayload)
