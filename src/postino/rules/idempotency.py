"""Idempotency keys: the same key on the same channel is the same job, for ever.

Every part is preceded by its length and every list by its count, so that different inputs never give the same key.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from postino.rules.rendering import list_used_placeholders, select_content
from postino.values.content import Content

DUPLICATE_WINDOW = timedelta(minutes=10)  # the same post published twice within this is taken for a double click


def make_job_key(caller_key: str, account: str | None) -> str:
    """Return the key of a job from the caller's own key and the account."""
    return _hash_parts(caller_key, account or "")


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
    said = select_content(content, channel)
    return make_plan_key(
        brand=brand,
        channel=channel,
        account=account,
        scheduled_at=scheduled_at,
        media_hash=hash_media([ref.reference for ref in said.media]),
        caption_hash=hash_caption(
            said.body,
            list_used_placeholders(said, content.placeholders),
            thread=said.thread,
            title=said.title,
            hashtags=said.hashtags,
        ),
    )


def make_fingerprint(account: str, parts: tuple[str, ...], media: Sequence[str]) -> str:
    """Return the fingerprint by which a double click is recognised within ten minutes."""
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
