"""X. It refuses the same post twice within hours, and changes the text of a post."""

import base64
import binascii
import html
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from postino.rules.text_length import GRAPHEME
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
)
from postino.sandbox.network_state import NetworkState, SandboxAccount, SandboxFile, StoredObject

TWEET, UPLOAD = "tweet", "upload"
LONGEST, LENGTH_OF_A_LINK, MAX_IMAGES, LARGEST_SEGMENT = 280, 23, 4, 5 * 1024 * 1024
LINK = re.compile(r"https?://[^\s<>\"]+[^\s<>\"'.,;:!?)]")
LIGHT = ((0, 4351), (8192, 8205), (8208, 8223), (8242, 8247))  # every other character counts twice


class SandboxX(SandboxNetwork):
    name = "x"
    title = "X"
    colour = "#536471"
    icon = "M4 4h5l4 5.6L18 4h2.4l-6.3 7.2L20.5 20h-5l-4.3-6.1L6 20H3.6l6.5-7.6zm3.2 1.8 8.9 12.4h1.7L8.9 5.8z"
    handle = "postcard"
    settings: ClassVar[Mapping[str, float]] = {
        "access_seconds": 2 * 3600, "duplicate_seconds": 12 * 3600, "media_lifetime_seconds": 24 * 3600,
        "media_seconds": 0.3,
    }  # fmt: skip

    def set_up_account(self, handle: str) -> AccountSetup:
        access, refresh = (derive_secret(self.name, handle, purpose, 60) for purpose in ("access", "refresh"))
        client = derive_secret(self.name, handle, "client", 20)
        return AccountSetup(
            remote_id=derive_digits(self.name, handle, 18),
            credentials={"access_token": access, "refresh_token": refresh, "client_id": client},
            tokens={access: "access", refresh: "refresh"},
        )

    def reply_bad_request(self, message: str) -> Reply:
        detail = "One or more parameters to your request was invalid."
        return Reply(400, {
            "errors": [{"message": message}], "title": "Invalid Request", "detail": detail,
            "type": "https://api.twitter.com/2/problems/invalid-request",
        })  # fmt: skip

    def reply_unauthorized(self, problem: TokenProblem) -> Reply:
        return error(401, "Unauthorized", "Unauthorized")

    def reply_blocked(self) -> Reply:
        return error(403, "Forbidden", "Your account is suspended and is not permitted to access this feature.")

    def reply_not_found(self) -> Reply:
        return error(404, "Not Found", "Not Found")

    def reply_internal_error(self) -> Reply:
        return error(500, "Internal Server Error", "Something is broken.")

    def reply_misleading_error(self) -> Reply:
        return error(503, "Service Unavailable", "Service Unavailable")

    def reply_rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        refusal = error(429, "Too Many Requests", "Too Many Requests")
        if seconds is None:
            return refusal
        reset_at = now.replace(microsecond=0) + timedelta(seconds=seconds)
        headers = {
            "x-rate-limit-limit": "100", "x-rate-limit-remaining": "0",
            "x-rate-limit-reset": str(int(reset_at.timestamp())),
        }  # fmt: skip
        return Reply(429, refusal.body, headers, retry_at=reset_at)


def error(status: int, title: str, detail: str) -> Reply:
    return Reply(status, {"title": title, "detail": detail, "type": "about:blank", "status": status})


def refuse(message: str) -> RequestRefused:
    return RequestRefused(NETWORK.reply_bad_request(message))


# Posts


def post_tweet(call: SandboxCall, state: NetworkState) -> Reply:
    text = call.text("text")
    media = find_attachments(call, state)
    if not text.strip() and not media:
        raise refuse("The text must not be empty")
    if compute_weight(text) > LONGEST:
        raise refuse(f"The text must not be longer than {LONGEST} characters")
    reply_to = find_replied_tweet(call, state)
    if is_repeated(state, text, [it.id for it in media], reply_to):
        raise RequestRefused(error(403, "Forbidden", "You are not allowed to create a Tweet with duplicate content."))
    number = str(((int(state.now.timestamp() * 1000) - 1288834974657) << 22) | (state.next_number() & 0x3FFFFF))
    state.add(TWEET, number, {"text": text, "media": [it.id for it in media], "reply_to": reply_to}, listed=True)
    state.publish(number, text, media=[it.body["file"] for it in media], reply_to=reply_to)
    return Reply(201, {"data": {"id": number, "text": shorten_links(text), "edit_history_tweet_ids": [number]}})


