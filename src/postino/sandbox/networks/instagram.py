"""Instagram: a container is made, takes its time, and is published; Instagram fetches the pictures itself."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, ClassVar

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
from postino.sandbox.network_state import Memory, Thing

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


class Instagram(Network):
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

    def membership(self, handle: str) -> Membership:
        token = f"IG{secret_of(self.name, handle, 'token', 60)}"
        return Membership(
            remote_id=digits_of(self.name, handle, 17), credentials={"access_token": token}, tokens={token: "access"}
        )

    def token(self, ask: Ask) -> str | None:
        return ask.text("access_token") or super().token(ask)

    def bad_request(self, message: str) -> Reply:
        return error(100, message)

    def unauthorized(self, doubt: Doubt) -> Reply:
        match doubt:
            case Doubt.MISSING:
                return error(104, "An access token is required to request this resource.")
            case Doubt.UNKNOWN:
                return error(190, "Invalid OAuth access token - Cannot parse access token")
            case Doubt.EXPIRED:
                return error(190, "Error validating access token: Session has expired", 463)

    def blocked(self) -> Reply:
        return error(25, "The Instagram account is restricted.", 2207050, status=403)

    def no_such_endpoint(self) -> Reply:
        return error(100, "Unsupported request. The path does not exist or does not support this operation", 33)

    def internal_error(self) -> Reply:
        return error(2, "An unexpected error has occurred. Please retry your request later.", status=500, passing=True)

    def published_anyway(self) -> Reply:
        return error(4, "Application request limit reached", 2207051, status=403, title="Action is blocked")

    def rate_limited(self, seconds: int | None, now: datetime) -> Reply:
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


def refused(code: int, message: str, subcode: int | None = None) -> Refused:
    return Refused(error(code, message, subcode))


# Containers


def create_container(ask: Ask, memory: Memory) -> Reply:
    check_user(ask, memory)
    if len(ask.text("caption")) > LONGEST_CAPTION:
        raise refused(36004, "The caption is too long.", 2207010)
    kind = ask.text("media_type", "IMAGE")
    match kind:
        case "CAROUSEL":
            content = carousel(ask, memory)
        case "IMAGE":
            content = {"media": [picture(ask, memory)]}
        case "VIDEO" | "REELS":
            content = film(ask, memory)
        case "STORIES":
            content = film(ask, memory) if ask.text("video_url") else {"media": [picture(ask, memory)]}
        case _:
            raise refused(100, f"The media type {kind} is unknown.", 2207023)
    number = str(17_000_000_000_000_000 + memory.number())
    child = ask.truth("is_carousel_item")
    memory.keep(CONTAINER, number, {"caption": ask.text("caption"), "kind": kind, "child": child, **content})
    return Reply(200, {"id": number})


def picture(ask: Ask, memory: Memory) -> dict[str, str]:
    if not ask.text("image_url"):
        raise refused(100, "The parameter image_url is required.")
    file = ask.fetched.get(ask.text("image_url"))
    if file is None:
        raise refused(9004, "The media could not be fetched from this URI.", 2207052)
    if file.mime != "image/jpeg":
        raise refused(36001, "The image format is not supported: only JPEG is.", 2207005)
    if len(file.data) > LARGEST_IMAGE:
        raise refused(36000, "The image is too large.", 2207004)
    return memory.store(file) | {"alt": ask.text("alt_text")}


def film(ask: Ask, memory: Memory) -> dict[str, Any]:
    """Whether a film can be used shows only later, in the container's status."""
    if not ask.text("video_url"):
        raise refused(100, "The parameter video_url is required.")
    file = ask.fetched.get(ask.text("video_url"))
    if file is None:
        return {"media": [], "error": "Error: 2207052: The media could not be fetched from this URI."}
    if not file.mime.startswith("video/"):
        return {"media": [], "error": "Error: 2207026: The video format is not supported."}
    return {"media": [memory.store(file)]}


def carousel(ask: Ask, memory: Memory) -> dict[str, Any]:
    told = ask.params.get("children", "")
    names = [str(name) for name in (told if isinstance(told, list) else str(told).split(","))]
    children = [memory.find_own(CONTAINER, name) for name in names]
    if not 2 <= len(names) <= MOST_CHILDREN:
        raise refused(100, "A carousel has two to ten items.", 2207028)
    if any(child is None or not child.body["child"] for child in children):
        raise refused(100, "An item of the carousel is unknown, or was not made for one.", 2207028)
    media = [picture for child in children if child for picture in child.body["media"]]
    failed = next((child.body["error"] for child in children if child and "error" in child.body), None)
    return {"media": media} | ({"error": failed} if failed else {})


def addresses(ask: Ask) -> Sequence[str]:
    return [ask.text(name) for name in ("image_url", "video_url") if ask.text(name)]


