"""YouTube: a film is uploaded in a session that can be asked and resumed, and made public by a later update."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from postino.sandbox.network import Ask, Doubt, Endpoint, Membership, Network, Refused, Reply, secret_of, whole_number
from postino.sandbox.network_state import Account, File, Memory, Thing

SESSION, VIDEO = "session", "video"
PIECE = 256 * 1024
LONGEST_TITLE, MOST_BYTES_OF_DESCRIPTION, MOST_CHARACTERS_OF_TAGS = 100, 5000, 500
PRIVACY = ("private", "unlisted", "public")
RANGE = re.compile(r"bytes (?:(?P<first>[0-9]{1,15})-(?P<last>[0-9]{1,15})|\*)/(?P<total>[0-9]{1,15}|\*)")
DAY = timedelta(days=1)


class YouTube(Network):
    name = "youtube"
    title = "YouTube"
    colour = "#e62117"
    icon = "M8 5.2v13.6L19.2 12z"
    handle = "postcard"
    settings: ClassVar[Mapping[str, float]] = {
        "access_seconds": 3599, "processing_seconds": 0.3, "uploads_per_day": 1000, "session_seconds": 7 * 24 * 3600,
        "refuses_duplicates": 0,
    }  # fmt: skip

    def membership(self, handle: str) -> Membership:
        access, refresh = (secret_of(self.name, handle, purpose, 60) for purpose in ("access", "refresh"))
        client = {name: secret_of(self.name, handle, name, 24) for name in ("client_id", "client_secret")}
        return Membership(
            remote_id=f"UC{secret_of(self.name, handle, 'channel', 22)}",
            credentials={"access_token": access, "refresh_token": refresh, **client},
            tokens={access: "access", refresh: "refresh"},
        )

    def bad_request(self, message: str) -> Reply:
        return error(400, "badRequest", message)

    def unauthorized(self, doubt: Doubt) -> Reply:
        return error(401, "authError", "Request had invalid authentication credentials.", "UNAUTHENTICATED")

    def blocked(self) -> Reply:
        return error(403, "authenticatedUserAccountSuspended", "The account of the user is suspended.")

    def no_such_endpoint(self) -> Reply:
        return error(404, "notFound", "Requested entity was not found.", "NOT_FOUND")

    def internal_error(self) -> Reply:
        return error(500, "internalError", "Internal error encountered.", "INTERNAL")

    def published_anyway(self) -> Reply:
        return error(503, "backendError", "The service is currently unavailable.", "UNAVAILABLE")

    def rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        return error(429, "rateLimitExceeded", "Quota exceeded for requests per minute.", "RESOURCE_EXHAUSTED")


def error(code: int, reason: str, message: str, status: str = "INVALID_ARGUMENT") -> Reply:
    errors = [{"message": message, "domain": "youtube", "reason": reason}]
    return Reply(code, {"error": {"code": code, "message": message, "errors": errors, "status": status}})


def invalid(reason: str, message: str) -> Refused:
    return Refused(error(400, reason, message))


# The session


def start_upload(ask: Ask, memory: Memory) -> Reply:
    if ask.text("uploadType") != "resumable":
        raise invalid("badRequest", "This sandbox knows resumable uploads only.")
    parts = [part for part in ask.text("part").split(",") if part]
    snippet, status = checked_snippet(ask, parts), checked_status(ask, parts)
    today = [it for it in memory.listed(SESSION, memory.account.handle) if it.kept_at > memory.now - DAY]
    if len(today) >= memory.setting("uploads_per_day"):
        raise invalid("uploadLimitExceeded", "The user has exceeded the number of videos they may upload.")
    size = whole_number(ask.headers.get("x-upload-content-length", ""))
    mime = ask.headers.get("x-upload-content-type", "video/*")
    number = f"AH{secret_of('youtube', memory.account.handle, str(memory.number()), 40)}"
    body = {"snippet": snippet, "status": status, "size": size, "mime": mime}
    memory.keep(SESSION, number, body | {"received": 0})
    location = f"{ask.url}/upload/youtube/v3/videos?uploadType=resumable&upload_id={number}"
    return Reply(200, headers={"Location": location, "X-GUploader-UploadID": number})


def put_bytes(ask: Ask, memory: Memory) -> Reply:
    session = session_of(ask, memory)
    if "video" in session.body:
        return finished(memory, session)
    first, last, total = told_range(ask)
    if session.body["size"] not in (None, total) or last - first + 1 != len(ask.body) or last >= total:
        raise invalid("badRequest", "The bytes do not fit the range that was told.")
    if last + 1 < total and len(ask.body) % PIECE:
        raise invalid("badRequest", "All but the last piece must be multiples of 256 KiB.")
    if first != session.body["received"]:
        return unfinished(session.body["received"])
    memory.add_piece(session.id, first, ask.body)
    memory.change(SESSION, session.id, received=last + 1)
    if last + 1 < total:
        return unfinished(last + 1)
    return make_video(memory, session)


def upload_status(ask: Ask, memory: Memory) -> Reply:
    session = session_of(ask, memory)
    return finished(memory, session) if "video" in session.body else unfinished(session.body["received"])


def told_range(ask: Ask) -> tuple[int, int, int]:
    """Without one it is the whole."""
    header = ask.headers.get("content-range")
    if header is None:
        return 0, len(ask.body) - 1, len(ask.body)
    found = RANGE.fullmatch(header)
    if not found or not found["first"] or found["total"] == "*":
        raise invalid("badRequest", f"Content-Range {header} cannot be understood.")
    return int(found["first"]), int(found["last"]), int(found["total"])


def session_of(ask: Ask, memory: Memory) -> Thing:
    """Whoever knows its address may use it."""
    session = memory.find(SESSION, ask.text("upload_id"))
    if session is None or memory.elapsed(session.kept_at, "session_seconds"):
        raise Refused(NETWORK.no_such_endpoint())
    memory.caller = memory.account_of(session.account)
    return session


def forget_session(ask: Ask, memory: Memory) -> None:
    memory.forget(SESSION, ask.text("upload_id"))
    memory.forget_pieces(ask.text("upload_id"))


def unfinished(received: int) -> Reply:
    return Reply(308, headers={"Range": f"bytes=0-{received - 1}"} if received else {})


def finished(memory: Memory, session: Thing) -> Reply:
    video = memory.find(VIDEO, session.body["video"])
    if video is None:
        raise Refused(NETWORK.no_such_endpoint())
    return Reply(200, shown(memory, video, ("snippet", "status")))


def make_video(memory: Memory, session: Thing) -> Reply:
    file = memory.store(File(session.body["mime"], memory.assembled(session.id)))
    number = secret_of("youtube", memory.account.handle, str(memory.number()), 11)
    others = memory.listed(VIDEO, memory.account.handle, hidden_too=True)
    rejected = bool(memory.setting("refuses_duplicates")) and any(it.body["file"] == file for it in others)
    body = {"snippet": session.body["snippet"], "status": session.body["status"], "file": file}
    memory.keep(VIDEO, number, body | {"rejected": rejected}, listed=True)
    memory.change(SESSION, session.id, video=number)
    memory.forget_pieces(session.id)
    video = memory.find(VIDEO, number)
    assert video is not None
    if video.body["status"]["privacyStatus"] == "public" and not rejected:
        show(memory, video)
    return Reply(200, shown(memory, video, ("snippet", "status")))


# Videos


def update_video(ask: Ask, memory: Memory) -> Reply:
    """Making public what is public already changes nothing."""
    parts = [part for part in ask.text("part").split(",") if part]
    video = memory.find_own(VIDEO, ask.text("id"))
    if video is None:
        raise Refused(error(404, "videoNotFound", "The video that you are trying to update cannot be found."))
    was = video.body["status"]["privacyStatus"]
    if "snippet" in parts:
        memory.change(VIDEO, video.id, snippet=checked_snippet(ask, parts))
    if "status" in parts:
        memory.change(VIDEO, video.id, status=checked_status(ask, parts))
    changed = memory.find_own(VIDEO, video.id)
    assert changed is not None
    if changed.body["status"]["privacyStatus"] == "public" and not changed.body["rejected"]:
        if was != "public":
            show(memory, changed)
        elif changed.body["snippet"] != video.body["snippet"]:
            show(memory, changed, kind="edit")
    return Reply(200, shown(memory, changed, parts))


def show(memory: Memory, video: Thing, kind: str = "post") -> None:
    snippet = video.body["snippet"]
    text, title = snippet.get("description", ""), snippet["title"]
    memory.publish(video.id, text, media=[video.body["file"]], title=title, kind=kind)


def list_videos(ask: Ask, memory: Memory) -> Reply:
    found = [memory.find_own(VIDEO, name) for name in ask.text("id").split(",")]
    parts = ask.text("part").split(",")
    return Reply(200, listing("youtube#videoListResponse", [shown(memory, it, parts) for it in found if it]))


def shown(memory: Memory, video: Thing, parts: Any) -> dict[str, Any]:
    ready = memory.elapsed(video.kept_at, "processing_seconds")
    state: dict[str, Any] = {"uploadStatus": "processed" if ready else "uploaded"}
    if video.body["rejected"]:
        state = {"uploadStatus": "rejected", "rejectionReason": "duplicate"}
    every = {
        "snippet": video.body["snippet"] | channel_of(memory.account) | {"publishedAt": stamp(video.kept_at)},
        "status": video.body["status"] | state,
        "processingDetails": {"processingStatus": "succeeded" if ready else "processing"},
    }
    return {"kind": "youtube#video", "etag": video.id, "id": video.id} | {
        name: value for name, value in every.items() if name in parts
    }


def checked_snippet(ask: Ask, parts: list[str]) -> dict[str, Any]:
    told = checked_part(ask, parts, "snippet", "title", "description", "tags", "categoryId", "defaultLanguage",
                        "defaultAudioLanguage")  # fmt: skip
    title, description, tags = told.get("title", ""), told.get("description", ""), told.get("tags", [])
    if not isinstance(title, str) or not title.strip() or len(title) > LONGEST_TITLE or set("<>") & set(title):
        raise invalid("invalidTitle", "The request metadata specifies an invalid or empty video title.")
    if len(str(description).encode()) > MOST_BYTES_OF_DESCRIPTION or set("<>") & set(str(description)):
        raise invalid("invalidDescription", "The request metadata specifies an invalid video description.")
    if not isinstance(tags, list) or sum(len(str(tag)) for tag in tags) > MOST_CHARACTERS_OF_TAGS:
        raise invalid("invalidTags", "The request metadata specifies invalid video keywords.")
    if whole_number(str(told.get("categoryId", "22"))) is None:
        raise invalid("invalidCategoryId", "The snippet.categoryId property specifies an invalid category ID.")
    return dict(told)


def checked_status(ask: Ask, parts: list[str]) -> dict[str, Any]:
    told = checked_part(ask, parts, "status", "privacyStatus", "publishAt", "selfDeclaredMadeForKids", "embeddable",
                        "license", "publicStatsViewable", "containsSyntheticMedia")  # fmt: skip
    if told.get("privacyStatus", "public") not in PRIVACY:
        raise invalid("badRequest", "status.privacyStatus is private, unlisted or public.")
    return {"privacyStatus": "public", **told}


def checked_part(ask: Ask, parts: list[str], name: str, *known: str) -> Mapping[str, Any]:
    told = ask.params.get(name, {})
    if name in ask.params and name not in parts:
        raise invalid("unexpectedPart", f"{name} is in the body but not among the parts.")
    if not isinstance(told, dict) or set(told) - set(known):
        raise invalid("badRequest", f'Invalid JSON payload received. Unknown name in "{name}"')
    return told


# The channel


def list_channels(ask: Ask, memory: Memory) -> Reply:
    if not ask.truth("mine"):
        raise invalid("badRequest", "This sandbox shows only the caller's own channel.")
    account = memory.account
    every = {
        "contentDetails": {"relatedPlaylists": {"likes": "", "uploads": uploads_of(account)}},
        "snippet": {"title": account.handle.title(), "customUrl": f"@{account.handle}"},
    }
    parts = ask.text("part").split(",")
    channel = {"kind": "youtube#channel", "id": account.remote_id} | {
        name: value for name, value in every.items() if name in parts
    }
    return Reply(200, listing("youtube#channelListResponse", [channel]))


def list_playlist(ask: Ask, memory: Memory) -> Reply:
    """The uploads, the newest first; whoever owns them sees the private ones, too."""
    if ask.text("playlistId") != uploads_of(memory.account):
        raise Refused(error(404, "playlistNotFound", "The playlist cannot be found.", "NOT_FOUND"))
    many, start = whole_number(ask.text("maxResults", "5")), whole_number(ask.text("pageToken", "0"))
    if many is None or start is None or many > 50:
        raise invalid("badRequest", "maxResults is at most 50.")
    found = memory.listed(VIDEO, memory.account.handle)
    parts, end = ask.text("part").split(","), start + many
    items = [playlist_item(memory, it, parts) for it in found[start:end]]
    body = listing("youtube#playlistItemListResponse", items)
    return Reply(200, body | ({"nextPageToken": str(end)} if end < len(found) else {}))


def playlist_item(memory: Memory, video: Thing, parts: list[str]) -> dict[str, Any]:
    resource = {"kind": "youtube#video", "videoId": video.id}
    snippet = {name: video.body["snippet"].get(name, "") for name in ("title", "description")}
    every = {
        "snippet": snippet | {
            "publishedAt": stamp(video.kept_at), "resourceId": resource, "playlistId": uploads_of(memory.account)
        },
        "contentDetails": {"videoId": video.id, "videoPublishedAt": stamp(video.kept_at)},
        "status": {"privacyStatus": video.body["status"]["privacyStatus"]},
    }  # fmt: skip
    return {"kind": "youtube#playlistItem", "id": f"UU{video.id}"} | {
        name: value for name, value in every.items() if name in parts
    }


def listing(kind: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "items": items, "pageInfo": {"totalResults": len(items), "resultsPerPage": len(items)}}


def uploads_of(account: Account) -> str:
    return "UU" + account.remote_id.removeprefix("UC")


def channel_of(account: Account) -> dict[str, str]:
    return {"channelId": account.remote_id, "channelTitle": account.handle.title()}


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


# Tokens


def new_token(ask: Ask, memory: Memory) -> Reply:
    """Google's refresh tokens stay as they are."""
    token = memory.find_token(ask.text("refresh_token"))
    if ask.text("grant_type") != "refresh_token":
        return Reply(400, {"error": "unsupported_grant_type", "error_description": "Invalid grant_type"})
    if token is None or token.kind != "refresh" or memory.is_over(token):
        return Reply(400, {"error": "invalid_grant", "error_description": "Token has been expired or revoked."})
    account = memory.account_of(token.account)
    assert account is not None
    if any(ask.text(name) != account.credentials[name] for name in ("client_id", "client_secret")):
        return Reply(401, {"error": "invalid_client", "error_description": "The OAuth client was not found."})
    lifetime = timedelta(seconds=memory.setting("access_seconds"))
    access = secret_of("youtube", account.handle, str(memory.number()), 60)
    memory.issue(access, "access", account.handle, lifetime)
    return Reply(200, {
        "access_token": access, "expires_in": int(lifetime.total_seconds()), "token_type": "Bearer",
        "scope": "https://www.googleapis.com/auth/youtube",
    })  # fmt: skip