def is_repeated(state: NetworkState, text: str, media: list[str], reply_to: str | None) -> bool:
    return any(
        (tweet.body["text"], tweet.body["media"], tweet.body["reply_to"]) == (text, media, reply_to)
        for tweet in state.list_objects(TWEET, state.account.handle, include_hidden=True)
        if not state.has_elapsed(tweet.kept_at, "duplicate_seconds")
    )


def find_attachments(call: SandboxCall, state: NetworkState) -> list[StoredObject]:
    data = part(call, "media", "media_ids", "tagged_user_ids").get("media_ids", [])
    if not isinstance(data, list) or len(data) > MAX_IMAGES:
        raise refuse(f"media.media_ids must be a list of at most {MAX_IMAGES}")
    found = [state.find_owned(UPLOAD, str(name)) for name in data]
    if any(it is None or "file" not in it.body or is_processing(state, it) or is_expired(state, it) for it in found):
        raise refuse("Your media IDs are invalid.")
    return [it for it in found if it]


def find_replied_tweet(call: SandboxCall, state: NetworkState) -> str | None:
    data = part(call, "reply", "in_reply_to_tweet_id", "exclude_reply_user_ids", "auto_populate_reply_metadata")
    if not data:
        return None
    number = str(data.get("in_reply_to_tweet_id"))
    if state.find(TWEET, number) is None:
        detail = "You attempted to reply to a Tweet that is deleted or not visible to you."
        raise RequestRefused(error(403, "Forbidden", detail))
    return number


def part(call: SandboxCall, name: str, *known: str) -> Mapping[str, Any]:
    data = call.params.get(name) or {}
    if not isinstance(data, dict) or set(data) - set(known):
        raise refuse(f"{name} must be an object of {', '.join(known)}")
    return data


def compute_weight(text: str) -> int:
    """Return the weighted length: every link counts the same, emoji and most non-Latin characters count twice."""
    return sum(
        2 if len(letter) > 1 or not any(low <= ord(letter[0]) <= high for low, high in LIGHT) else 1
        for letter in GRAPHEME.findall(LINK.sub("x" * LENGTH_OF_A_LINK, text))
    )


def shorten_links(text: str) -> str:
    """Return the text as X shows it: with short links and escaped HTML."""
    return html.escape(LINK.sub(lambda found: short_link(found[0]), text), quote=False)


def short_link(url: str) -> str:
    return f"https://t.co/{derive_secret('x', url, 'link', 10)}"


def user_tweets(call: SandboxCall, state: NetworkState) -> Reply:
    account = state.find_account(call.path["id"])
    if account is None or account.remote_id != call.path["id"]:
        detail = f"Could not find user with id: [{call.path['id']}]."
        return Reply(200, {"errors": [error(404, "Not Found Error", detail).body]})
    many = parse_whole_number(call.text("max_results", "10"))
    if many is None or not 5 <= many <= 100:
        raise refuse("The `max_results` query parameter value is not between 5 and 100")
    found = [tweet for tweet in state.list_objects(TWEET, account.handle) if is_within(call, tweet)]
    start = parse_bound(call, "pagination_token")
    page = found[start : start + many]
    meta: dict[str, Any] = {"result_count": len(page)}
    if page:
        meta |= {"newest_id": page[0].id, "oldest_id": page[-1].id}
    if start + many < len(found):
        meta["next_token"] = str(start + many)
    render = {"data": [render_tweet(call, tweet, account) for tweet in page]} if page else {}
    return Reply(200, render | {"meta": meta})


