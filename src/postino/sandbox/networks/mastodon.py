"""Mastodon: statuses with an optional key. The key is written after the status, so it cannot be relied on alone."""

import html
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import regex

from postino.sandbox.network import (
    Ask,
    Doubt,
    Endpoint,
    Membership,
    Network,
    Refused,
    Reply,
    digits_of,
    secret_of,
    whole_number,
)  # fmt: skip
from postino.sandbox.network_state import Account, Memory, Thing

STATUS, MEDIA, KEY, WINDOW = "status", "media", "key", "window"
MOST_CHARACTERS, CHARACTERS_OF_A_LINK, MOST_MEDIA, LARGEST_MEDIA = 500, 23, 4, 16 * 1024 * 1024
MOST_LISTED = 40
PERIOD = timedelta(minutes=5)
LINK = re.compile(r"https?://[^\s<>\"]+[^\s<>\"'.,;:!?)]")
MENTION = re.compile(r"(?<![\w/])@(\w+)@[\w.-]+\w")
HASHTAG = re.compile(r"(?<![\w/&])#(\w*[^\W\d]\w*)")
VISIBILITIES = ("public", "unlisted", "private", "direct")


class Mastodon(Network):
    name = "mastodon"
    title = "Mastodon"
    colour = "#6364ff"
    icon = (
        "M6 3h12a3 3 0 0 1 3 3v8a3 3 0 0 1-3 3h-7l-4 4v-4H6a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3zm1 11h2V9.6a1 "
        "1 0 0 1 2 0V12h2V9.6a1 1 0 0 1 2 0V14h2V9.4A3 3 0 0 0 12 7.3a3 3 0 0 0-5 2.1z"
    )
    handle = "postcard"
    settings: ClassVar[Mapping[str, float]] = {
        "media_seconds": 0.3, "key_seconds": 3600, "calls_per_5_minutes": 100_000,
    }  # fmt: skip

    def membership(self, handle: str) -> Membership:
        token = secret_of(self.name, handle, "token", 43)
        return Membership(
            remote_id=digits_of(self.name, handle, 18), credentials={"access_token": token}, tokens={token: "access"}
        )

    def usual_headers(self, memory: Memory) -> Mapping[str, str]:
        most = int(memory.setting("calls_per_5_minutes"))
        window = memory.find(WINDOW, memory.account.handle)
        used = window.body["calls"] if window else 0
        return limits(most, max(0, most - used), window_end(memory.now))

    def overdrawn(self, memory: Memory) -> int | None:
        """Counts the call, too. Counts end with their window."""
        end = window_end(memory.now)
        window = memory.find(WINDOW, memory.account.handle)
        calls = window.body["calls"] if window and window.body["end"] == end.timestamp() else 0
        if calls >= memory.setting("calls_per_5_minutes"):
            return int((end - memory.now).total_seconds()) + 1
        if window is None:
            memory.keep(WINDOW, memory.account.handle, {})
        memory.change(WINDOW, memory.account.handle, calls=calls + 1, end=end.timestamp())
        return None

    def bad_request(self, message: str) -> Reply:
        return Reply(400, {"error": message})

    def unauthorized(self, doubt: Doubt) -> Reply:
        message = "This method requires an authenticated user"
        return Reply(401, {"error": message if doubt is Doubt.MISSING else "The access token is invalid"})

    def blocked(self) -> Reply:
        return Reply(403, {"error": "Your login is currently disabled"})

    def no_such_endpoint(self) -> Reply:
        return Reply(404, {"error": "Record not found"})

    def internal_error(self) -> Reply:
        return Reply(500, {"error": "We're sorry, but something went wrong on our end."})

    def published_anyway(self) -> Reply:
        message = "There was a temporary problem serving your request, please try again"
        return Reply(503, {"error": message})

    def rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        body = {"error": "Too many requests"}
        if seconds is None:
            return Reply(429, body)
        reset_at = datetime.fromisoformat(iso(now + timedelta(seconds=seconds)))
        return Reply(429, body, limits(300, 0, reset_at), retry_at=reset_at)


def limits(most: int, remaining: int, reset_at: datetime) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(most), "X-RateLimit-Remaining": str(remaining), "X-RateLimit-Reset": iso(reset_at),
    }  # fmt: skip