def state_of(memory: Memory, container: Thing) -> str:
    if "published" in container.body:
        return "PUBLISHED"
    if "expired" in container.body or memory.elapsed(container.kept_at, "container_lifetime_seconds"):
        return "EXPIRED"
    if not memory.elapsed(container.kept_at, "container_seconds"):
        return "IN_PROGRESS"
    return "ERROR" if "error" in container.body else "FINISHED"


def container_status(ask: Ask, memory: Memory) -> Reply:
    container = memory.find_own(CONTAINER, ask.path["id"])
    if container is None:
        raise unknown(ask.path["id"])
    state = state_of(memory, container)
    told = {"id": container.id, "status_code": state, "status": container.body.get("error", MEANINGS.get(state))}
    return Reply(200, chosen(ask, told))


def publish_container(ask: Ask, memory: Memory) -> Reply:
    check_user(ask, memory)
    container = memory.find_own(CONTAINER, ask.text("creation_id"))
    if container is None:
        raise refused(24, "The requested resource does not exist", 2207006)
    match state_of(memory, container):
        case "IN_PROGRESS":
            raise refused(9007, "Media ID is not available: it is not ready to be published", 2207027)
        case "ERROR":
            raise refused(-1, "The media could not be created.", 2207032)
        case "EXPIRED" | "PUBLISHED":
            raise refused(24, "The media builder does not exist or has expired.", 2207008)
    if container.body["child"]:
        raise refused(100, "An item of a carousel cannot be published alone.", 2207028)
    if used(memory) >= memory.setting("quota"):
        raise refused(9, "The daily limit of posts is reached.", 2207042)
    number = str(18_000_000_000_000_000 + memory.number())
    body = {name: container.body[name] for name in ("caption", "kind", "media")}
    memory.keep(MEDIA, number, body, listed=True)
    memory.change(CONTAINER, container.id, published=number)
    memory.publish(number, container.body["caption"], media=container.body["media"])
    return Reply(200, {"id": number})


def expire_container(ask: Ask, memory: Memory) -> None:
    memory.change(CONTAINER, ask.path.get("id") or ask.text("creation_id"), expired=True)


def publishing_limit(ask: Ask, memory: Memory) -> Reply:
    check_user(ask, memory)
    config = {"quota_total": int(memory.setting("quota")), "quota_duration": int(DAY.total_seconds())}
    return Reply(200, {"data": [chosen(ask, {"quota_usage": used(memory), "config": config})]})


def used(memory: Memory) -> int:
    since = memory.now - DAY
    own = memory.listed(MEDIA, memory.account.handle, hidden_too=True)
    return len([media for media in own if media.kept_at > since])


# What is there


def list_media(ask: Ask, memory: Memory) -> Reply:
    check_user(ask, memory)
    bounds = {name: as_instant(ask.text(name)) for name in ("since", "until") if ask.text(name)}
    found = [
        media
        for media in memory.listed(MEDIA, memory.account.handle)
        if bounds.get("since", media.kept_at) <= media.kept_at <= bounds.get("until", media.kept_at)
    ]
    return Reply(200, page_of(ask, [seen_media(ask, memory, media) for media in found]))


def get_media(ask: Ask, memory: Memory) -> Reply:
    found = memory.find_own(MEDIA, ask.path["id"])
    if found is None:
        raise unknown(ask.path["id"])
    return Reply(200, seen_media(ask, memory, found))


def seen_media(ask: Ask, memory: Memory, media: Thing) -> dict[str, Any]:
    kinds = {"CAROUSEL": "CAROUSEL_ALBUM", "REELS": "VIDEO", "STORIES": "IMAGE"}
    return chosen(ask, {
        "id": media.id, "caption": media.body["caption"], "timestamp": stamp(media.kept_at),
        "permalink": f"{ask.url}/p/{media.id}/", "username": memory.account.handle, "like_count": 0,
        "media_type": kinds.get(media.body["kind"], media.body["kind"]), "comments_count": 0,
    })  # fmt: skip


def list_comments(ask: Ask, memory: Memory) -> Reply:
    media = commented(ask, memory)
    own = [it for it in memory.listed(COMMENT, memory.account.handle) if it.body["media"] == media.id]
    seen = [
        {"id": it.id, "text": it.body["text"], "timestamp": stamp(it.kept_at), "username": memory.account.handle}
        for it in own
    ]
    return Reply(200, page_of(ask, [chosen(ask, it, "id", "text", "timestamp") for it in seen]))


def post_comment(ask: Ask, memory: Memory) -> Reply:
    media = commented(ask, memory)
    if not ask.text("message").strip():
        raise refused(100, "The parameter message is required.")
    number = str(17_900_000_000_000_000 + memory.number())
    memory.keep(COMMENT, number, {"text": ask.text("message"), "media": media.id}, listed=True)
    memory.publish(number, ask.text("message"), reply_to=media.id, kind="comment")
    return Reply(200, {"id": number})


