"""X: short posts. The same text twice within hours is refused; what comes back is not quite what was sent."""

import base64
import binascii
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
)
from postino.sandbox.network_state import Account, File, Memory, Thing

TWEET, UPLOAD = "tweet", "upload"
LONGEST, LENGTH_OF_A_LINK, MOST_PICTURES, LARGEST_SEGMENT = 280, 23, 4, 5 * 1024 * 1024
LINK = re.compile(r"https?://[^\s<>\"]+[^\s<>\"'.,;:!?)]")
LIGHT = ((0, 4351), (8192, 8205), (8208, 8223), (8242, 8247))  # every other character counts twice


class X(Network):
    name = "x"
    title = "X"
    colour = "#536471"
    icon = "M4 4h5l4 5.6L18 4h2.4l-6.3 7.2L20.5 20h-5l-4.3-6.1L6 20H3.6l6.5-7.6zm3.2 1.8 8.9 12.4h1.7L8.9 5.8z"
    handle = "postcard"
    settings: ClassVar[Mapping[str, float]] = {
        "access_seconds": 2 * 3600, "duplicate_seconds": 12 * 3600, "media_lifetime_seconds": 24 * 3600,
        "media_seconds": 0.3,
    }  # fmt: skip

    def membership(self, handle: str) -> Membership:
        access, refresh = (secret_of(self.name, handle, purpose, 60) for purpose in ("access", "refresh"))
        client = secret_of(self.name, handle, "client", 20)
        return Membership(
            remote_id=digits_of(self.name, handle, 18),
            credentials={"access_token": access, "refresh_token": refresh, "client_id": client},
            tokens={access: "access", refresh: "refresh"},
        )

    def bad_request(self, message: str) -> Reply:
        detail = "One or more parameters to your request was invalid."
        return Reply(400, {
            "errors": [{"message": message}], "title": "Invalid Request", "detail": detail,
            "type": "https://api.twitter.com/2/problems/invalid-request",
        })  # fmt: skip

    def unauthorized(self, doubt: Doubt) -> Reply:
        return error(401, "Unauthorized", "Unauthorized")

    def blocked(self) -> Reply:
        return error(403, "Forbidden", "Your account is suspended and is not permitted to access this feature.")

    def no_such_endpoint(self) -> Reply:
        return error(404, "Not Found", "Not Found")

    def internal_error(self) -> Reply:
        return error(500, "Internal Server Error", "Something is broken.")

    def published_anyway(self) -> Reply:
        return error(503, "Service Unavailable", "Service Unavailable")

    def rate_limited(self, seconds: int | None, now: datetime) -> Reply:
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


def invalid(message: str) -> Refused:
    return Refused(NETWORK.bad_request(message))


# Posts


def post_tweet(ask: Ask, memory: Memory) -> Reply:
    text = ask.text("text")
    media = attached(ask, memory)
    if not text.strip() and not media:
        raise invalid("The text must not be empty")
    if weight(text) > LONGEST:
        raise invalid(f"The text must not be longer than {LONGEST} characters")
    reply_to = replied_to(ask, memory)
    if is_repeated(memory, text, [it.id for it in media], reply_to):
        raise Refused(error(403, "Forbidden", "You are not allowed to create a Tweet with duplicate content."))
    number = str(((int(memory.now.timestamp() * 1000) - 1288834974657) << 22) | (memory.number() & 0x3FFFFF))
    memory.keep(TWEET, number, {"text": text, "media": [it.id for it in media], "reply_to": reply_to}, listed=True)
    memory.publish(number, text, media=[it.body["file"] for it in media], reply_to=reply_to)
    return Reply(201, {"data": {"id": number, "text": shortened(text), "edit_history_tweet_ids": [number]}})


def is_repeated(memory: Memory, text: str, media: list[str], reply_to: str | None) -> bool:
    return any(
        (tweet.body["text"], tweet.body["media"], tweet.body["reply_to"]) == (text, media, reply_to)
        for tweet in memory.listed(TWEET, memory.account.handle, hidden_too=True)
        if not memory.elapsed(tweet.kept_at, "duplicate_seconds")
    )


def attached(ask: Ask, memory: Memory) -> list[Thing]:
    told = part(ask, "media", "media_ids", "tagged_user_ids").get("media_ids", [])
    if not isinstance(told, list) or len(told) > MOST_PICTURES:
        raise invalid(f"media.media_ids must be a list of at most {MOST_PICTURES}")
    found = [memory.find_own(UPLOAD, str(name)) for name in told]
    if any(it is None or "file" not in it.body or processing(memory, it) or over(memory, it) for it in found):
        raise invalid("Your media IDs are invalid.")
    return [it for it in found if it]


def replied_to(ask: Ask, memory: Memory) -> str | None:
    told = part(ask, "reply", "in_reply_to_tweet_id", "exclude_reply_user_ids", "auto_populate_reply_metadata")
    if not told:
        return None
    number = str(told.get("in_reply_to_tweet_id"))
    if memory.find(TWEET, number) is None:
        detail = "You attempted to reply to a Tweet that is deleted or not visible to you."
        raise Refused(error(403, "Forbidden", detail))
    return number


