"""One valid call for every endpoint of every network, so that a sweep can try every fault at every endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp

from tests.sandbox.sandbox_client import SandboxClient, SandboxResponse

IMAGE = b"\xff\xd8 a picture"
TID = "3lq2abcdefg2h"


@dataclass(frozen=True)
class ScriptedCall:
    """A request, ready to be sent."""

    method: str
    path: str
    options: dict[str, Any] = field(default_factory=dict)
    form: Callable[[], aiohttp.FormData] | None = None  # made anew for each sending

    async def send(self, sandbox: SandboxClient) -> SandboxResponse:
        data = {"data": self.form()} if self.form else {}
        return await sandbox.call(self.method, self.path, **self.options, **data)


Prepare: TypeAlias = Callable[[SandboxClient], Awaitable[ScriptedCall]]
SCRIPTED_CALLS: dict[tuple[str, str], Prepare] = {}


def scripted_call(network: str, endpoint: str) -> Callable[[Prepare], Prepare]:
    def keep(prepare: Prepare) -> Prepare:
        SCRIPTED_CALLS[network, endpoint] = prepare
        return prepare

    return keep


def bearer(token: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


def make_image_form(name: str, **rest: str) -> Callable[[], aiohttp.FormData]:
    def make() -> aiohttp.FormData:
        form = aiohttp.FormData(rest)
        form.add_field(name, IMAGE, filename="view.jpg", content_type="image/jpeg")
        return form

    return make


# Bluesky

XRPC = "/bluesky/xrpc/com.atproto"


async def session(sandbox: SandboxClient) -> dict[str, Any]:
    credentials = (await sandbox.account("bluesky"))["credentials"]
    rows: dict[str, Any] = (await sandbox.post(f"{XRPC}.server.createSession", credentials)).json
    return rows


def bluesky_record(did: str) -> dict[str, Any]:
    record = {"$type": "app.bsky.feed.post", "text": "hello", "createdAt": "2026-11-16T08:00:00Z"}
    return {"repo": did, "collection": "app.bsky.feed.post", "rkey": TID, "record": record}


@scripted_call("bluesky", "createSession")
async def create_session(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall(
        "POST", f"{XRPC}.server.createSession", {"json": (await sandbox.account("bluesky"))["credentials"]}
    )


@scripted_call("bluesky", "refreshSession")
async def refresh_session(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall("POST", f"{XRPC}.server.refreshSession", bearer((await session(sandbox))["refreshJwt"]))


@scripted_call("bluesky", "uploadBlob")
async def upload_blob(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall(
        "POST", f"{XRPC}.repo.uploadBlob", bearer((await session(sandbox))["accessJwt"]) | {"data": IMAGE}
    )


@scripted_call("bluesky", "putRecord")
async def put_record(sandbox: SandboxClient) -> ScriptedCall:
    ours = await session(sandbox)
    body = bluesky_record(ours["did"]) | {"swapRecord": None}
    return ScriptedCall("POST", f"{XRPC}.repo.putRecord", bearer(ours["accessJwt"]) | {"json": body})


@scripted_call("bluesky", "createRecord")
async def create_record(sandbox: SandboxClient) -> ScriptedCall:
    ours = await session(sandbox)
    body = {name: value for name, value in bluesky_record(ours["did"]).items() if name != "rkey"}
    return ScriptedCall("POST", f"{XRPC}.repo.createRecord", bearer(ours["accessJwt"]) | {"json": body})


@scripted_call("bluesky", "getRecord")
async def get_record(sandbox: SandboxClient) -> ScriptedCall:
    put = await put_record(sandbox)
    await put.send(sandbox)
    query = {name: put.options["json"][name] for name in ("repo", "collection", "rkey")}
    return ScriptedCall("GET", f"{XRPC}.repo.getRecord", {"params": query})


@scripted_call("bluesky", "listRecords")
async def list_records(sandbox: SandboxClient) -> ScriptedCall:
    rows = await get_record(sandbox)
    query = {name: rows.options["params"][name] for name in ("repo", "collection")}
    return ScriptedCall("GET", f"{XRPC}.repo.listRecords", {"params": query})


# Mastodon


async def mastodon(sandbox: SandboxClient) -> tuple[dict[str, Any], dict[str, Any]]:
    account = await sandbox.account("mastodon")
    return account, bearer(account["credentials"]["access_token"])


async def mastodon_status(sandbox: SandboxClient) -> tuple[dict[str, Any], dict[str, Any], str]:
    account, auth = await mastodon(sandbox)
    response = await sandbox.post("/mastodon/api/v1/statuses", {"status": "hello"}, **auth)
    return account, auth, response.json["id"]


@scripted_call("mastodon", "media")
async def media(sandbox: SandboxClient) -> ScriptedCall:
    _, auth = await mastodon(sandbox)
    return ScriptedCall("POST", "/mastodon/api/v2/media", auth, make_image_form("file", description="a view"))


@scripted_call("mastodon", "media_status")
async def media_status(sandbox: SandboxClient) -> ScriptedCall:
    upload = await media(sandbox)
    name = (await upload.send(sandbox)).json["id"]
    return ScriptedCall("GET", f"/mastodon/api/v1/media/{name}", upload.options)


@scripted_call("mastodon", "statuses")
async def statuses(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall(
        "POST", "/mastodon/api/v1/statuses", (await mastodon(sandbox))[1] | {"json": {"status": "hello"}}
    )


@scripted_call("mastodon", "verify_credentials")
async def verify_credentials(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall("GET", "/mastodon/api/v1/accounts/verify_credentials", (await mastodon(sandbox))[1])


@scripted_call("mastodon", "account_statuses")
async def account_statuses(sandbox: SandboxClient) -> ScriptedCall:
    account, auth, _ = await mastodon_status(sandbox)
    return ScriptedCall("GET", f"/mastodon/api/v1/accounts/{account['remote_id']}/statuses", auth)


@scripted_call("mastodon", "status")
async def status(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, name = await mastodon_status(sandbox)
    return ScriptedCall("GET", f"/mastodon/api/v1/statuses/{name}", auth)


@scripted_call("mastodon", "status_source")
async def status_source(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, name = await mastodon_status(sandbox)
    return ScriptedCall("GET", f"/mastodon/api/v1/statuses/{name}/source", auth)


@scripted_call("mastodon", "instance")
async def instance(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall("GET", "/mastodon/api/v2/instance")


@scripted_call("mastodon", "nodeinfo_links")
async def nodeinfo_links(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall("GET", "/mastodon/.well-known/nodeinfo")


@scripted_call("mastodon", "nodeinfo")
async def nodeinfo(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall("GET", "/mastodon/nodeinfo/2.0")


# Telegram


async def telegram(sandbox: SandboxClient, name: str, **body: Any) -> ScriptedCall:
    credentials = (await sandbox.account("telegram"))["credentials"]
    path = f"/telegram/bot{credentials['bot_token']}/{name}"
    return ScriptedCall("POST", path, {"json": body | ({"chat_id": credentials["chat_id"]} if name != "getMe" else {})})


@scripted_call("telegram", "sendMessage")
async def send_message(sandbox: SandboxClient) -> ScriptedCall:
    return await telegram(sandbox, "sendMessage", text="hello")


@scripted_call("telegram", "sendPhoto")
async def send_photo(sandbox: SandboxClient) -> ScriptedCall:
    return await telegram(sandbox, "sendPhoto", photo=f"{sandbox.url}/_sandbox/media/sample.jpg", caption="hello")


@scripted_call("telegram", "sendMediaGroup")
async def send_media_group(sandbox: SandboxClient) -> ScriptedCall:
    pictures = [{"type": "photo", "media": f"{sandbox.url}/_sandbox/media/sample.{end}"} for end in ("jpg", "png")]
    return await telegram(sandbox, "sendMediaGroup", media=pictures)


@scripted_call("telegram", "getMe")
async def get_me(sandbox: SandboxClient) -> ScriptedCall:
    return await telegram(sandbox, "getMe")


@scripted_call("telegram", "getChat")
async def get_chat(sandbox: SandboxClient) -> ScriptedCall:
    return await telegram(sandbox, "getChat")


# Instagram


async def instagram(sandbox: SandboxClient) -> tuple[str, dict[str, Any]]:
    """Return the path prefix of an account and its token. Containers are ready at once."""
    await sandbox.post("/_sandbox/settings", {"instagram_container_seconds": 0})
    account = await sandbox.account("instagram")
    return f"/instagram/v24.0/{account['remote_id']}", bearer(account["credentials"]["access_token"])


async def instagram_container(sandbox: SandboxClient) -> tuple[str, dict[str, Any], str]:
    path, auth = await instagram(sandbox)
    body = {"image_url": f"{sandbox.url}/_sandbox/media/sample.jpg", "caption": "hello"}
    response = await sandbox.post(f"{path}/media", body, **auth)
    return path, auth, response.json["id"]


async def instagram_media(sandbox: SandboxClient) -> tuple[str, dict[str, Any], str]:
    path, auth, container = await instagram_container(sandbox)
    response = await sandbox.post(f"{path}/media_publish", {"creation_id": container}, **auth)
    return path, auth, response.json["id"]


@scripted_call("instagram", "refresh_access_token")
async def refresh_access_token(sandbox: SandboxClient) -> ScriptedCall:
    token = (await sandbox.account("instagram"))["credentials"]["access_token"]
    query = {"grant_type": "ig_refresh_token", "access_token": token}
    return ScriptedCall("GET", "/instagram/refresh_access_token", {"params": query})


@scripted_call("instagram", "media")
async def create_container(sandbox: SandboxClient) -> ScriptedCall:
    path, auth = await instagram(sandbox)
    body = {"image_url": f"{sandbox.url}/_sandbox/media/sample.jpg", "caption": "hello"}
    return ScriptedCall("POST", f"{path}/media", auth | {"data": body})


@scripted_call("instagram", "container_status")
async def container_status(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, container = await instagram_container(sandbox)
    return ScriptedCall("GET", f"/instagram/{container}", auth | {"params": {"fields": "status_code,status"}})


@scripted_call("instagram", "media_publish")
async def media_publish(sandbox: SandboxClient) -> ScriptedCall:
    path, auth, container = await instagram_container(sandbox)
    return ScriptedCall("POST", f"{path}/media_publish", auth | {"json": {"creation_id": container}})


@scripted_call("instagram", "content_publishing_limit")
async def content_publishing_limit(sandbox: SandboxClient) -> ScriptedCall:
    path, auth = await instagram(sandbox)
    return ScriptedCall("GET", f"{path}/content_publishing_limit", auth | {"params": {"fields": "quota_usage,config"}})


@scripted_call("instagram", "media_list")
async def media_list(sandbox: SandboxClient) -> ScriptedCall:
    path, auth, _ = await instagram_media(sandbox)
    return ScriptedCall("GET", f"{path}/media", auth | {"params": {"fields": "id,caption,timestamp"}})


@scripted_call("instagram", "media_node")
async def media_node(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, media = await instagram_media(sandbox)
    return ScriptedCall("GET", f"/instagram/{media}", auth | {"params": {"fields": "permalink"}})


@scripted_call("instagram", "comments_list")
async def comments_list(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, media = await instagram_media(sandbox)
    return ScriptedCall("GET", f"/instagram/{media}/comments", auth)


@scripted_call("instagram", "comments_post")
async def comments_post(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, media = await instagram_media(sandbox)
    return ScriptedCall("POST", f"/instagram/{media}/comments", auth | {"json": {"message": "first"}})


# X


async def x(sandbox: SandboxClient) -> tuple[dict[str, Any], dict[str, Any]]:
    account = await sandbox.account("x")
    return account, bearer(account["credentials"]["access_token"])


async def x_upload(sandbox: SandboxClient) -> tuple[dict[str, Any], str]:
    _, auth = await x(sandbox)
    body = {"media_type": "image/jpeg", "total_bytes": len(IMAGE), "media_category": "tweet_image"}
    response = await sandbox.post("/x/2/media/upload/initialize", body, **auth)
    return auth, response.json["data"]["id"]


async def x_appended(sandbox: SandboxClient) -> tuple[dict[str, Any], str]:
    auth, number = await x_upload(sandbox)
    appending = ScriptedCall(
        "POST", f"/x/2/media/upload/{number}/append", auth, make_image_form("media", segment_index="0")
    )
    assert (await appending.send(sandbox)).status == 200
    return auth, number


@scripted_call("x", "tweets")
async def tweets(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall("POST", "/x/2/tweets", (await x(sandbox))[1] | {"json": {"text": "hello"}})


@scripted_call("x", "user_tweets")
async def user_tweets(sandbox: SandboxClient) -> ScriptedCall:
    account, auth = await x(sandbox)
    await sandbox.post("/x/2/tweets", {"text": "hello"}, **auth)
    return ScriptedCall(
        "GET", f"/x/2/users/{account['remote_id']}/tweets", auth | {"params": {"tweet.fields": "created_at"}}
    )


@scripted_call("x", "me")
async def me(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall("GET", "/x/2/users/me", (await x(sandbox))[1])


@scripted_call("x", "media_initialize")
async def media_initialize(sandbox: SandboxClient) -> ScriptedCall:
    body = {"media_type": "image/jpeg", "total_bytes": len(IMAGE)}
    return ScriptedCall("POST", "/x/2/media/upload/initialize", (await x(sandbox))[1] | {"json": body})


@scripted_call("x", "media_append")
async def media_append(sandbox: SandboxClient) -> ScriptedCall:
    auth, number = await x_upload(sandbox)
    return ScriptedCall("POST", f"/x/2/media/upload/{number}/append", auth, make_image_form("media", segment_index="0"))


@scripted_call("x", "media_finalize")
async def media_finalize(sandbox: SandboxClient) -> ScriptedCall:
    auth, number = await x_appended(sandbox)
    return ScriptedCall("POST", f"/x/2/media/upload/{number}/finalize", auth)


@scripted_call("x", "media_status")
async def x_media_status(sandbox: SandboxClient) -> ScriptedCall:
    auth, number = await x_appended(sandbox)
    return ScriptedCall("GET", "/x/2/media/upload", auth | {"params": {"command": "STATUS", "media_id": number}})


@scripted_call("x", "token")
async def x_token(sandbox: SandboxClient) -> ScriptedCall:
    credentials = (await sandbox.account("x"))["credentials"]
    form = {name: credentials[name] for name in ("refresh_token", "client_id")}
    return ScriptedCall("POST", "/x/2/oauth2/token", {"data": form | {"grant_type": "refresh_token"}})


# YouTube

FILM = b"a film " * 100
UPLOADS = "/youtube/upload/youtube/v3/videos?uploadType=resumable&part=snippet,status"
VIDEO = {"snippet": {"title": "A view", "description": "hello"}, "status": {"privacyStatus": "private"}}


async def youtube(sandbox: SandboxClient) -> tuple[dict[str, Any], dict[str, Any]]:
    account = await sandbox.account("youtube")
    return account, bearer(account["credentials"]["access_token"])


async def youtube_session(sandbox: SandboxClient) -> tuple[dict[str, Any], dict[str, Any], str]:
    account, auth = await youtube(sandbox)
    response = await sandbox.post(UPLOADS, VIDEO, **auth)
    return account, auth, response.headers["Location"].removeprefix(sandbox.url)


async def youtube_video(sandbox: SandboxClient) -> tuple[dict[str, Any], dict[str, Any], str]:
    account, auth, session = await youtube_session(sandbox)
    response = await sandbox.call("PUT", session, data=FILM)
    return account, auth, response.json["id"]


@scripted_call("youtube", "upload_start")
async def upload_start(sandbox: SandboxClient) -> ScriptedCall:
    return ScriptedCall("POST", UPLOADS, (await youtube(sandbox))[1] | {"json": VIDEO})


@scripted_call("youtube", "upload_status")
async def upload_status(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, session = await youtube_session(sandbox)
    await sandbox.call("PUT", session, data=FILM)
    return ScriptedCall("PUT", session, {"headers": auth["headers"] | {"Content-Range": f"bytes */{len(FILM)}"}})


@scripted_call("youtube", "upload_bytes")
async def upload_bytes(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, session = await youtube_session(sandbox)
    return ScriptedCall("PUT", session, auth | {"data": FILM})


@scripted_call("youtube", "videos_update")
async def videos_update(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, video = await youtube_video(sandbox)
    body = {"id": video, "status": {"privacyStatus": "public"}}
    return ScriptedCall("PUT", "/youtube/youtube/v3/videos?part=status", auth | {"json": body})


@scripted_call("youtube", "videos_list")
async def videos_list(sandbox: SandboxClient) -> ScriptedCall:
    _, auth, video = await youtube_video(sandbox)
    return ScriptedCall("GET", f"/youtube/youtube/v3/videos?part=status&id={video}", auth)


@scripted_call("youtube", "channels_list")
async def channels_list(sandbox: SandboxClient) -> ScriptedCall:
    _, auth = await youtube(sandbox)
    return ScriptedCall("GET", "/youtube/youtube/v3/channels?part=contentDetails&mine=true", auth)


@scripted_call("youtube", "playlist_items")
async def playlist_items(sandbox: SandboxClient) -> ScriptedCall:
    account, auth, _ = await youtube_video(sandbox)
    playlist = account["remote_id"].replace("UC", "UU", 1)
    return ScriptedCall("GET", f"/youtube/youtube/v3/playlistItems?part=snippet&playlistId={playlist}", auth)


@scripted_call("youtube", "token")
async def youtube_token(sandbox: SandboxClient) -> ScriptedCall:
    credentials = (await sandbox.account("youtube"))["credentials"]
    form = {name: credentials[name] for name in ("refresh_token", "client_id", "client_secret")}
    return ScriptedCall("POST", "/youtube/token", {"data": form | {"grant_type": "refresh_token"}})
