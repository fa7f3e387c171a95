"""Instagram. A client creates a container, waits until it is ready and publishes it. Instagram downloads the media."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, ClassVar

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
from postino.sandbox.network_state import NetworkState, StoredObject

CONTAINER, MEDIA, COMMENT = "container", "media", "comment"
LONGEST_CAPTION, MOST_CHILDREN, LARGEST_IMAGE, MOST_LISTED = 2200, 10, 8 * 1024 * 1024, 100
DAY = timedelta(days=1)
LAST_SECOND = 250_000_000_000
LIFETIME = timedelta(days=60)
MEANINGS = {
    "IN_PROGRESS": "In Progress: Media is still being processed.",
    "FINISHED": "Finished: Media has been uploaded and it is ready to be published.",
    "PUBLISHED": "Published: Media has been published.",
    "EXPIRED": "Expired: The container was not published within 24 hours and has expired.",
}


class SandboxInstagram(SandboxNetwork):
    name = "instagram"
    title = "Instagram"
    colour = "#d62976"
    icon = (
        "M8 3h8a5 5 0 0 1 5 5v8a5 5 0 0 1-5 5H8a5 5 0 0 1-5-5V8a5 5 0 0 1 5-5zm0 2a3 3 0 0 0-3 3v8a3 3 0 "
        "0 0 3 3h8a3 3 0 0 0 3-3V8a3 3 0 0 0-3-3zm4 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zm0 2a2.5 2.5 "
        "0 1 0 0 5 2.5 2.5 0 0 0 0-5z"
    )
    handle = "postcard"
    prefix = r"(?:/v\d+\.\d+)?"
    settings: ClassVar[Mapping[str, float]] = {
        "container_seconds": 0.3, "container_lifetime_seconds": 24 * 3600, "quota": 1000, "refresh_after_seconds": 0,
    }  # fmt: skip

    def set_up_account(self, handle: str) -> AccountSetup:
        token = f"IG{derive_secret(self.name, handle, 'token', 60)}"
        return AccountSetup(
            remote_id=derive_digits(self.name, handle, 17),
            credentials={"access_token": token},
            tokens={token: "access"},
        )

    def read_token(self, call: SandboxCall) -> str | None:
        return call.text("access_token") or super().read_token(call)

    def reply_bad_request(self, message: str) -> Reply:
        return error(100, message)

    def reply_unauthorized(self, problem: TokenProblem) -> Reply:
        match problem:
            case TokenProblem.MISSING:
                return error(104, "An access token is required to request this resource.")
            case TokenProblem.UNKNOWN:
                return error(190, "Invalid OAuth access token - Cannot parse access token")
            case TokenProblem.EXPIRED:
                return error(190, "Error validating access token: Session has expired", 463)

    def reply_blocked(self) -> Reply:
        return error(25, "The Instagram account is restricted.", 2207050, status=403)

    def reply_not_found(self) -> Reply:
        return error(100, "Unsupported request. The path does not exist or does not support this operation", 33)

    def reply_internal_error(self) -> Reply:
        return error(2, "An unexpected error has occurred. Please retry your request later.", status=500, passing=True)

    def reply_misleading_error(self) -> Reply:
        return error(4, "Application request limit reached", 2207051, status=403, title="Action is blocked")

    def reply_rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        usage = '{"0": [{"type": "instagram", "call_count": 100, "estimated_time_to_regain_access": %d}]}'
        refusal = error(80002, "There have been too many calls to this Instagram account.", status=429)
        if seconds is None:
            return refusal
        minutes = ceil(seconds / 60)
        headers = {"X-Business-Use-Case-Usage": usage % minutes}
        return Reply(429, refusal.body, headers, retry_at=now + timedelta(minutes=minutes))


def error(
    code: int, message: str, subcode: int | None = None, *, status: int = 400, passing: bool = False, title: str = ""
) -> Reply:
    body: dict[str, Any] = {
        "message": message, "type": "OAuthException", "code": code, "is_transient": passing, "fbtrace_id": "Asandbox",
    }  # fmt: skip
    if subcode is not None:
        body["error_subcode"] = subcode
    if title:
        body |= {"error_user_title": title, "error_user_msg": message}
    return Reply(status, {"error": body})


def refuse(code: int, message: str, subcode: int | None = None) -> RequestRefused:
    return RequestRefused(error(code, message, subcode))


# Containers


def create_container(call: SandboxCall, state: NetworkState) -> Reply:
    check_user(call, state)
    if len(call.text("caption")) > LONGEST_CAPTION:
        raise refuse(36004, "The caption is too long.", 2207010)
    kind = call.text("media_type", "IMAGE")
    match kind:
        case "CAROUSEL":
            content = read_carousel(call, state)
        case "IMAGE":
            content = {"media": [read_image(call, state)]}
        case "VIDEO" | "REELS":
            content = read_video(call, state)
        case "STORIES":
            content = read_video(call, state) if call.text("video_url") else {"media": [read_image(call, state)]}
        case _:
            raise refuse(100, f"The media type {kind} is unknown.", 2207023)
    number = str(17_000_000_000_000_000 + state.next_number())
    child = call.is_true("is_carousel_item")
    state.add(CONTAINER, number, {"caption": call.text("caption"), "kind": kind, "child": child, **content})
    return Reply(200, {"id": number})


def read_image(call: SandboxCall, state: NetworkState) -> dict[str, str]:
    if not call.text("image_url"):
        raise refuse(100, "The parameter image_url is required.")
    file = call.fetched.get(call.text("image_url"))
    if file is None:
        raise refuse(9004, "The media could not be fetched from this URI.", 2207052)
    if file.mime != "image/jpeg":
        raise refuse(36001, "The image format is not supported: only JPEG is.", 2207005)
    if len(file.data) > LARGEST_IMAGE:
        raise refuse(36000, "The image is too large.", 2207004)
    return state.store_media(file) | {"alt": call.text("alt_text")}


def read_video(call: SandboxCall, state: NetworkState) -> dict[str, Any]:
    """Read a video. An unusable video is reported later, in the container's status."""
    if not call.text("video_url"):
        raise refuse(100, "The parameter video_url is required.")
    file = call.fetched.get(call.text("video_url"))
    if file is None:
        return {"media": [], "error": "Error: 2207052: The media could not be fetched from this URI."}
    if not file.mime.startswith("video/"):
        return {"media": [], "error": "Error: 2207026: The video format is not supported."}
    return {"media": [state.store_media(file)]}


