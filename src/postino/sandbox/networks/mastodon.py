"""Mastodon. A status may have an idempotency key, which the server stores only after the status."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from postino.rules.text_length import count_graphemes
from postino.sandbox.network import (
    AccountSetup,
    Reply,
    RequestRefused,
    SandboxCall,
    SandboxEndpoint,
    SandboxNetwork,
    TokenProblem,
    derive_digits,
    derive_secret,
    parse_whole_number,
)  # fmt: skip
from postino.sandbox.network_state import NetworkState, SandboxAccount, StoredObject
from postino.sandbox.status_html import HASHTAG, LINK, render_html

STATUS, MEDIA, KEY, WINDOW = "status", "media", "key", "window"
MAX_CHARACTERS, LINK_CHARACTERS, MAX_MEDIA, MAX_MEDIA_BYTES = 500, 23, 4, 16 * 1024 * 1024
MAX_LISTED, VERSION = 40, "4.5.0"
PERIOD = timedelta(minutes=5)
MENTION = re.compile(r"(?<![\w/])@(\w+)@[\w.-]+\w")
VISIBILITIES = ("public", "unlisted", "private", "direct")


class SandboxMastodon(SandboxNetwork):
    name = "mastodon"
    title = "Mastodon"
    colour = "#6364ff"
    icon = (
        "M6 3h12a3 3 0 0 1 3 3v8a3 3 0 0 1-3 3h-7l-4 4v-4H6a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3zm1 11h2V9.6a1 "
        "1 0 0 1 2 0V12h2V9.6a1 1 0 0 1 2 0V14h2V9.4A3 3 0 0 0 12 7.3a3 3 0 0 0-5 2.1z"
    )
    handle = "postcard"
    settings: ClassVar[Mapping[str, float]] = {
        "media_seconds": 0.3, "key_seconds": 3600, "calls_per_5_minutes": 100_000, "lookalike": 0,
    }  # fmt: skip

    def set_up_account(self, handle: str) -> AccountSetup:
        token = derive_secret(self.name, handle, "token", 43)
        return AccountSetup(
            remote_id=derive_digits(self.name, handle, 18),
            credentials={"access_token": token},
            tokens={token: "access"},
        )

    def default_headers(self, state: NetworkState) -> Mapping[str, str]:
        most = int(state.get_setting("calls_per_5_minutes"))
        window = state.find(WINDOW, state.account.handle)
        used = window.body["calls"] if window else 0
        return build_limit_headers(most, max(0, most - used), compute_window_end(state.now))

    def check_rate_limit(self, state: NetworkState) -> int | None:
        """Count the call in its window of five minutes; return the seconds to wait if there were too many."""
        end = compute_window_end(state.now)
        window = state.find(WINDOW, state.account.handle)
        calls = window.body["calls"] if window and window.body["end"] == end.timestamp() else 0
        if calls >= state.get_setting("calls_per_5_minutes"):
            return int((end - state.now).total_seconds()) + 1
        if window is None:
            state.add(WINDOW, state.account.handle, {})
        state.update(WINDOW, state.account.handle, calls=calls + 1, end=end.timestamp())
        return None

    def reply_bad_request(self, message: str) -> Reply:
        return Reply(400, {"error": message})

    def reply_unauthorized(self, problem: TokenProblem) -> Reply:
        message = "This method requires an authenticated user"
        return Reply(401, {"error": message if problem is TokenProblem.MISSING else "The access token is invalid"})

    def reply_blocked(self) -> Reply:
        return Reply(403, {"error": "Your login is currently disabled"})

    def reply_not_found(self) -> Reply:
        return Reply(404, {"error": "Record not found"})

    def reply_internal_error(self) -> Reply:
        return Reply(500, {"error": "We're sorry, but something went wrong on our end."})

    def reply_misleading_error(self) -> Reply:
        message = "There was a temporary problem serving your request, please try again"
        return Reply(503, {"error": message})

    def reply_rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        body = {"error": "Too many requests"}
        if seconds is None:
            return Reply(429, body)
        reset_at = datetime.fromisoformat(format_time(now + timedelta(seconds=seconds)))
        return Reply(429, body, build_limit_headers(300, 0, reset_at), retry_at=reset_at)


def build_limit_headers(most: int, remaining: int, reset_at: datetime) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(most), "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": format_time(reset_at),
    }  # fmt: skip


def compute_window_end(now: datetime) -> datetime:
    seconds = PERIOD.total_seconds()
    return datetime.fromtimestamp((now.timestamp() // seconds + 1) * seconds, UTC)


def format_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def refuse(message: str) -> RequestRefused:
    return RequestRefused(Reply(422, {"error": message}))


def refuse_missing(message: str = "Record not found") -> RequestRefused:
    return RequestRefused(Reply(404, {"error": message}))


# Media


def upload_media(call: SandboxCall, state: NetworkState) -> Reply:
    file = call.files.get("file")
    if file is None or not file.data:
        raise refuse("Validation failed: File can't be blank")
    if not file.mime.startswith(("image/", "video/", "audio/")):
        raise refuse("Validation failed: File content type is invalid, File is invalid")
    if len(file.data) > MAX_MEDIA_BYTES:
        raise refuse("Validation failed: File file size must be less than 16 MB")
    number = make_id(state)
    state.add(MEDIA, number, state.store_media(file) | {"alt": call.text("description")})
    found = state.find(MEDIA, number)
    assert found is not None
    return Reply(202 if is_pending(state, found) else 200, render_media(call, state, found))


def get_media(call: SandboxCall, state: NetworkState) -> Reply:
    found = state.find_owned(MEDIA, call.path["id"])
    if found is None or "status" in found.body:
        raise refuse_missing()
    return Reply(206 if is_pending(state, found) else 200, render_media(call, state, found))


def is_pending(state: NetworkState, media: StoredObject) -> bool:
    return not state.has_elapsed(media.kept_at, "media_seconds")


def render_media(call: SandboxCall, state: NetworkState, media: StoredObject) -> dict[str, Any]:
    address = f"{call.url.rpartition('/')[0]}{media.body['url']}"
    return {
        "id": media.id, "type": media.body["mime"].partition("/")[0],
        "url": None if is_pending(state, media) else address, "preview_url": address, "remote_url": None,
        "text_url": None, "meta": {}, "description": media.body["alt"], "blurhash": None,
    }  # fmt: skip


# Statuses


def post_status(call: SandboxCall, state: NetworkState) -> Reply:
    key = None if is_lookalike(state) else call.headers.get("idempotency-key")
    if key and (earlier := find_by_key(state, key)):
        return Reply(200, render(call, state, earlier))
    media = find_media(call, state)
    if is_lookalike(state):
        media = list({it.body["url"]: it for it in media}.values())  # it merges equal files
    text = read_text(call, with_media=bool(media))
    reply_to = call.text("in_reply_to_id") or None
    if reply_to and state.find(STATUS, reply_to) is None:
        raise refuse_missing("The post you are trying to reply to does not appear to exist.")
    number = make_id(state)
    pictures = [{"url": it.body["url"], "mime": it.body["mime"], "alt": it.body["alt"]} for it in media]
    state.add(STATUS, number, {
        "text": text, "spoiler_text": call.text("spoiler_text"), "visibility": call.text("visibility", "public"),
        "sensitive": call.is_true("sensitive"), "language": call.text("language", "en"), "reply_to": reply_to,
        "media": [it.id for it in media],
    }, listed=True)  # fmt: skip
    for it in media:
        state.update(MEDIA, it.id, status=number)
    state.publish(number, text, media=pictures, reply_to=reply_to)
    found = state.find(STATUS, number)
    assert found is not None
    return Reply(200, render(call, state, found), afterwards=save_key(state.account, key, number) if key else None)


def is_lookalike(state: NetworkState) -> bool:
    """Return whether to behave as a server of other software, which has the same API and may change posts."""
    return bool(state.get_setting("lookalike"))


def find_by_key(state: NetworkState, key: str) -> StoredObject | None:
    known = state.find(KEY, f"{state.account.handle} {key}")
    if known is None or state.has_elapsed(known.kept_at, "key_seconds"):
        return None
    return state.find(STATUS, known.body["status"])


def save_key(account: SandboxAccount, key: str, status: str) -> Any:
    """Store the key after its status is on disk: a repeated call in between, or after a crash there, posts again."""

    def write(state: NetworkState) -> None:
        state.caller = account
        state.delete(KEY, f"{account.handle} {key}")
        state.add(KEY, f"{account.handle} {key}", {"status": status})

    return write


def find_media(call: SandboxCall, state: NetworkState) -> list[StoredObject]:
    given = call.params.get("media_ids") or []
    ids = [str(it) for it in given] if isinstance(given, list) else [str(given)]
    if len(ids) > MAX_MEDIA:
        raise refuse("Validation failed: Cannot attach more than 4 files")
    found = [state.find_owned(MEDIA, name) for name in ids]
    for name, media in zip(ids, found, strict=True):
        if media is None or "status" in media.body:
            raise refuse(f"Validation failed: Media {name} not found or already attached to another post")
        if is_pending(state, media):
            raise refuse(
                "Validation failed: Cannot attach files that have not finished processing. Try again in a moment!"
            )
    return [media for media in found if media]


def read_text(call: SandboxCall, *, with_media: bool) -> str:
    text, spoiler = call.text("status"), call.text("spoiler_text")
    if not text.strip() and not with_media:
        raise refuse("Validation failed: Text can't be blank")
    if count_characters(text) + count_characters(spoiler) > MAX_CHARACTERS:
        raise refuse(f"Validation failed: Text character limit of {MAX_CHARACTERS} exceeded")
    if call.text("visibility", "public") not in VISIBILITIES:
        raise refuse("Validation failed: Visibility is not included in the list")
    return text


def count_characters(text: str) -> int:
    """Count graphemes; every link counts the same, and a mention counts without its server."""
    short = MENTION.sub(r"@\1", LINK.sub("x" * LINK_CHARACTERS, text))
    return count_graphemes(short)


def make_id(state: NetworkState) -> str:
    return str((int(state.now.timestamp() * 1000) << 16) | (state.next_number() & 0xFFFF))


def get_status(call: SandboxCall, state: NetworkState) -> Reply:
    return Reply(200, render(call, state, get_status_object(call, state)))


def get_source(call: SandboxCall, state: NetworkState) -> Reply:
    status = get_status_object(call, state)
    if status.account != state.account.handle:
        raise refuse_missing()
    return Reply(200, {"id": status.id, "text": status.body["text"], "spoiler_text": status.body["spoiler_text"]})


def get_status_object(call: SandboxCall, state: NetworkState) -> StoredObject:
    found = state.find(STATUS, call.path["id"])
    if found is None:
        raise refuse_missing()
    return found


def list_statuses(call: SandboxCall, state: NetworkState) -> Reply:
    account = state.find_account(call.path["id"])
    if account is None or account.remote_id != call.path["id"]:
        raise refuse_missing()
    limit = parse_whole_number(call.text("limit", "20"))
    if not limit:
        raise RequestRefused(NETWORK.reply_bad_request("limit is not a number"))
    given = {name: parse_whole_number(call.text(name)) for name in ("max_id", "since_id", "min_id")}
    bounds = {name: number for name, number in given.items() if number is not None}
    found = [
        status
        for status in state.list_objects(STATUS, account.handle)
        if int(status.id) < bounds.get("max_id", 1 << 100)
        and int(status.id) > max(bounds.get("since_id", 0), bounds.get("min_id", 0))
        and not (call.is_true("exclude_replies") and status.body["reply_to"])
        and not (call.is_true("only_media") and not status.body["media"])
        and not (is_lookalike(state) and status.body["visibility"] in ("private", "direct"))
    ]
    many = min(limit, MAX_LISTED)
    part = found[-many:] if "min_id" in bounds else found[:many]
    return Reply(200, [render(call, state, status) for status in part])


def render(call: SandboxCall, state: NetworkState, status: StoredObject) -> dict[str, Any]:
    author = state.find_account(status.account)
    assert author is not None
    media = [state.find(MEDIA, name) for name in status.body["media"]]
    url = f"{call.url}/@{author.handle}/{status.id}"
    return {
        "id": status.id, "created_at": format_time(status.kept_at), "in_reply_to_id": status.body["reply_to"],
        "in_reply_to_account_id": author.remote_id if status.body["reply_to"] else None,
        "sensitive": status.body["sensitive"], "spoiler_text": status.body["spoiler_text"],
        "visibility": status.body["visibility"], "language": status.body["language"], "uri": url, "url": url,
        "replies_count": 0, "reblogs_count": 0, "favourites_count": 0, "edited_at": None,
        "content": render_html(status.body["text"], call.url), "reblog": None, "account": render_profile(call, author),
        "media_attachments": [
            *(render_media(call, state, it) for it in media if it), *render_linked_images(state, status)
        ],
        "mentions": [],
        "tags": [
            {"name": tag.lower(), "url": f"{call.url}/tags/{tag}"} for tag in HASHTAG.findall(status.body["text"])
        ],
        "emojis": [], "card": None, "poll": None,
    }  # fmt: skip


def render_linked_images(state: NetworkState, status: StoredObject) -> list[dict[str, Any]]:
    """Return the images that a lookalike attaches because the text links to them."""
    links = LINK.findall(status.body["text"]) if is_lookalike(state) else []
    return [{"id": url, "type": "image", "url": url} for url in links if url.endswith((".jpg", ".png"))]


# Who and where


def verify_credentials(call: SandboxCall, state: NetworkState) -> Reply:
    source = {"privacy": "public", "sensitive": False, "language": None, "note": "", "fields": []}
    return Reply(200, render_profile(call, state.account) | {"source": source})


def render_profile(call: SandboxCall, account: SandboxAccount) -> dict[str, Any]:
    return {
        "id": account.remote_id, "username": account.handle, "acct": account.handle,
        "display_name": account.handle.title(), "locked": False, "bot": False, "note": "",
        "url": f"{call.url}/@{account.handle}", "created_at": "2026-01-01T00:00:00.000Z", "emojis": [], "fields": [],
    }  # fmt: skip


def get_instance(call: SandboxCall, state: NetworkState) -> Reply:
    kinds = ["image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4"]
    return Reply(200, {
        "domain": "sandbox.test", "title": "Sandbox", "version": VERSION, "api_versions": {"mastodon": 7},
        "configuration": {
            "statuses": {
                "max_characters": MAX_CHARACTERS, "max_media_attachments": MAX_MEDIA,
                "characters_reserved_per_url": LINK_CHARACTERS,
            },
            "media_attachments": {
                "supported_mime_types": kinds, "image_size_limit": MAX_MEDIA_BYTES, "video_size_limit": MAX_MEDIA_BYTES,
                "description_limit": 1500,
            },
        },
    })  # fmt: skip


def get_nodeinfo_links(call: SandboxCall, state: NetworkState) -> Reply:
    rel = "http://nodeinfo.diaspora.software/ns/schema/2.0"
    return Reply(200, {"links": [{"rel": rel, "href": f"{call.url}/nodeinfo/2.0"}]})


def get_nodeinfo(call: SandboxCall, state: NetworkState) -> Reply:
    software = {"name": "lookalike" if is_lookalike(state) else "mastodon", "version": VERSION}
    return Reply(200, {"version": "2.0", "software": software, "protocols": ["activitypub"], "metadata": {}})


V1 = "/api/v1"
SandboxMastodon.endpoints = (
    SandboxEndpoint(
        name="media", methods=("POST",), path="/api/v2/media", act=upload_media,
        takes=("file", "thumbnail", "description", "focus"),
    ),
    SandboxEndpoint(name="media_status", methods=("GET",), path=f"{V1}/media/{{id}}", act=get_media, reads=True),
    SandboxEndpoint(
        name="statuses", methods=("POST",), path=f"{V1}/statuses", act=post_status, visible=True, listed=True,
        takes=("status", "media_ids", "in_reply_to_id", "sensitive", "spoiler_text", "visibility", "language"),
    ),
    SandboxEndpoint(
        name="verify_credentials", methods=("GET",), path=f"{V1}/accounts/verify_credentials", act=verify_credentials,
    ),
    SandboxEndpoint(
        name="account_statuses", methods=("GET",), path=f"{V1}/accounts/{{id}}/statuses", act=list_statuses, open=True,
        reads=True,
        takes=("limit", "max_id", "since_id", "min_id", "exclude_reblogs", "exclude_replies", "only_media", "pinned"),
    ),
    SandboxEndpoint(
        name="status", methods=("GET",), path=f"{V1}/statuses/{{id}}", act=get_status, open=True, reads=True,
    ),
    SandboxEndpoint(
        name="status_source", methods=("GET",), path=f"{V1}/statuses/{{id}}/source", act=get_source, reads=True,
    ),
    SandboxEndpoint(
        name="instance", methods=("GET",), path="/api/v2/instance", act=get_instance, open=True, reads=True,
    ),
    SandboxEndpoint(
        name="nodeinfo_links", methods=("GET",), path="/.well-known/nodeinfo", act=get_nodeinfo_links, open=True,
        reads=True,
    ),
    SandboxEndpoint(name="nodeinfo", methods=("GET",), path="/nodeinfo/2.0", act=get_nodeinfo, open=True, reads=True),
)  # fmt: skip
NETWORK = SandboxMastodon()
