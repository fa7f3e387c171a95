"""YouTube. A client uploads a video in a resumable session, and a later update makes it public."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from postino.sandbox.network import (
    AccountSetup,
    Reply,
    RequestRefused,
    SandboxCall,
    SandboxEndpoint,
    SandboxNetwork,
    TokenProblem,
    derive_secret,
    parse_whole_number,
)
from postino.sandbox.network_state import NetworkState, SandboxAccount, SandboxFile, StoredObject

SESSION, VIDEO = "session", "video"
PIECE = 256 * 1024
LONGEST_TITLE, MOST_BYTES_OF_DESCRIPTION, MOST_CHARACTERS_OF_TAGS = 100, 5000, 500
PRIVACY = ("private", "unlisted", "public")
RANGE = re.compile(r"bytes (?:(?P<first>[0-9]{1,15})-(?P<last>[0-9]{1,15})|\*)/(?P<total>[0-9]{1,15}|\*)")
DAY = timedelta(days=1)


class SandboxYouTube(SandboxNetwork):
    name = "youtube"
    title = "YouTube"
    colour = "#e62117"
    icon = "M8 5.2v13.6L19.2 12z"
    handle = "postcard"
    settings: ClassVar[Mapping[str, float]] = {
        "access_seconds": 3599, "processing_seconds": 0.3, "uploads_per_day": 1000, "session_seconds": 7 * 24 * 3600,
        "refuses_duplicates": 0,
    }  # fmt: skip

    def set_up_account(self, handle: str) -> AccountSetup:
        access, refresh = (derive_secret(self.name, handle, purpose, 60) for purpose in ("access", "refresh"))
        client = {name: derive_secret(self.name, handle, name, 24) for name in ("client_id", "client_secret")}
        return AccountSetup(
            remote_id=f"UC{derive_secret(self.name, handle, 'channel', 22)}",
            credentials={"access_token": access, "refresh_token": refresh, **client},
            tokens={access: "access", refresh: "refresh"},
        )

    def reply_bad_request(self, message: str) -> Reply:
        return error(400, "badRequest", message)

    def reply_unauthorized(self, problem: TokenProblem) -> Reply:
        return error(401, "authError", "Request had invalid authentication credentials.", "UNAUTHENTICATED")

    def reply_blocked(self) -> Reply:
        return error(403, "authenticatedUserAccountSuspended", "The account of the user is suspended.")

    def reply_not_found(self) -> Reply:
        return error(404, "notFound", "Requested entity was not found.", "NOT_FOUND")

    def reply_internal_error(self) -> Reply:
        return error(500, "internalError", "Internal error encountered.", "INTERNAL")

    def reply_misleading_error(self) -> Reply:
        return error(503, "backendError", "The service is currently unavailable.", "UNAVAILABLE")

    def reply_rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        return error(429, "rateLimitExceeded", "Quota exceeded for requests per minute.", "RESOURCE_EXHAUSTED")


def error(code: int, reason: str, message: str, status: str = "INVALID_ARGUMENT") -> Reply:
    errors = [{"message": message, "domain": "youtube", "reason": reason}]
    return Reply(code, {"error": {"code": code, "message": message, "errors": errors, "status": status}})


def refuse(reason: str, message: str) -> RequestRefused:
    return RequestRefused(error(400, reason, message))


# The session


def start_upload(call: SandboxCall, state: NetworkState) -> Reply:
    if call.text("uploadType") != "resumable":
        raise refuse("badRequest", "This sandbox knows resumable uploads only.")
    parts = [part for part in call.text("part").split(",") if part]
    snippet, status = read_snippet(call, parts), read_status(call, parts)
    today = [it for it in state.list_objects(SESSION, state.account.handle) if it.kept_at > state.now - DAY]
    if len(today) >= state.get_setting("uploads_per_day"):
        raise refuse("uploadLimitExceeded", "The user has exceeded the number of videos they may upload.")
    size = parse_whole_number(call.headers.get("x-upload-content-length", ""))
    mime = call.headers.get("x-upload-content-type", "video/*")
    number = f"AH{derive_secret('youtube', state.account.handle, str(state.next_number()), 40)}"
    body = {"snippet": snippet, "status": status, "size": size, "mime": mime}
    state.add(SESSION, number, body | {"received": 0})
    location = f"{call.url}/upload/youtube/v3/videos?uploadType=resumable&upload_id={number}"
    return Reply(200, headers={"Location": location, "X-GUploader-UploadID": number})


def put_bytes(call: SandboxCall, state: NetworkState) -> Reply:
    session = find_session(call, state)
    if "video" in session.body:
        return reply_finished(state, session)
    first, last, total = parse_range(call)
    if session.body["size"] not in (None, total) or last - first + 1 != len(call.body) or last >= total:
        raise refuse("badRequest", "The bytes do not fit the given range.")
    if last + 1 < total and len(call.body) % PIECE:
        raise refuse("badRequest", "All but the last piece must be multiples of 256 KiB.")
    if first != session.body["received"]:
        return reply_incomplete(session.body["received"])
    state.add_piece(session.id, first, call.body)
    state.update(SESSION, session.id, received=last + 1)
    if last + 1 < total:
        return reply_incomplete(last + 1)
    return make_video(state, session)


def get_upload_status(call: SandboxCall, state: NetworkState) -> Reply:
    session = find_session(call, state)
    return reply_finished(state, session) if "video" in session.body else reply_incomplete(session.body["received"])


def parse_range(call: SandboxCall) -> tuple[int, int, int]:
    """Return the byte range of the upload; without a Content-Range header, the whole file."""
    header = call.headers.get("content-range")
    if header is None:
        return 0, len(call.body) - 1, len(call.body)
    found = RANGE.fullmatch(header)
    if not found or not found["first"] or found["total"] == "*":
        raise refuse("badRequest", f"Content-Range {header} cannot be understood.")
    return int(found["first"]), int(found["last"]), int(found["total"])


def find_session(call: SandboxCall, state: NetworkState) -> StoredObject:
    """Return the upload session. Anybody who knows its URL may use it."""
    session = state.find(SESSION, call.text("upload_id"))
    if session is None or state.has_elapsed(session.kept_at, "session_seconds"):
        raise RequestRefused(NETWORK.reply_not_found())
    state.caller = state.find_account(session.account)
    return session


def delete_session(call: SandboxCall, state: NetworkState) -> None:
    state.delete(SESSION, call.text("upload_id"))
    state.delete_pieces(call.text("upload_id"))


def reply_incomplete(received: int) -> Reply:
    return Reply(308, headers={"Range": f"bytes=0-{received - 1}"} if received else {})


def reply_finished(state: NetworkState, session: StoredObject) -> Reply:
    video = state.find(VIDEO, session.body["video"])
    if video is None:
        raise RequestRefused(NETWORK.reply_not_found())
    return Reply(200, render(state, video, ("snippet", "status")))


def make_video(state: NetworkState, session: StoredObject) -> Reply:
    file = state.store_media(SandboxFile(session.body["mime"], state.join_pieces(session.id)))
    number = derive_secret("youtube", state.account.handle, str(state.next_number()), 11)
    others = state.list_objects(VIDEO, state.account.handle, include_hidden=True)
    rejected = bool(state.get_setting("refuses_duplicates")) and any(it.body["file"] == file for it in others)
    body = {"snippet": session.body["snippet"], "status": session.body["status"], "file": file}
    state.add(VIDEO, number, body | {"rejected": rejected}, listed=True)
    state.update(SESSION, session.id, video=number)
    state.delete_pieces(session.id)
    video = state.find(VIDEO, number)
    assert video is not None
    if video.body["status"]["privacyStatus"] == "public" and not rejected:
        publish_video(state, video)
    return Reply(200, render(state, video, ("snippet", "status")))


# Videos


def update_video(call: SandboxCall, state: NetworkState) -> Reply:
    """Update a video. Making a public video public again changes nothing."""
    parts = [part for part in call.text("part").split(",") if part]
    video = state.find_owned(VIDEO, call.text("id"))
    if video is None:
        raise RequestRefused(error(404, "videoNotFound", "The video that you are trying to update cannot be found."))
    was = video.body["status"]["privacyStatus"]
    if "snippet" in parts:
        state.update(VIDEO, video.id, snippet=read_snippet(call, parts))
    if "status" in parts:
        state.update(VIDEO, video.id, status=read_status(call, parts))
    changed = state.find_owned(VIDEO, video.id)
    assert changed is not None
    if changed.body["status"]["privacyStatus"] == "public" and not changed.body["rejected"]:
        if was != "public":
            publish_video(state, changed)
        elif changed.body["snippet"] != video.body["snippet"]:
            publish_video(state, changed, kind="edit")
    return Reply(200, render(state, changed, parts))


def publish_video(state: NetworkState, video: StoredObject, kind: str = "post") -> None:
    snippet = video.body["snippet"]
    text, title = snippet.get("description", ""), snippet["title"]
    state.publish(video.id, text, media=[video.body["file"]], title=title, kind=kind)


def list_videos(call: SandboxCall, state: NetworkState) -> Reply:
    found = [state.find_owned(VIDEO, name) for name in call.text("id").split(",")]
    parts = call.text("part").split(",")
    return Reply(200, render_list("youtube#videoListResponse", [render(state, it, parts) for it in found if it]))


def render(state: NetworkState, video: StoredObject, parts: Any) -> dict[str, Any]:
    ready = state.has_elapsed(video.kept_at, "processing_seconds")
    upload_state: dict[str, Any] = {"uploadStatus": "processed" if ready else "uploaded"}
    if video.body["rejected"]:
        upload_state = {"uploadStatus": "rejected", "rejectionReason": "duplicate"}
    every = {
        "snippet": video.body["snippet"] | render_channel(state.account) | {"publishedAt": format_time(video.kept_at)},
        "status": video.body["status"] | upload_state,
        "processingDetails": {"processingStatus": "succeeded" if ready else "processing"},
    }
    return {"kind": "youtube#video", "etag": video.id, "id": video.id} | {
        name: value for name, value in every.items() if name in parts
    }


def read_snippet(call: SandboxCall, parts: list[str]) -> dict[str, Any]:
    fields = read_part(call, parts, "snippet", "title", "description", "tags", "categoryId", "defaultLanguage",
                        "defaultAudioLanguage")  # fmt: skip
    title, description, tags = fields.get("title", ""), fields.get("description", ""), fields.get("tags", [])
    if not isinstance(title, str) or not title.strip() or len(title) > LONGEST_TITLE or set("<>") & set(title):
        raise refuse("invalidTitle", "The request metadata specifies an invalid or empty video title.")
    if len(str(description).encode()) > MOST_BYTES_OF_DESCRIPTION or set("<>") & set(str(description)):
        raise refuse("invalidDescription", "The request metadata specifies an invalid video description.")
    if not isinstance(tags, list) or sum(len(str(tag)) for tag in tags) > MOST_CHARACTERS_OF_TAGS:
        raise refuse("invalidTags", "The request metadata specifies invalid video keywords.")
    if parse_whole_number(str(fields.get("categoryId", "22"))) is None:
        raise refuse("invalidCategoryId", "The snippet.categoryId property specifies an invalid category ID.")
    return dict(fields)


def read_status(call: SandboxCall, parts: list[str]) -> dict[str, Any]:
    fields = read_part(call, parts, "status", "privacyStatus", "publishAt", "selfDeclaredMadeForKids", "embeddable",
                        "license", "publicStatsViewable", "containsSyntheticMedia")  # fmt: skip
    if fields.get("privacyStatus", "public") not in PRIVACY:
        raise refuse("badRequest", "status.privacyStatus is private, unlisted or public.")
    return {"privacyStatus": "public", **fields}


def read_part(call: SandboxCall, parts: list[str], name: str, *known: str) -> Mapping[str, Any]:
    fields = call.params.get(name, {})
    if name in call.params and name not in parts:
        raise refuse("unexpectedPart", f"{name} is in the body but not among the parts.")
    if not isinstance(fields, dict) or set(fields) - set(known):
        raise refuse("badRequest", f'Invalid JSON payload received. Unknown name in "{name}"')
    return fields


# The channel


def list_channels(call: SandboxCall, state: NetworkState) -> Reply:
    if not call.is_true("mine"):
        raise refuse("badRequest", "This sandbox shows only the caller's own channel.")
    account = state.account
    every = {
        "contentDetails": {"relatedPlaylists": {"likes": "", "uploads": build_playlist_id(account)}},
        "snippet": {"title": account.handle.title(), "customUrl": f"@{account.handle}"},
    }
    parts = call.text("part").split(",")
    channel = {"kind": "youtube#channel", "id": account.remote_id} | {
        name: value for name, value in every.items() if name in parts
    }
    return Reply(200, render_list("youtube#channelListResponse", [channel]))


def list_playlist(call: SandboxCall, state: NetworkState) -> Reply:
    """List the uploads, the newest first. Their owner sees private ones too."""
    if call.text("playlistId") != build_playlist_id(state.account):
        raise RequestRefused(error(404, "playlistNotFound", "The playlist cannot be found.", "NOT_FOUND"))
    many, start = parse_whole_number(call.text("maxResults", "5")), parse_whole_number(call.text("pageToken", "0"))
    if many is None or start is None or many > 50:
        raise refuse("badRequest", "maxResults is at most 50.")
    found = state.list_objects(VIDEO, state.account.handle)
    parts, end = call.text("part").split(","), start + many
    items = [playlist_item(state, it, parts) for it in found[start:end]]
    body = render_list("youtube#playlistItemListResponse", items)
    return Reply(200, body | ({"nextPageToken": str(end)} if end < len(found) else {}))


def playlist_item(state: NetworkState, video: StoredObject, parts: list[str]) -> dict[str, Any]:
    resource = {"kind": "youtube#video", "videoId": video.id}
    snippet = {name: video.body["snippet"].get(name, "") for name in ("title", "description")}
    every = {
        "snippet": snippet | {
            "publishedAt": format_time(video.kept_at), "resourceId": resource,
            "playlistId": build_playlist_id(state.account)
        },
        "contentDetails": {"videoId": video.id, "videoPublishedAt": format_time(video.kept_at)},
        "status": {"privacyStatus": video.body["status"]["privacyStatus"]},
    }  # fmt: skip
    return {"kind": "youtube#playlistItem", "id": f"UU{video.id}"} | {
        name: value for name, value in every.items() if name in parts
    }


def render_list(kind: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "items": items, "pageInfo": {"totalResults": len(items), "resultsPerPage": len(items)}}


def build_playlist_id(account: SandboxAccount) -> str:
    return "UU" + account.remote_id.removeprefix("UC")


def render_channel(account: SandboxAccount) -> dict[str, str]:
    return {"channelId": account.remote_id, "channelTitle": account.handle.title()}


def format_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


# Tokens


def renew_token(call: SandboxCall, state: NetworkState) -> Reply:
    """Renew the access token. Google's refresh tokens stay valid."""
    token = state.find_token(call.text("refresh_token"))
    if call.text("grant_type") != "refresh_token":
        return Reply(400, {"error": "unsupported_grant_type", "error_description": "Invalid grant_type"})
    if token is None or token.kind != "refresh" or state.is_expired(token):
        return Reply(400, {"error": "invalid_grant", "error_description": "Token has been expired or revoked."})
    account = state.find_account(token.account)
    assert account is not None
    if any(call.text(name) != account.credentials[name] for name in ("client_id", "client_secret")):
        return Reply(401, {"error": "invalid_client", "error_description": "The OAuth client was not found."})
    lifetime = timedelta(seconds=state.get_setting("access_seconds"))
    access = derive_secret("youtube", account.handle, str(state.next_number()), 60)
    state.issue_token(access, "access", account.handle, lifetime)
    return Reply(200, {
        "access_token": access, "expires_in": int(lifetime.total_seconds()), "token_type": "Bearer",
        "scope": "https://www.googleapis.com/auth/youtube",
    })  # fmt: skip