def read_carousel(call: SandboxCall, state: NetworkState) -> dict[str, Any]:
    fields = call.params.get("children", "")
    names = [str(name) for name in (fields if isinstance(fields, list) else str(fields).split(","))]
    children = [state.find_owned(CONTAINER, name) for name in names]
    if not 2 <= len(names) <= MOST_CHILDREN:
        raise refuse(100, "A carousel has two to ten items.", 2207028)
    if any(child is None or not child.body["child"] for child in children):
        raise refuse(100, "An item of the carousel is unknown, or was not made for one.", 2207028)
    media = [read_image for child in children if child for read_image in child.body["media"]]
    failed = next((child.body["error"] for child in children if child and "error" in child.body), None)
    return {"media": media} | ({"error": failed} if failed else {})


def list_urls(call: SandboxCall) -> Sequence[str]:
    return [call.text(name) for name in ("image_url", "video_url") if call.text(name)]


def get_status_code(state: NetworkState, container: StoredObject) -> str:
    if "published" in container.body:
        return "PUBLISHED"
    if "expired" in container.body or state.has_elapsed(container.kept_at, "container_lifetime_seconds"):
        return "EXPIRED"
    if not state.has_elapsed(container.kept_at, "container_seconds"):
        return "IN_PROGRESS"
    return "ERROR" if "error" in container.body else "FINISHED"


def container_status(call: SandboxCall, state: NetworkState) -> Reply:
    container = state.find_owned(CONTAINER, call.path["id"])
    if container is None:
        raise refuse_unknown(call.path["id"])
    status_code = get_status_code(state, container)
    fields = {
        "id": container.id,
        "status_code": status_code,
        "status": container.body.get("error", MEANINGS.get(status_code)),
    }
    return Reply(200, select_fields(call, fields))