def is_within(call: SandboxCall, tweet: StoredObject) -> bool:
    since = parse_time(call.text("start_time")) if call.text("start_time") else tweet.kept_at
    until = parse_time(call.text("end_time")) if call.text("end_time") else tweet.kept_at + timedelta(1)
    after, before = parse_bound(call, "since_id"), parse_bound(call, "until_id") or int(tweet.id) + 1
    replies = "replies" in call.text("exclude") and tweet.body["reply_to"]
    return since <= tweet.kept_at < until and after < int(tweet.id) < before and not replies


def parse_bound(call: SandboxCall, name: str) -> int:
    number = parse_whole_number(call.text(name, "0"))
    if number is None:
        raise refuse(f"The `{name}` query parameter value [{call.text(name)}] is not valid")
    return number


def render_tweet(call: SandboxCall, tweet: StoredObject, account: SandboxAccount) -> dict[str, Any]:
    text = tweet.body["text"]
    urls = [{"url": short_link(url), "expanded_url": url} for url in LINK.findall(text)]
    more = {
        "created_at": tweet.kept_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "author_id": account.remote_id, "entities": {"urls": urls} if urls else {},
        "referenced_tweets": [{"type": "replied_to", "id": tweet.body["reply_to"]}] if tweet.body["reply_to"] else None,
    }  # fmt: skip
    requested = call.text("tweet.fields").split(",")
    extra = {name: value for name, value in more.items() if name in requested and value}
    return {"id": tweet.id, "text": shorten_links(text), "edit_history_tweet_ids": [tweet.id]} | extra


def parse_time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise refuse("start_time and end_time must be RFC 3339 date-times") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def get_me(call: SandboxCall, state: NetworkState) -> Reply:
    handle = state.account.handle
    return Reply(200, {"data": {"id": state.account.remote_id, "name": handle.title(), "username": handle}})


# Pictures, in pieces


def start_upload(call: SandboxCall, state: NetworkState) -> Reply:
    size = call.params.get("total_bytes")
    if not isinstance(size, int) or size < 1 or "/" not in call.text("media_type"):
        raise refuse("media_type and total_bytes are required")
    number = str(1_900_000_000_000_000_000 + state.next_number())
    state.add(UPLOAD, number, {"mime": call.text("media_type"), "size": size})
    return Reply(200, {"data": render_upload(state, number)})


def append_segment(call: SandboxCall, state: NetworkState) -> Reply:
    upload = find_upload(state, call.path["id"])
    index = parse_whole_number(call.text("segment_index"))
    if index is None or index > 999:
        raise refuse("segment_index must be a number from 0 to 999")
    data = read_segment(call)
    if "file" in upload.body or not data or len(data) > LARGEST_SEGMENT:
        raise refuse("The segment is empty, too large, or comes after the end")
    state.add_piece(upload.id, index, data)
    return Reply(200, {"data": {"expires_at": int(state.now.timestamp()) + 86400}})


def read_segment(call: SandboxCall) -> bytes:
    if "media" in call.files:
        return call.files["media"].data
    try:
        return base64.b64decode(call.text("media"), validate=True)
    except binascii.Error:
        raise refuse("media is not base64") from None


def finish_upload(call: SandboxCall, state: NetworkState) -> Reply:
    upload = find_upload(state, call.path["id"])
    if "file" not in upload.body:
        data = state.join_pieces(upload.id)
        if len(data) != upload.body["size"]:
            raise refuse(f"Segments do not add up to provided total file size: {len(data)} bytes")
        state.update(UPLOAD, upload.id, file=state.store_media(SandboxFile(upload.body["mime"], data)))
        state.delete_pieces(upload.id)
    return Reply(200, {"data": render_upload(state, upload.id)})


def upload_status(call: SandboxCall, state: NetworkState) -> Reply:
    if call.text("command") != "STATUS":
        raise refuse("command must be STATUS")
    return Reply(200, {"data": render_upload(state, find_upload(state, call.text("media_id")).id)})


def render_upload(state: NetworkState, number: str) -> dict[str, Any]:
    upload = find_upload(state, number)
    data = {
        "id": number, "media_key": f"3_{number}", "size": upload.body["size"],
        "expires_after_secs": int(state.get_setting("media_lifetime_seconds")),
    }  # fmt: skip
    if "file" not in upload.body:
        return data
    waits = is_processing(state, upload)
    info = {"state": "in_progress", "check_after_secs": 1} if waits else {"state": "succeeded", "progress_percent": 100}
    return data | {"processing_info": info}