def asks_only(ask: Ask) -> bool:
    return ask.headers.get("content-range", "").startswith("bytes */")


EVERYWHERE = ("alt", "key", "prettyPrint", "fields", "quotaUser", "part")
UPLOAD, API = "/upload/youtube/v3/videos", "/youtube/v3"
YouTube.endpoints = (
    Endpoint(
        name="upload_start", methods=("POST",), path=UPLOAD, act=start_upload,
        takes=(*EVERYWHERE, "uploadType", "notifySubscribers", "snippet", "status"),
    ),
    Endpoint(
        name="upload_status", methods=("PUT",), path=UPLOAD, act=upload_status, raw=True, open=True, reads=True,
        when=asks_only, gone=forget_session, takes=(*EVERYWHERE, "uploadType", "upload_id"),
    ),
    Endpoint(
        name="upload_bytes", methods=("PUT",), path=UPLOAD, act=put_bytes, raw=True, open=True, listed=True,
        gone=forget_session, takes=(*EVERYWHERE, "uploadType", "upload_id"),
    ),
    Endpoint(
        name="videos_update", methods=("PUT",), path=f"{API}/videos", act=update_video, visible=True,
        takes=(*EVERYWHERE, "id", "snippet", "status"),
    ),
    Endpoint(
        name="videos_list", methods=("GET",), path=f"{API}/videos", act=list_videos, reads=True,
        takes=(*EVERYWHERE, "id"),
    ),
    Endpoint(
        name="channels_list", methods=("GET",), path=f"{API}/channels", act=list_channels, reads=True,
        takes=(*EVERYWHERE, "mine"),
    ),
    Endpoint(
        name="playlist_items", methods=("GET",), path=f"{API}/playlistItems", act=list_playlist, reads=True,
        takes=(*EVERYWHERE, "playlistId", "maxResults", "pageToken"),
    ),
    Endpoint(
        name="token", methods=("POST",), path="/token", act=new_token, open=True, refreshes=True,
        takes=("grant_type", "refresh_token", "client_id", "client_secret"),
    ),
)  # fmt: skip
NETWORK = YouTube()