def commented(ask: Ask, memory: Memory) -> Thing:
    found = memory.find(MEDIA, ask.path["id"])
    if found is None:
        raise unknown(ask.path["id"])
    return found


def refresh_token(ask: Ask, memory: Memory) -> Reply:
    """A new one with a life of its own; the old one lives on until its end."""
    if ask.text("grant_type") != "ig_refresh_token":
        raise refused(100, "The parameter grant_type must be ig_refresh_token.")
    token = memory.find_token(ask.token)
    if token and memory.now.timestamp() - token.issued_at < memory.setting("refresh_after_seconds"):
        raise refused(10, "The access token must be at least 24 hours old to be refreshed.")
    fresh = f"IG{secret_of(memory.network, memory.account.handle, str(memory.number()), 60)}"
    memory.issue(fresh, "access", memory.account.handle, LIFETIME)
    seconds = int(LIFETIME.total_seconds())
    return Reply(200, {"access_token": fresh, "token_type": "bearer", "expires_in": seconds})


# Manners


def check_user(ask: Ask, memory: Memory) -> None:
    if ask.path["user"] not in (memory.account.remote_id, "me"):
        raise unknown(ask.path["user"])


def unknown(number: str) -> Refused:
    return refused(100, f"Unsupported request. Object with ID '{number}' does not exist or cannot be loaded", 33)


def chosen(ask: Ask, told: Mapping[str, Any], *otherwise: str) -> dict[str, Any]:
    """The fields that were asked for, and the id where there is one."""
    wanted = [name.strip() for name in ask.text("fields").split(",") if name.strip()] or [*(otherwise or ("id",))]
    known = {name: value for name, value in told.items() if name in (*wanted, "id")}
    if ask.text("fields") and (strange := [name for name in wanted if name not in told]):
        raise refused(100, f"Tried accessing nonexisting field ({strange[0]})")
    return known or dict(told)


def page_of(ask: Ask, rows: list[dict[str, Any]]) -> dict[str, Any]:
    limit, start = whole_number(ask.text("limit", "25")), whole_number(ask.text("after", "0"))
    if start is None or limit is None or not 1 <= limit <= MOST_LISTED:
        raise refused(100, "The parameters limit and after must be numbers.")
    end = start + limit
    cursors = {"before": str(start), "after": str(min(end, len(rows)))}
    return {"data": rows[start:end]} | ({"paging": {"cursors": cursors}} if rows[start:end] else {})


def as_instant(text: str) -> datetime:
    seconds = whole_number(text)
    if seconds is None or seconds > LAST_SECOND:
        raise refused(100, "The parameters since and until must be seconds since 1970.")
    return datetime.fromtimestamp(seconds, UTC)


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S+0000")


def asks_for_a_container(ask: Ask) -> bool:
    return "status" in ask.text("fields")


COMMON = ("access_token", "fields")
CONTAINERS = (
    "image_url", "video_url", "caption", "alt_text", "media_type", "is_carousel_item", "children", "thumb_offset",
    "cover_url", "share_to_feed", "collaborators", "user_tags", "location_id", "product_tags", "audio_name",
)  # fmt: skip
Instagram.endpoints = (
    Endpoint(
        name="refresh_access_token", methods=("GET",), path="/refresh_access_token", act=refresh_token, refreshes=True,
        reads=True, takes=("access_token", "grant_type"),
    ),
    Endpoint(
        name="media", methods=("POST",), path="/{user}/media", act=create_container, fetches=addresses,
        takes=(*COMMON, *CONTAINERS),
    ),
    Endpoint(
        name="container_status", methods=("GET",), path="/{id}", act=container_status, reads=True, takes=COMMON,
        when=asks_for_a_container, gone=expire_container,
    ),
    Endpoint(
        name="media_publish", methods=("POST",), path="/{user}/media_publish", act=publish_container, visible=True,
        listed=True, takes=(*COMMON, "creation_id"), gone=expire_container,
    ),
    Endpoint(
        name="content_publishing_limit", methods=("GET",), path="/{user}/content_publishing_limit",
        act=publishing_limit, reads=True, takes=(*COMMON, "since"),
    ),
    Endpoint(
        name="media_list", methods=("GET",), path="/{user}/media", act=list_media, reads=True,
        takes=(*COMMON, "limit", "after", "since", "until"),
    ),
    Endpoint(name="media_node", methods=("GET",), path="/{id}", act=get_media, reads=True, takes=COMMON),
    Endpoint(
        name="comments_list", methods=("GET",), path="/{id}/comments", act=list_comments, reads=True,
        takes=(*COMMON, "limit", "after"),
    ),
    Endpoint(
        name="comments_post", methods=("POST",), path="/{id}/comments", act=post_comment, visible=True, listed=True,
        takes=("access_token", "message"),
    ),
)  # fmt: skip
NETWORK = Instagram()
