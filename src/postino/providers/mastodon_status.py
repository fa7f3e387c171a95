"""A status for a Mastodon server, and whether a status in the server's list is it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from postino.values.provider import Account, Answer, Receipt, UnreadableResponse


@dataclass(frozen=True, slots=True)
class Status:
    """One status to post: one part of a thread."""

    account: Account
    account_id: str
    key: str
    text: str
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def read_object(answer: Answer) -> Mapping[str, Any]:
    body = answer.json()
    match body:
        case {"id": str() | int() as id} if id and not isinstance(id, bool):
            return body  # type: ignore[no-any-return]
    raise UnreadableResponse("Mastodon's response contains no id.")


def parse_created_at(status: Mapping[str, Any]) -> datetime:
    try:
        created_at = datetime.fromisoformat(str(status["created_at"]))
        if created_at.tzinfo is None or "id" not in status:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise UnreadableResponse("A status in Mastodon's list has no date or no id.") from None
    return created_at


def has_same_place(candidate: Mapping[str, Any], status: Status) -> bool:
    reply_to = candidate.get("in_reply_to_id")
    return (str(reply_to) if reply_to else None) == status.reply_to


def has_same_files(candidate: Mapping[str, Any], status: Status) -> bool:
    return count_files(candidate) == len(status.media)


def may_have_same_files(candidate: Mapping[str, Any], status: Status) -> bool:
    """Allow for changes by servers of other software: they merge equal images, and attach images a text links to."""
    files = count_files(candidate)
    return 0 < files <= len(status.media) if status.media else not files or "://" in status.text


def count_files(candidate: Mapping[str, Any]) -> int:
    files = candidate.get("media_attachments")
    return len(files) if isinstance(files, list) else 0


def describe_absence(software: str) -> str:
    runs = f"It runs {software}, which" if software else "It does not say what software it runs, and"
    return f"The server does not list the post. {runs} may publish a repeated request, so Postino sends nothing again."


def to_receipt(body: Mapping[str, Any]) -> Receipt:
    url = body.get("url") or body.get("uri")
    return Receipt(remote_id=str(body["id"]), url=str(url) if url else None)
