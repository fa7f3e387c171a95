"""For every endpoint of every network a call that works, so that a sweep can try anything on any of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp

from tests.sandbox.running import Answered, Sandbox

PICTURE = b"\xff\xd8 a picture"
TID = "3lq2abcdefg2h"


@dataclass(frozen=True)
class Line:
    """A request, ready to be sent."""

    method: str
    path: str
    options: dict[str, Any] = field(default_factory=dict)
    form: Callable[[], aiohttp.FormData] | None = None  # made anew for each sending

    async def send(self, sandbox: Sandbox) -> Answered:
        data = {"data": self.form()} if self.form else {}
        return await sandbox.call(self.method, self.path, **self.options, **data)


Prepare: TypeAlias = Callable[[Sandbox], Awaitable[Line]]
LINES: dict[tuple[str, str], Prepare] = {}


def line(network: str, endpoint: str) -> Callable[[Prepare], Prepare]:
    def keep(prepare: Prepare) -> Prepare:
        LINES[network, endpoint] = prepare
        return prepare

    return keep


def bearer(token: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


def picture_form(name: str, **rest: str) -> Callable[[], aiohttp.FormData]:
    def make() -> aiohttp.FormData:
        form = aiohttp.FormData(rest)
        form.add_field(name, PICTURE, filename="view.jpg", content_type="image/jpeg")
        return form

    return make


# Bluesky

XRPC = "/bluesky/xrpc/com.atproto"


async def session(sandbox: Sandbox) -> dict[str, Any]:
    credentials = (await sandbox.account("bluesky"))["credentials"]
    found: dict[str, Any] = (await sandbox.post(f"{XRPC}.server.createSession", credentials)).json
    return found


def bluesky_record(did: str) -> dict[str, Any]:
    record = {"$type": "app.bsky.feed.post", "text": "hello", "createdAt": "2026-11-16T08:00:00Z"}
    return {"repo": did, "collection": "app.bsky.feed.post", "rkey": TID, "record": record}


@line("bluesky", "createSession")
async def create_session(sandbox: Sandbox) -> Line:
    return Line("POST", f"{XRPC}.server.createSession", {"json": (await sandbox.account("bluesky"))["credentials"]})


@line("bluesky", "refreshSession")
async def refresh_session(sandbox: Sandbox) -> Line:
    return Line("POST", f"{XRPC}.server.refreshSession", bearer((await session(sandbox))["refreshJwt"]))


@line("bluesky", "uploadBlob")
async def upload_blob(sandbox: Sandbox) -> Line:
    return Line("POST", f"{XRPC}.repo.uploadBlob", bearer((await session(sandbox))["accessJwt"]) | {"data": PICTURE})


@line("bluesky", "putRecord")
async def put_record(sandbox: Sandbox) -> Line:
    ours = await session(sandbox)
    body = bluesky_record(ours["did"]) | {"swapRecord": None}
    return Line("POST", f"{XRPC}.repo.putRecord", bearer(ours["accessJwt"]) | {"json": body})


@line("bluesky", "createRecord")
async def create_record(sandbox: Sandbox) -> Line:
    ours = await session(sandbox)
    body = {name: value for name, value in bluesky_record(ours["did"]).items() if name != "rkey"}
    return Line("POST", f"{XRPC}.repo.createRecord", bearer(ours["accessJwt"]) | {"json": body})


@line("bluesky", "getRecord")
async def get_record(sandbox: Sandbox) -> Line:
    put = await put_record(sandbox)
    await put.send(sandbox)
    query = {name: put.options["json"][name] for name in ("repo", "collection", "rkey")}
    return Line("GET", f"{XRPC}.repo.getRecord", {"params": query})


@line("bluesky", "listRecords")
async def list_records(sandbox: Sandbox) -> Line:
    found = await get_record(sandbox)
    query = {name: found.options["params"][name] for name in ("repo", "collection")}
    return Line("GET", f"{XRPC}.repo.listRecords", {"params": query})


# Mastodon


async def mastodon(sandbox: Sandbox) -> tuple[dict[str, Any], dict[str, Any]]:
    account = await sandbox.account("mastodon")
    return account, bearer(account["credentials"]["access_token"])


async def mastodon_status(sandbox: Sandbox) -> tuple[dict[str, Any], dict[str, Any], str]:
    account, auth = await mastodon(sandbox)
    answer = await sandbox.post("/mastodon/api/v1/statuses", {"status": "hello"}, **auth)
    return account, auth, answer.json["id"]


@line("mastodon", "media")
async def media(sandbox: Sandbox) -> Line:
    _, auth = await mastodon(sandbox)
    return Line("POST", "/mastodon/api/v2/media", auth, picture_form("file", description="a view"))


@line("mastodon", "media_status")
async def media_status(sandbox: Sandbox) -> Line:
    upload = await media(sandbox)
    name = (await upload.send(sandbox)).json["id"]
    return Line("GET", f"/mastodon/api/v1/media/{name}", upload.options)


@line("mastodon", "statuses")
async def statuses(sandbox: Sandbox) -> Line:
    return Line("POST", "/mastodon/api/v1/statuses", (await mastodon(sandbox))[1] | {"json": {"status": "hello"}})


@line("mastodon", "verify_credentials")
async def verify_credentials(sandbox: Sandbox) -> Line:
    return Line("GET", "/mastodon/api/v1/accounts/verify_credentials", (await mastodon(sandbox))[1])


@line("mastodon", "account_statuses")
async def account_statuses(sandbox: Sandbox) -> Line:
    account, auth, _ = await mastodon_status(sandbox)
    return Line("GET", f"/mastodon/api/v1/accounts/{account['remote_id']}/statuses", auth)


@line("mastodon", "status")
async def status(sandbox: Sandbox) -> Line:
    _, auth, name = await mastodon_status(sandbox)
    return Line("GET", f"/mastodon/api/v1/statuses/{name}", auth)


@line("mastodon", "status_source")
async def status_source(sandbox: Sandbox) -> Line:
    _, auth, name = await mastodon_status(sandbox)
    return Line("GET", f"/mastodon/api/v1/statuses/{name}/source", auth)


@line("mastodon", "instance")
async def instance(sandbox: Sandbox) -> Line:
    return Line("GET", "/mastodon/api/v2/instance")


# Telegram


async def telegram(sandbox: Sandbox, name: str, **body: Any) -> Line:
    credentials = (await sandbox.account("telegram"))["credentials"]
    path = f"/telegram/bot{credentials['bot_token']}/{name}"
    return Line("POST", path, {"json": body | ({"chat_id": credentials["chat_id"]} if name != "getMe" else {})})


@line("telegram", "sendMessage")
async def send_message(sandbox: Sandbox) -> Line:
    return await telegram(sandbox, "sendMessage", text="hello")


@line("telegram", "sendPhoto")
async def send_photo(sandbox: Sandbox) -> Line:
    return await telegram(sandbox, "sendPhoto", photo=f"{sandbox.url}/_sandbox/media/sample.jpg", caption="hello")


@line("telegram", "sendMediaGroup")
async def send_media_group(sandbox: Sandbox) -> Line:
    pictures = [{"type": "photo", "media": f"{sandbox.url}/_sandbox/media/sample.{end}"} for end in ("jpg", "png")]
    return await telegram(sandbox, "sendMediaGroup", media=pictures)


@line("telegram", "getMe")
async def get_me(sandbox: Sandbox) -> Line:
    return await telegram(sandbox, "getMe")


@line("telegram", "getChat")
async def get_chat(sandbox: Sandbox) -> Line:
    return await telegram(sandbox, "getChat")


# Instagram


async def instagram(sandbox: Sandbox) -> tuple[str, dict[str, Any]]:
    """Where the account's own paths begin, and its token. Containers are ready at once."""
    await sandbox.post("/_sandbox/settings", {"instagram_container_seconds": 0})
    account = await sandbox.account("instagram")
    return f"/instagram/v24.0/{account['remote_id']}", bearer(account["credentials"]["access_token"])