def window_end(now: datetime) -> datetime:
    seconds = PERIOD.total_seconds()
    return datetime.fromtimestamp((now.timestamp() // seconds + 1) * seconds, UTC)


def iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unprocessable(message: str) -> Refused:
    return Refused(Reply(422, {"error": message}))


def missing(message: str = "Record not found") -> Refused:
    return Refused(Reply(404, {"error": message}))


# Media


def upload_media(ask: Ask, memory: Memory) -> Reply:
    file = ask.files.get("file")
    if file is None or not file.data:
        raise unprocessable("Validation failed: File can't be blank")
    if not file.mime.startswith(("image/", "video/", "audio/")):
        raise unprocessable("Validation failed: File content type is invalid, File is invalid")
    if len(file.data) > LARGEST_MEDIA:
        raise unprocessable("Validation failed: File file size must be less than 16 MB")
    number = snowflake(memory)
    memory.keep(MEDIA, number, memory.store(file) | {"alt": ask.text("description")})
    found = memory.find(MEDIA, number)
    assert found is not None
    return Reply(202 if pending(memory, found) else 200, attachment(ask, memory, found))


def media_status(ask: Ask, memory: Memory) -> Reply:
    found = memory.find_own(MEDIA, ask.path["id"])
    if found is None or "status" in found.body:
        raise missing()
    return Reply(206 if pending(memory, found) else 200, attachment(ask, memory, found))


def pending(memory: Memory, media: Thing) -> bool:
    return not memory.elapsed(media.kept_at, "media_seconds")


def attachment(ask: Ask, memory: Memory, media: Thing) -> dict[str, Any]:
    address = f"{ask.url.rpartition('/')[0]}{media.body['url']}"
    return {
        "id": media.id, "type": media.body["mime"].partition("/")[0],
        "url": None if pending(memory, media) else address, "preview_url": address, "remote_url": None,
        "text_url": None, "meta": {}, "description": media.body["alt"], "blurhash": None,
    }  # fmt: skip


# Statuses


def post_status(ask: Ask, memory: Memory) -> Reply:
    key = ask.headers.get("idempotency-key")
    if key and (earlier := posted_with(memory, key)):
        return Reply(200, shown(ask, memory, earlier))
    media = attachable(ask, memory)
    text = checked_text(ask, with_media=bool(media))
    reply_to = ask.text("in_reply_to_id") or None
    if reply_to and memory.find(STATUS, reply_to) is None:
        raise missing("The post you are trying to reply to does not appear to exist.")
    number = snowflake(memory)
    pictures = [{"url": it.body["url"], "mime": it.body["mime"], "alt": it.body["alt"]} for it in media]
    memory.keep(STATUS, number, {
        "text": text, "spoiler_text": ask.text("spoiler_text"), "visibility": ask.text("visibility", "public"),
        "sensitive": ask.truth("sensitive"), "language": ask.text("language", "en"), "reply_to": reply_to,
        "media": [it.id for it in media],
    }, listed=True)  # fmt: skip
    for it in media:
        memory.change(MEDIA, it.id, status=number)
    memory.publish(number, text, media=pictures, reply_to=reply_to)
    found = memory.find(STATUS, number)
    assert found is not None
    return Reply(200, shown(ask, memory, found), afterwards=remember(memory.account, key, number) if key else None)


def posted_with(memory: Memory, key: str) -> Thing | None:
    known = memory.find(KEY, f"{memory.account.handle} {key}")
    if known is None or memory.elapsed(known.kept_at, "key_seconds"):
        return None
    return memory.find(STATUS, known.body["status"])


def remember(account: Account, key: str, status: str) -> Any:
    """A key is known only once its status is on disk: who asks in between, or after a crash there, posts again."""

    def write(memory: Memory) -> None:
        memory.caller = account
        memory.forget(KEY, f"{account.handle} {key}")
        memory.keep(KEY, f"{account.handle} {key}", {"status": status})

    return write


def attachable(ask: Ask, memory: Memory) -> list[Thing]:
    told = ask.params.get("media_ids") or []
    ids = [str(it) for it in told] if isinstance(told, list) else [str(told)]
    if len(ids) > MOST_MEDIA:
        raise unprocessable("Validation failed: Cannot attach more than 4 files")
    found = [memory.find_own(MEDIA, name) for name in ids]
    for name, media in zip(ids, found, strict=True):
        if media is None or "status" in media.body:
            raise unprocessable(f"Validation failed: Media {name} not found or already attached to another post")
        if pending(memory, media):
            raise unprocessable(
                "Validation failed: Cannot attach files that have not finished processing. Try again in a moment!"
            )
    return [media for media in found if media]


def checked_text(ask: Ask, *, with_media: bool) -> str:
    text, spoiler = ask.text("status"), ask.text("spoiler_text")
    if not text.strip() and not with_media:
        raise unprocessable("Validation failed: Text can't be blank")
    if characters(text) + characters(spoiler) > MOST_CHARACTERS:
        raise unprocessable(f"Validation failed: Text character limit of {MOST_CHARACTERS} exceeded")
    if ask.text("visibility", "public") not in VISIBILITIES:
        raise unprocessable("Validation failed: Visibility is not included in the list")
    return text


def characters(text: str) -> int:
    """As people see them; every link is as long as any other, and of a mention only the name counts."""
    short = MENTION.sub(r"@\1", LINK.sub("x" * CHARACTERS_OF_A_LINK, text))
    return len(regex.findall(r"\X", short))


def snowflake(memory: Memory) -> str:
    return str((int(memory.now.timestamp() * 1000) << 16) | (memory.number() & 0xFFFF))


def get_status(ask: Ask, memory: Memory) -> Reply:
    return Reply(200, shown(ask, memory, found_status(ask, memory)))


def get_source(ask: Ask, memory: Memory) -> Reply:
    status = found_status(ask, memory)
    if status.account != memory.account.handle:
        raise missing()
    return Reply(200, {"id": status.id, "text": status.body["text"], "spoiler_text": status.body["spoiler_text"]})


def found_status(ask: Ask, memory: Memory) -> Thing:
    found = memory.find(STATUS, ask.path["id"])
    if found is None:
        raise missing()
    return found


def list_statuses(ask: Ask, memory: Memory) -> Reply:
    account = memory.account_of(ask.path["id"])
    if account is None or account.remote_id != ask.path["id"]:
        raise missing()
    limit = whole_number(ask.text("limit", "20"))
    if not limit:
        raise Refused(NETWORK.bad_request("limit is not a number"))
    told = {name: whole_number(ask.text(name)) for name in ("max_id", "since_id", "min_id")}
    bounds = {name: number for name, number in told.items() if number is not None}
    found = [
        status
        for status in memory.listed(STATUS, account.handle)
        if int(status.id) < bounds.get("max_id", 1 << 100)
        and int(status.id) > max(bounds.get("since_id", 0), bounds.get("min_id", 0))
        and not (ask.truth("exclude_replies") and status.body["reply_to"])
        and not (ask.truth("only_media") and not status.body["media"])
    ]
    many = min(limit, MOST_LISTED)
    part = found[-many:] if "min_id" in bounds else found[:many]
    return Reply(200, [shown(ask, memory, status) for status in part])


def shown(ask: Ask, memory: Memory, status: Thing) -> dict[str, Any]:
    author = memory.account_of(status.account)
    assert author is not None
    media = [memory.find(MEDIA, name) for name in status.body["media"]]
    url = f"{ask.url}/@{author.handle}/{status.id}"
    return {
        "id": status.id, "created_at": iso(status.kept_at), "in_reply_to_id": status.body["reply_to"],
        "in_reply_to_account_id": author.remote_id if status.body["reply_to"] else None,
        "sensitive": status.body["sensitive"], "spoiler_text": status.body["spoiler_text"],
        "visibility": status.body["visibility"], "language": status.body["language"], "uri": url, "url": url,
        "replies_count": 0, "reblogs_count": 0, "favourites_count": 0, "edited_at": None,
        "content": as_html(ask, status.body["text"]), "reblog": None, "account": profile(ask, author),
        "media_attachments": [attachment(ask, memory, it) for it in media if it], "mentions": [],
        "tags": [{"name": tag.lower(), "url": f"{ask.url}/tags/{tag}"} for tag in HASHTAG.findall(status.body["text"])],
        "emojis": [], "card": None, "poll": None,
    }  # fmt: skip


def as_html(ask: Ask, text: str) -> str:
    """Paragraphs and line breaks, links with their scheme hidden, hashtags as links: no longer what was sent."""
    escaped = html.escape(text, quote=True)
    linked = LINK.sub(lambda found: anchor(found[0]), escaped)
    tag = rf'<a href="{ask.url}/tags/\1" class="mention hashtag" rel="tag">#<span>\1</span></a>'
    tagged = HASHTAG.sub(tag, linked)
    paragraphs = [part.replace("\n", "<br />") for part in re.split(r"\n{2,}", tagged.strip("\n"))]
    return "".join(f"<p>{part}</p>" for part in paragraphs) if text else ""


def anchor(url: str) -> str:
    scheme, _, rest = url.partition("://")
    seen, hidden = rest[:30], rest[30:]
    style = "ellipsis" if hidden else ""
    return (
        f'<a href="{url}" target="_blank" rel="nofollow noopener noreferrer" translate="no"><span class="invisible">'
        f'{scheme}://</span><span class="{style}">{seen}</span><span class="invisible">{hidden}</span></a>'
    )


# Who and where


def verify_credentials(ask: Ask, memory: Memory) -> Reply:
    source = {"privacy": "public", "sensitive": False, "language": None, "note": "", "fields": []}
    return Reply(200, profile(ask, memory.account) | {"source": source})


def profile(ask: Ask, account: Account) -> dict[str, Any]:
    return {
        "id": account.remote_id, "username": account.handle, "acct": account.handle,
        "display_name": account.handle.title(), "locked": False, "bot": False, "note": "",
        "url": f"{ask.url}/@{account.handle}", "created_at": "2026-01-01T00:00:00.000Z", "emojis": [], "fields": [],
    }  # fmt: skip


def instance(ask: Ask, memory: Memory) -> Reply:
    kinds = ["image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4"]
    return Reply(200, {
        "domain": "sandbox.test", "title": "Sandbox", "version": "4.5.0", "api_versions": {"mastodon": 7},
        "configuration": {
            "statuses": {
                "max_characters": MOST_CHARACTERS, "max_media_attachments": MOST_MEDIA,
                "characters_reserved_per_url": CHARACTERS_OF_A_LINK,
            },
            "media_attachments": {
                "supported_mime_types": kinds, "image_size_limit": LARGEST_MEDIA, "video_size_limit": LARGEST_MEDIA,
                "description_limit": 1500,
            },
        },
    })  # fmt: skip


V1 = "/api/v1"
Mastodon.endpoints = (
    Endpoint(
        name="media", methods=("POST",), path="/api/v2/media", act=upload_media,
        takes=("file", "thumbnail", "description", "focus"),
    ),
    Endpoint(name="media_status", methods=("GET",), path=f"{V1}/media/{{id}}", act=media_status, reads=True),
    Endpoint(
        name="statuses", methods=("POST",), path=f"{V1}/statuses", act=post_status, visible=True, listed=True,
        takes=("status", "media_ids", "in_reply_to_id", "sensitive", "spoiler_text", "visibility", "language"),
    ),
    Endpoint(
        name="verify_credentials", methods=("GET",), path=f"{V1}/accounts/verify_credentials", act=verify_credentials,
        reads=True,
    ),
    Endpoint(
        name="account_statuses", methods=("GET",), path=f"{V1}/accounts/{{id}}/statuses", act=list_statuses, open=True,
        reads=True,
        takes=("limit", "max_id", "since_id", "min_id", "exclude_reblogs", "exclude_replies", "only_media", "pinned"),
    ),
    Endpoint(name="status", methods=("GET",), path=f"{V1}/statuses/{{id}}", act=get_status, open=True, reads=True),
    Endpoint(name="status_source", methods=("GET",), path=f"{V1}/statuses/{{id}}/source", act=get_source, reads=True),
    Endpoint(name="instance", methods=("GET",), path="/api/v2/instance", act=instance, open=True, reads=True),
)  # fmt: skip
NETWORK = Mastodon()
