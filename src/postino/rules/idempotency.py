"""Idempotency keys: the same key on the same channel is the same job, for ever.

Every part is preceded by its length and every list by its count, so that different inputs never give the same key.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from postino.rules.rendering import list_used_placeholders, select_content
from postino.values.content import Content

CLOCK_TOLERANCE = timedelta(minutes=1)  # a handler may read the clock this long before it enqueues a child
DUPLICATE_WINDOW = timedelta(minutes=10)  # after a post is published, the same one is taken for a double click


def make_job_key(caller_key: str, account: str | None, brand: str | None = None) -> str:
    """Return the key of a job from the caller's own key and the account; without an account, and the brand.

    So no brand finds out which keys another brand uses. An account has one brand.
    """
    return _hash_parts(caller_key, account or "", *([] if account or brand is None else [brand]))


def make_child_key(parent: UUID, type: str, payload: bytes, account: str | None) -> str:
    """Return the key of a child without a key of its own: the handler of the parent may run again and enqueue it again.

    JSON that differs only in spaces or in the order of names is the same payload.
    """
    try:
        canonical = json.dumps(json.loads(payload), sort_keys=True, separators=(",", ":"))
    except ValueError:
        canonical = payload.hex()
    return _hash_parts("child", str(parent), type, canonical, account or "")


def make_sibling_key(child_key: str, place: str) -> str:
    """Return the key of a child that only its place tells from another child with this key."""
    return _hash_parts("sibling", child_key, place)


def has_moved_with_clock(
    at: datetime, existing_at: datetime, *, enqueued_at: datetime, started_at: datetime, now: datetime
) -> bool:
    """Return whether a run of a handler that computes times from the clock may mean the child of a former run.

    The former run enqueued the child at `enqueued_at` for `existing_at`; this run began at `started_at`.
    """
    moved = at - existing_at
    return started_at - enqueued_at - CLOCK_TOLERANCE <= moved <= now - enqueued_at + CLOCK_TOLERANCE


def make_plan_key(
    *,
    brand: str | None,
    channel: str,
    account: str | None,
    scheduled_at: datetime,
    media_hash: str,
    caption_hash: str,
) -> str:
    """Return the key of a planned post: same content, instant and account give the same job."""
    if scheduled_at.tzinfo is None:
        raise ValueError(f"scheduled_at must be aware, not {scheduled_at!r}")
    instant = scheduled_at.astimezone(UTC).isoformat(timespec="microseconds")
    return _hash_parts(brand or "", channel, account or "", instant, media_hash, caption_hash)


def hash_media(references: Sequence[str]) -> str:
    """Hash the checksums or URLs of media, in order."""
    return _hash_parts(*_prefix_count(references))


def hash_caption(
    text: str,
    placeholders: Mapping[str, str],
    *,
    thread: Sequence[str] = (),
    title: str | None = None,
    hashtags: Sequence[str] = (),
) -> str:
    """Hash the text on a channel before placeholders are filled in, and the placeholders it uses."""
    pairs = [part for pair in sorted(placeholders.items()) for part in pair]
    return _hash_parts(text, *_prefix_count(pairs), *_prefix_count(thread), title or "", *_prefix_count(hashtags))


def make_content_key(
    content: Content, *, brand: str | None, channel: str, account: str | None, scheduled_at: datetime
) -> str:
    """Return the key of a content on one channel, with its overrides applied."""
    source = select_content(content, channel)
    return make_plan_key(
        brand=brand,
        channel=channel,
        account=account,
        scheduled_at=scheduled_at,
        media_hash=hash_media([ref.reference for ref in source.media]),
        caption_hash=hash_caption(
            source.body,
            list_used_placeholders(source, content.placeholders),
            thread=source.thread,
            title=source.title,
            hashtags=source.hashtags,
        ),
    )


def make_fingerprint(account: str, parts: tuple[str, ...], media: Sequence[str]) -> str:
    """Return the fingerprint by which a double click is recognised."""
    return _hash_parts(account, *_prefix_count(parts), *_prefix_count(media))


def _prefix_count(parts: Sequence[str]) -> list[str]:
    return [str(len(parts)), *parts]


def _hash_parts(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()