async def instagram_container(sandbox: Sandbox) -> tuple[str, dict[str, Any], str]:
    path, auth = await instagram(sandbox)
    body = {"image_url": f"{sandbox.url}/_sandbox/media/sample.jpg", "caption": "hello"}
    answer = await sandbox.post(f"{path}/media", body, **auth)
    return path, auth, answer.json["id"]


async def instagram_media(sandbox: Sandbox) -> tuple[str, dict[str, Any], str]:
    path, auth, container = await instagram_container(sandbox)
    answer = await sandbox.post(f"{path}/media_publish", {"creation_id": container}, **auth)
    return path, auth, answer.json["id"]


@line("instagram", "refresh_access_token")
async def refresh_access_token(sandbox: Sandbox) -> Line:
    token = (await sandbox.account("instagram"))["credentials"]["access_token"]
    query = {"grant_type": "ig_refresh_token", "access_token": token}
    return Line("GET", "/instagram/refresh_access_token", {"params": query})


@line("instagram", "media")
async def create_container(sandbox: Sandbox) -> Line:
    path, auth = await instagram(sandbox)
    body = {"image_url": f"{sandbox.url}/_sandbox/media/sample.jpg", "caption": "hello"}
    return Line("POST", f"{path}/media", auth | {"data": body})


@line("instagram", "container_status")
async def container_status(sandbox: Sandbox) -> Line:
    _, auth, container = await instagram_container(sandbox)
    return Line("GET", f"/instagram/{container}", auth | {"params": {"fields": "status_code,status"}})