def publish_container(call: SandboxCall, state: NetworkState) -> Reply:
    check_user(call, state)
    container = state.find_owned(CONTAINER, call.text("creation_id"))
    if container is None:
        raise refuse(24, "The requested resource does not exist", 2207006)
    match get_status_code(state, container):
        case "IN_PROGRESS":
            raise refuse(9007, "Media ID is not available: it is not ready to be published", 2207027)
        case "ERROR":
            raise refuse(-1, "The media could not be created.", 2207032)
        case "EXPIRED" | "PUBLISHED":
            raise refuse(24, "The media builder does not exist or has expired.", 2207008)
    if container.body["child"]:
        raise refuse(100, "An item of a carousel cannot be published alone.", 2207028)
    if count_used(state) >= state.get_setting("quota"):
        raise refuse(9, "The daily limit of posts is reached.", 2207042)
    number = str(18_000_000_000_000_000 + state.next_number())
    body = {name: container.body[name] for name in ("caption", "kind", "media")}
    state.add(MEDIA, number, body, listed=True)
    state.update(CONTAINER, container.id, published=number)
    state.publish(number, container.body["caption"], media=container.body["media"])
    return Reply(200, {"id": number})


def expire_container(call: SandboxCall, state: NetworkState) -> None:
    state.update(CONTAINER, call.path.get("id") or call.text("creation_id"), expired=True)


def get_publishing_limit(call: SandboxCall, state: NetworkState) -> Reply:
    check_user(call, state)
    config = {"quota_total": int(state.get_setting("quota")), "quota_duration": int(DAY.total_seconds())}
    return Reply(200, {"data": [select_fields(call, {"quota_usage": count_used(state), "config": config})]})


def count_used(state: NetworkState) -> int:
    since = state.now - DAY
    own = state.list_objects(MEDIA, state.account.handle, include_hidden=True)
    return len([media for media in own if media.kept_at > since])


# What is there


def list_media(call: SandboxCall, state: NetworkState) -> Reply:
    check_user(call, state)
    bounds = {name: parse_time(call.text(name)) for name in ("since", "until") if call.text(name)}
    found = [
        media
        for media in state.list_objects(MEDIA, state.account.handle)
        if bounds.get("since", media.kept_at) <= media.kept_at <= bounds.get("until", media.kept_at)
    ]
    return Reply(200, paginate(call, [render_media(call, state, media) for media in found]))


def get_media(call: SandboxCall, state: NetworkState) -> Reply:
    found = state.find_owned(MEDIA, call.path["id"])
    if found is None:
        raise refuse_unknown(call.path["id"])
    return Reply(200, render_media(call, state, found))


def render_media(call: SandboxCall, state: NetworkState, media: StoredObject) -> dict[str, Any]:
    kinds = {"CAROUSEL": "CAROUSEL_ALBUM", "REELS": "VIDEO", "STORIES": "IMAGE"}
    return select_fields(call, {
        "id": media.id, "caption": media.body["caption"], "timestamp": format_time(media.kept_at),
        "permalink": f"{call.url}/p/{media.id}/", "username": state.account.handle, "like_count": 0,
        "media_type": kinds.get(media.body["kind"], media.body["kind"]), "comments_count": 0,
    })  # fmt: skip


def list_comments(call: SandboxCall, state: NetworkState) -> Reply:
    media = find_commented(call, state)
    own = [it for it in state.list_objects(COMMENT, state.account.handle) if it.body["media"] == media.id]
    seen = [
        {"id": it.id, "text": it.body["text"], "timestamp": format_time(it.kept_at), "username": state.account.handle}
        for it in own
    ]
    return Reply(200, paginate(call, [select_fields(call, it, "id", "text", "timestamp") for it in seen]))


def post_comment(call: SandboxCall, state: NetworkState) -> Reply:
    media = find_commented(call, state)
    if not call.text("message").strip():
        raise refuse(100, "The parameter message is required.")
    number = str(17_900_000_000_000_000 + state.next_number())
    state.add(COMMENT, number, {"text": call.text("message"), "media": media.id}, listed=True)
    state.publish(number, call.text("message"), reply_to=media.id, kind="comment")
    return Reply(200, {"id": number})


def find_commented(call: SandboxCall, state: NetworkState) -> StoredObject:
    found = state.find(MEDIA, call.path["id"])
    if found is None:
        raise refuse_unknown(call.path["id"])
    return found


def refresh_token(call: SandboxCall, state: NetworkState) -> Reply:
    """Issue a new token; the old one stays valid until it expires."""
    if call.text("grant_type") != "ig_refresh_token":
        raise refuse(100, "The parameter grant_type must be ig_refresh_token.")
    token = state.find_token(call.token)
    if token and state.now.timestamp() - token.issued_at < state.get_setting("refresh_after_seconds"):
        raise refuse(10, "The access token must be at least 24 hours old to be refreshed.")
    fresh = f"IG{derive_secret(state.network, state.account.handle, str(state.next_number()), 60)}"
    state.issue_token(fresh, "access", state.account.handle, LIFETIME)
    seconds = int(LIFETIME.total_seconds())
    return Reply(200, {"access_token": fresh, "token_type": "bearer", "expires_in": seconds})