def part(ask: Ask, name: str, *known: str) -> Mapping[str, Any]:
    told = ask.params.get(name) or {}
    if not isinstance(told, dict) or set(told) - set(known):
        raise invalid(f"{name} must be an object of {', '.join(known)}")
    return told


def weight(text: str) -> int:
    """Links count alike, emoji and most scripts beyond Latin twice."""
    return sum(
        2 if len(letter) > 1 or not any(low <= ord(letter[0]) <= high for low, high in LIGHT) else 1
        for letter in regex.findall(r"\X", LINK.sub("x" * LENGTH_OF_A_LINK, text))
    )


def shortened(text: str) -> str:
    """As it comes back: links behind the network's own, and marks of HTML escaped."""
    return html.escape(LINK.sub(lambda found: short_link(found[0]), text), quote=False)


def short_link(url: str) -> str:
    return f"https://t.co/{secret_of('x', url, 'link', 10)}"


def user_tweets(ask: Ask, memory: Memory) -> Reply:
    account = memory.account_of(ask.path["id"])
    if account is None or account.remote_id != ask.path["id"]:
        detail = f"Could not find user with id: [{ask.path['id']}]."
        return Reply(200, {"errors": [error(404, "Not Found Error", detail).body]})
    many = whole_number(ask.text("max_results", "10"))
    if many is None or not 5 <= many <= 100:
        raise invalid("The `max_results` query parameter value is not between 5 and 100")
    found = [tweet for tweet in memory.listed(TWEET, account.handle) if within(ask, tweet)]
    start = whole(ask, "pagination_token")
    page = found[start : start + many]
    meta: dict[str, Any] = {"result_count": len(page)}
    if page:
        meta |= {"newest_id": page[0].id, "oldest_id": page[-1].id}
    if start + many < len(found):
        meta["next_token"] = str(start + many)
    shown = {"data": [seen(ask, tweet, account) for tweet in page]} if page else {}
    return Reply(200, shown | {"meta": meta})


def within(ask: Ask, tweet: Thing) -> bool:
    since = instant(ask.text("start_time")) if ask.text("start_time") else tweet.kept_at
    until = instant(ask.text("end_time")) if ask.text("end_time") else tweet.kept_at + timedelta(1)
    after, before = whole(ask, "since_id"), whole(ask, "until_id") or int(tweet.id) + 1
    replies = "replies" in ask.text("exclude") and tweet.body["reply_to"]
    return since <= tweet.kept_at < until and after < int(tweet.id) < before and not replies


def whole(ask: Ask, name: str) -> int:
    number = whole_number(ask.text(name, "0"))
    if number is None:
        raise invalid(f"The `{name}` query parameter value [{ask.text(name)}] is not valid")
    return number


def seen(ask: Ask, tweet: Thing, account: Account) -> dict[str, Any]:
    text = tweet.body["text"]
    urls = [{"url": short_link(url), "expanded_url": url} for url in LINK.findall(text)]
    more = {
        "created_at": tweet.kept_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "author_id": account.remote_id, "entities": {"urls": urls} if urls else {},
        "referenced_tweets": [{"type": "replied_to", "id": tweet.body["reply_to"]}] if tweet.body["reply_to"] else None,
    }  # fmt: skip
    wanted = ask.text("tweet.fields").split(",")
    extra = {name: value for name, value in more.items() if name in wanted and value}
    return {"id": tweet.id, "text": shortened(text), "edit_history_tweet_ids": [tweet.id]} | extra