def is_status_query(call: SandboxCall) -> bool:
    return call.headers.get("content-range", "").startswith("bytes */")


EVERYWHERE = ("alt", "key", "prettyPrint", "fields", "quotaUser", "part")
UPLOAD, API = "/upload/youtube/v3/videos", "/youtube/v3"
SandboxYouTube.endpoints = (
    SandboxEndpoint(
        name="upload_start", methods=("POST",), path=UPLOAD, act=start_upload,
        takes=(*EVERYWHERE, "uploadType", "notifySubscribers", "snippet", "status"),
    ),
    SandboxEndpoint(
        name="upload_status", methods=("PUT",), path=UPLOAD, act=get_upload_status, raw=True, open=True, reads=True,
        when=is_status_query, gone=delete_session, takes=(*EVERYWHERE, "uploadType", "upload_id"),
    ),
    SandboxEndpoint(
        name="upload_bytes", methods=("PUT",), path=UPLOAD, act=put_bytes, raw=True, open=True, listed=True,
        gone=delete_session, takes=(*EVERYWHERE, "uploadType", "upload_id"),
    ),
    SandboxEndpoint(
        name="videos_update", methods=("PUT",), path=f"{API}/videos", act=update_video, visible=True,
        takes=(*EVERYWHERE, "id", "snippet", "status"),
    ),
    SandboxEndpoint(
        name="videos_list", methods=("GET",), path=f"{API}/videos", act=list_videos, reads=True,
        takes=(*EVERYWHERE, "id"),
    ),
    SandboxEndpoint(
        name="channels_list", methods=("GET",), path=f"{API}/channels", act=list_channels, reads=True,
        takes=(*EVERYWHERE, "mine"),
    ),
    SandboxEndpoint(
        name="playlist_items", methods=("GET",), path=f"{API}/playlistItems", act=list_playlist, reads=True,
        takes=(*EVERYWHERE, "playlistId", "maxResults", "pageToken"),
    ),
    SandboxEndpoint(
        name="token", methods=("POST",), path="/token", act=renew_token, open=True, refreshes=True,
        takes=("grant_type", "refresh_token", "client_id", "client_secret"),
    ),
)  # fmt: skip
NETWORK = SandboxYouTube()