# Manners


def check_user(call: SandboxCall, state: NetworkState) -> None:
    if call.path["user"] not in (state.account.remote_id, "me"):
        raise refuse_unknown(call.path["user"])


def refuse_unknown(number: str) -> RequestRefused:
    return refuse(100, f"Unsupported request. Object with ID '{number}' does not exist or cannot be loaded", 33)


def select_fields(call: SandboxCall, fields: Mapping[str, Any], *otherwise: str) -> dict[str, Any]:
    """Return the requested fields, and the id if there is one."""
    requested = [name.strip() for name in call.text("fields").split(",") if name.strip()] or [*(otherwise or ("id",))]
    known = {name: value for name, value in fields.items() if name in (*requested, "id")}
    if call.text("fields") and (strange := [name for name in requested if name not in fields]):
        raise refuse(100, f"Tried accessing nonexisting field ({strange[0]})")
    return known or dict(fields)


def paginate(call: SandboxCall, rows: list[dict[str, Any]]) -> dict[str, Any]:
    limit, start = parse_whole_number(call.text("limit", "25")), parse_whole_number(call.text("after", "0"))
    if start is None or limit is None or not 1 <= limit <= MOST_LISTED:
        raise refuse(100, "The parameters limit and after must be numbers.")
    end = start + limit
    cursors = {"before": str(start), "after": str(min(end, len(rows)))}
    return {"data": rows[start:end]} | ({"paging": {"cursors": cursors}} if rows[start:end] else {})


def parse_time(text: str) -> datetime:
    seconds = parse_whole_number(text)
    if seconds is None or seconds > LAST_SECOND:
        raise refuse(100, "The parameters since and until must be seconds since 1970.")
    return datetime.fromtimestamp(seconds, UTC)


def format_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S+0000")


def is_container_call(call: SandboxCall) -> bool:
    return "status" in call.text("fields")


COMMON = ("access_token", "fields")
CONTAINERS = (
    "image_url", "video_url", "caption", "alt_text", "media_type", "is_carousel_item", "children", "thumb_offset",
    "cover_url", "share_to_feed", "collaborators", "user_tags", "location_id", "product_tags", "audio_name",
)  # fmt: skip
SandboxInstagram.endpoints = (
    SandboxEndpoint(
        name="refresh_access_token", methods=("GET",), path="/refresh_access_token", act=refresh_token, refreshes=True,
        reads=True, takes=("access_token", "grant_type"),
    ),
    SandboxEndpoint(
        name="media", methods=("POST",), path="/{user}/media", act=create_container, fetches=list_urls,
        takes=(*COMMON, *CONTAINERS),
    ),
    SandboxEndpoint(
        name="container_status", methods=("GET",), path="/{id}", act=container_status, reads=True, takes=COMMON,
        when=is_container_call, gone=expire_container,
    ),
    SandboxEndpoint(
        name="media_publish", methods=("POST",), path="/{user}/media_publish", act=publish_container, visible=True,
        listed=True, takes=(*COMMON, "creation_id"), gone=expire_container,
    ),
    SandboxEndpoint(
        name="content_publishing_limit", methods=("GET",), path="/{user}/content_publishing_limit",
        act=get_publishing_limit, reads=True, takes=(*COMMON, "since"),
    ),
    SandboxEndpoint(
        name="media_list", methods=("GET",), path="/{user}/media", act=list_media, reads=True,
        takes=(*COMMON, "limit", "after", "since", "until"),
    ),
    SandboxEndpoint(name="media_node", methods=("GET",), path="/{id}", act=get_media, reads=True, takes=COMMON),
    SandboxEndpoint(
        name="comments_list", methods=("GET",), path="/{id}/comments", act=list_comments, reads=True,
        takes=(*COMMON, "limit", "after"),
    ),
    SandboxEndpoint(
        name="comments_post", methods=("POST",), path="/{id}/comments", act=post_comment, visible=True, listed=True,
        takes=("access_token", "message"),
    ),
)  # fmt: skip
NETWORK = SandboxInstagram()