def instant(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise invalid("start_time and end_time must be RFC 3339 date-times") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def me(ask: Ask, memory: Memory) -> Reply:
    handle = memory.account.handle
    return Reply(200, {"data": {"id": memory.account.remote_id, "name": handle.title(), "username": handle}})


# Pictures, in pieces


def initialize(ask: Ask, memory: Memory) -> Reply:
    size = ask.params.get("total_bytes")
    if not isinstance(size, int) or size < 1 or "/" not in ask.text("media_type"):
        raise invalid("media_type and total_bytes are required")
    number = str(1_900_000_000_000_000_000 + memory.number())
    memory.keep(UPLOAD, number, {"mime": ask.text("media_type"), "size": size})
    return Reply(200, {"data": told_of(memory, number)})


def append(ask: Ask, memory: Memory) -> Reply:
    upload = upload_of(memory, ask.path["id"])
    index = whole_number(ask.text("segment_index"))
    if index is None or index > 999:
        raise invalid("segment_index must be a number from 0 to 999")
    data = segment_of(ask)
    if "file" in upload.body or not data or len(data) > LARGEST_SEGMENT:
        raise invalid("The segment is empty, too large, or comes after the end")
    memory.add_piece(upload.id, index, data)
    return Reply(200, {"data": {"expires_at": int(memory.now.timestamp()) + 86400}})


def segment_of(ask: Ask) -> bytes:
    if "media" in ask.files:
        return ask.files["media"].data
    try:
        return base64.b64decode(ask.text("media"), validate=True)
    except binascii.Error:
        raise invalid("media is not base64") from None


def finalize(ask: Ask, memory: Memory) -> Reply:
    upload = upload_of(memory, ask.path["id"])
    if "file" not in upload.body:
        data = memory.assembled(upload.id)
        if len(data) != upload.body["size"]:
            raise invalid(f"Segments do not add up to provided total file size: {len(data)} bytes")
        memory.change(UPLOAD, upload.id, file=memory.store(File(upload.body["mime"], data)))
        memory.forget_pieces(upload.id)
    return Reply(200, {"data": told_of(memory, upload.id)})


def upload_status(ask: Ask, memory: Memory) -> Reply:
    if ask.text("command") != "STATUS":
        raise invalid("command must be STATUS")
    return Reply(200, {"data": told_of(memory, upload_of(memory, ask.text("media_id")).id)})


def told_of(memory: Memory, number: str) -> dict[str, Any]:
    upload = upload_of(memory, number)
    told = {
        "id": number, "media_key": f"3_{number}", "size": upload.body["size"],
        "expires_after_secs": int(memory.setting("media_lifetime_seconds")),
    }  # fmt: skip
    if "file" not in upload.body:
        return told
    waits = processing(memory, upload)
    info = {"state": "in_progress", "check_after_secs": 1} if waits else {"state": "succeeded", "progress_percent": 100}
    return told | {"processing_info": info}


def processing(memory: Memory, upload: Thing) -> bool:
    return not memory.elapsed(upload.kept_at, "media_seconds")


def over(memory: Memory, upload: Thing) -> bool:
    return memory.elapsed(upload.kept_at, "media_lifetime_seconds")


def upload_of(memory: Memory, number: str) -> Thing:
    found = memory.find_own(UPLOAD, number)
    if found is None or over(memory, found):
        raise invalid(f"The media with id {number} does not exist or has expired")
    return found


def forget_upload(ask: Ask, memory: Memory) -> None:
    number = ask.path.get("id") or ask.text("media_id")
    memory.forget(UPLOAD, number)
    memory.forget_pieces(number)


# Tokens


def new_tokens(ask: Ask, memory: Memory) -> Reply:
    """Each refresh token can be used once."""
    if ask.text("grant_type") != "refresh_token":
        return oauth_error("unsupported_grant_type", "The grant type is not supported.")
    token = memory.find_token(ask.text("refresh_token"))
    if token is None or token.kind != "refresh" or memory.is_over(token):
        return oauth_error("invalid_request", "Value passed for the token was invalid.")
    account = memory.account_of(token.account)
    assert account is not None
    if ask.text("client_id") != account.credentials["client_id"]:
        return oauth_error("unauthorized_client", "Missing valid authorization header")
    memory.revoke(token.token)
    lifetime = timedelta(seconds=memory.setting("access_seconds"))
    access, refresh = (secret_of("x", account.handle, str(memory.number()), 60) for _ in range(2))
    memory.issue(access, "access", account.handle, lifetime)
    memory.issue(refresh, "refresh", account.handle, None)
    return Reply(200, {
        "token_type": "bearer", "expires_in": int(lifetime.total_seconds()), "access_token": access,
        "scope": "tweet.read tweet.write users.read media.write offline.access", "refresh_token": refresh,
    })  # fmt: skip


def oauth_error(code: str, description: str) -> Reply:
    return Reply(400, {"error": code, "error_description": description})


MEDIA = "/2/media/upload"
X.endpoints = (
    Endpoint(
        name="tweets", methods=("POST",), path="/2/tweets", act=post_tweet, visible=True, listed=True,
        takes=("text", "media", "reply", "reply_settings", "made_with_ai"),
    ),
    Endpoint(
        name="user_tweets", methods=("GET",), path="/2/users/{id}/tweets", act=user_tweets, reads=True,
        takes=(
            "start_time", "end_time", "since_id", "until_id", "max_results", "pagination_token", "exclude",
            "tweet.fields", "expansions", "user.fields", "media.fields",
        ),
    ),
    Endpoint(name="me", methods=("GET",), path="/2/users/me", act=me, reads=True, takes=("user.fields",)),
    Endpoint(
        name="media_initialize", methods=("POST",), path=f"{MEDIA}/initialize", act=initialize,
        takes=("media_type", "total_bytes", "media_category", "additional_owners", "shared"),
    ),
    Endpoint(
        name="media_append", methods=("POST",), path=f"{MEDIA}/{{id}}/append", act=append, gone=forget_upload,
        takes=("segment_index", "media"),
    ),
    Endpoint(
        name="media_finalize", methods=("POST",), path=f"{MEDIA}/{{id}}/finalize", act=finalize, gone=forget_upload
    ),
    Endpoint(
        name="media_status", methods=("GET",), path=MEDIA, act=upload_status, reads=True, gone=forget_upload,
        takes=("command", "media_id"),
    ),
    Endpoint(
        name="token", methods=("POST",), path="/2/oauth2/token", act=new_tokens, open=True, refreshes=True,
        takes=("grant_type", "refresh_token", "client_id", "client_type", "client_secret"),
    ),
)  # fmt: skip
NETWORK = X()