def is_processing(state: NetworkState, upload: StoredObject) -> bool:
    return not state.has_elapsed(upload.kept_at, "media_seconds")


def is_expired(state: NetworkState, upload: StoredObject) -> bool:
    return state.has_elapsed(upload.kept_at, "media_lifetime_seconds")


def find_upload(state: NetworkState, number: str) -> StoredObject:
    found = state.find_owned(UPLOAD, number)
    if found is None or is_expired(state, found):
        raise refuse(f"The media with id {number} does not exist or has expired")
    return found


def delete_upload(call: SandboxCall, state: NetworkState) -> None:
    number = call.path.get("id") or call.text("media_id")
    state.delete(UPLOAD, number)
    state.delete_pieces(number)


# Tokens


def renew_tokens(call: SandboxCall, state: NetworkState) -> Reply:
    """Renew the tokens. A refresh token works once."""
    if call.text("grant_type") != "refresh_token":
        return oauth_error("unsupported_grant_type", "The grant type is not supported.")
    token = state.find_token(call.text("refresh_token"))
    if token is None or token.kind != "refresh" or state.is_expired(token):
        return oauth_error("invalid_request", "Value passed for the token was invalid.")
    account = state.find_account(token.account)
    assert account is not None
    if call.text("client_id") != account.credentials["client_id"]:
        return oauth_error("unauthorized_client", "Missing valid authorization header")
    state.revoke_token(token.token)
    lifetime = timedelta(seconds=state.get_setting("access_seconds"))
    access, refresh = (derive_secret("x", account.handle, str(state.next_number()), 60) for _ in range(2))
    state.issue_token(access, "access", account.handle, lifetime)
    state.issue_token(refresh, "refresh", account.handle, None)
    return Reply(200, {
        "token_type": "bearer", "expires_in": int(lifetime.total_seconds()), "access_token": access,
        "scope": "tweet.read tweet.write users.read media.write offline.access", "refresh_token": refresh,
    })  # fmt: skip


def oauth_error(code: str, description: str) -> Reply:
    return Reply(400, {"error": code, "error_description": description})


MEDIA = "/2/media/upload"
SandboxX.endpoints = (
    SandboxEndpoint(
        name="tweets", methods=("POST",), path="/2/tweets", act=post_tweet, visible=True, listed=True,
        takes=("text", "media", "reply", "reply_settings", "made_with_ai"),
    ),
    SandboxEndpoint(
        name="user_tweets", methods=("GET",), path="/2/users/{id}/tweets", act=user_tweets, reads=True,
        takes=(
            "start_time", "end_time", "since_id", "until_id", "max_results", "pagination_token", "exclude",
            "tweet.fields", "expansions", "user.fields", "media.fields",
        ),
    ),
    SandboxEndpoint(name="me", methods=("GET",), path="/2/users/me", act=get_me, reads=True, takes=("user.fields",)),
    SandboxEndpoint(
        name="media_initialize", methods=("POST",), path=f"{MEDIA}/initialize", act=start_upload,
        takes=("media_type", "total_bytes", "media_category", "additional_owners", "shared"),
    ),
    SandboxEndpoint(
        name="media_append", methods=("POST",), path=f"{MEDIA}/{{id}}/append", act=append_segment, gone=delete_upload,
        takes=("segment_index", "media"),
    ),
    SandboxEndpoint(
        name="media_finalize", methods=("POST",), path=f"{MEDIA}/{{id}}/finalize", act=finish_upload, gone=delete_upload
    ),
    SandboxEndpoint(
        name="media_status", methods=("GET",), path=MEDIA, act=upload_status, reads=True, gone=delete_upload,
        takes=("command", "media_id"),
    ),
    SandboxEndpoint(
        name="token", methods=("POST",), path="/2/oauth2/token", act=renew_tokens, open=True, refreshes=True,
        takes=("grant_type", "refresh_token", "client_id", "client_type", "client_secret"),
    ),
)  # fmt: skip
NETWORK = SandboxX()
