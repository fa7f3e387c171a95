"""For every endpoint of every network a call that works, so that a sweep can try anything on any of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp

from tests.sandbox.sandboxes import Answered, Sandbox

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
        return await sandbox.ask(self.method, self.path, **self.options, **data)


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