@line("instagram", "media_publish")
async def media_publish(sandbox: Sandbox) -> Line:
    path, auth, container = await instagram_container(sandbox)
    return Line("POST", f"{path}/media_publish", auth | {"json": {"creation_id": container}})


@line("instagram", "content_publishing_limit")
async def content_publishing_limit(sandbox: Sandbox) -> Line:
    path, auth = await instagram(sandbox)
    return Line("GET", f"{path}/content_publishing_limit", auth | {"params": {"fields": "quota_usage,config"}})


@line("instagram", "media_list")
async def media_list(sandbox: Sandbox) -> Line:
    path, auth, _ = await instagram_media(sandbox)
    return Line("GET", f"{path}/media", auth | {"params": {"fields": "id,caption,timestamp"}})


@line("instagram", "media_node")
async def media_node(sandbox: Sandbox) -> Line:
    _, auth, media = await instagram_media(sandbox)
    return Line("GET", f"/instagram/{media}", auth | {"params": {"fields": "permalink"}})


@line("instagram", "comments_list")
async def comments_list(sandbox: Sandbox) -> Line:
    _, auth, media = await instagram_media(sandbox)
    return Line("GET", f"/instagram/{media}/comments", auth)


@line("instagram", "comments_post")
async def comments_post(sandbox: Sandbox) -> Line:
    _, auth, media = await instagram_media(sandbox)
    return Line("POST", f"/instagram/{media}/comments", auth | {"json": {"message": "first"}})


# X


async def x(sandbox: Sandbox) -> tuple[dict[str, Any], dict[str, Any]]:
    account = await sandbox.account("x")
    return account, bearer(account["credentials"]["access_token"])


async def x_upload(sandbox: Sandbox) -> tuple[dict[str, Any], str]:
    _, auth = await x(sandbox)
    body = {"media_type": "image/jpeg", "total_bytes": len(PICTURE), "media_category": "tweet_image"}
    answer = await sandbox.post("/x/2/media/upload/initialize", body, **auth)
    return auth, answer.json["data"]["id"]


async def x_appended(sandbox: Sandbox) -> tuple[dict[str, Any], str]:
    auth, number = await x_upload(sandbox)
    appending = Line("POST", f"/x/2/media/upload/{number}/append", auth, picture_form("media", segment_index="0"))
    assert (await appending.send(sandbox)).status == 200
    return auth, number


@line("x", "tweets")
async def tweets(sandbox: Sandbox) -> Line:
    return Line("POST", "/x/2/tweets", (await x(sandbox))[1] | {"json": {"text": "hello"}})


@line("x", "user_tweets")
async def user_tweets(sandbox: Sandbox) -> Line:
    account, auth = await x(sandbox)
    await sandbox.post("/x/2/tweets", {"text": "hello"}, **auth)
    return Line("GET", f"/x/2/users/{account['remote_id']}/tweets", auth | {"params": {"tweet.fields": "created_at"}})


@line("x", "me")
async def me(sandbox: Sandbox) -> Line:
    return Line("GET", "/x/2/users/me", (await x(sandbox))[1])


@line("x", "media_initialize")
async def media_initialize(sandbox: Sandbox) -> Line:
    body = {"media_type": "image/jpeg", "total_bytes": len(PICTURE)}
    return Line("POST", "/x/2/media/upload/initialize", (await x(sandbox))[1] | {"json": body})


@line("x", "media_append")
async def media_append(sandbox: Sandbox) -> Line:
    auth, number = await x_upload(sandbox)
    return Line("POST", f"/x/2/media/upload/{number}/append", auth, picture_form("media", segment_index="0"))


@line("x", "media_finalize")
async def media_finalize(sandbox: Sandbox) -> Line:
    auth, number = await x_appended(sandbox)
    return Line("POST", f"/x/2/media/upload/{number}/finalize", auth)


@line("x", "media_status")
async def x_media_status(sandbox: Sandbox) -> Line:
    auth, number = await x_appended(sandbox)
    return Line("GET", "/x/2/media/upload", auth | {"params": {"command": "STATUS", "media_id": number}})


@line("x", "token")
async def x_token(sandbox: Sandbox) -> Line:
    credentials = (await sandbox.account("x"))["credentials"]
    form = {name: credentials[name] for name in ("refresh_token", "client_id")}
    return Line("POST", "/x/2/oauth2/token", {"data": form | {"grant_type": "refresh_token"}})


# YouTube

FILM = b"a film " * 100
UPLOADS = "/youtube/upload/youtube/v3/videos?uploadType=resumable&part=snippet,status"
VIDEO = {"snippet": {"title": "A view", "description": "hello"}, "status": {"privacyStatus": "private"}}


async def youtube(sandbox: Sandbox) -> tuple[dict[str, Any], dict[str, Any]]:
    account = await sandbox.account("youtube")
    return account, bearer(account["credentials"]["access_token"])


async def youtube_session(sandbox: Sandbox) -> tuple[dict[str, Any], dict[str, Any], str]:
    account, auth = await youtube(sandbox)
    answer = await sandbox.post(UPLOADS, VIDEO, **auth)
    return account, auth, answer.headers["Location"].removeprefix(sandbox.url)


async def youtube_video(sandbox: Sandbox) -> tuple[dict[str, Any], dict[str, Any], str]:
    account, auth, session = await youtube_session(sandbox)
    answer = await sandbox.call("PUT", session, data=FILM)
    return account, auth, answer.json["id"]


@line("youtube", "upload_start")
async def upload_start(sandbox: Sandbox) -> Line:
    return Line("POST", UPLOADS, (await youtube(sandbox))[1] | {"json": VIDEO})


@line("youtube", "upload_status")
async def upload_status(sandbox: Sandbox) -> Line:
    _, auth, session = await youtube_session(sandbox)
    await sandbox.call("PUT", session, data=FILM)
    return Line("PUT", session, {"headers": auth["headers"] | {"Content-Range": f"bytes */{len(FILM)}"}})


@line("youtube", "upload_bytes")
async def upload_bytes(sandbox: Sandbox) -> Line:
    _, auth, session = await youtube_session(sandbox)
    return Line("PUT", session, auth | {"data": FILM})


@line("youtube", "videos_update")
async def videos_update(sandbox: Sandbox) -> Line:
    _, auth, video = await youtube_video(sandbox)
    body = {"id": video, "status": {"privacyStatus": "public"}}
    return Line("PUT", "/youtube/youtube/v3/videos?part=status", auth | {"json": body})


@line("youtube", "videos_list")
async def videos_list(sandbox: Sandbox) -> Line:
    _, auth, video = await youtube_video(sandbox)
    return Line("GET", f"/youtube/youtube/v3/videos?part=status&id={video}", auth)


@line("youtube", "channels_list")
async def channels_list(sandbox: Sandbox) -> Line:
    _, auth = await youtube(sandbox)
    return Line("GET", "/youtube/youtube/v3/channels?part=contentDetails&mine=true", auth)


@line("youtube", "playlist_items")
async def playlist_items(sandbox: Sandbox) -> Line:
    account, auth, _ = await youtube_video(sandbox)
    playlist = account["remote_id"].replace("UC", "UU", 1)
    return Line("GET", f"/youtube/youtube/v3/playlistItems?part=snippet&playlistId={playlist}", auth)


@line("youtube", "token")
async def youtube_token(sandbox: Sandbox) -> Line:
    credentials = (await sandbox.account("youtube"))["credentials"]
    form = {name: credentials[name] for name in ("refresh_token", "client_id", "client_secret")}
    return Line("POST", "/youtube/token", {"data": form | {"grant_type": "refresh_token"}})
