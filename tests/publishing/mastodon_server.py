"""A Mastodon server that works, servers that fail in each way, and an app that publishes to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from postino import Job, Postino
from postino.config import ChannelConfig, CircuitsConfig, NetworksConfig, PublishingConfig, SandboxConfig
from postino.publishing.post_request import PostRequest
from postino.values.content import Content, MediaRef
from postino.values.post import StoredAccount
from tests.engine.conftest import make_config
from tests.outbound.raw_server import RawServer, Visit

TIMEOUT_FACTOR = 0.02  # of Mastodon's 30 seconds
NUMBERS = count(1)


async def publish(visit: Visit) -> None:
    """Accept every request, as a Mastodon server that works."""
    while True:
        await visit.request()
        number = str(next(NUMBERS))
        status = {"id": number, "url": f"https://there/{number}", "created_at": datetime.now(UTC).isoformat()}
        await visit.answer(body=json.dumps(status).encode())


async def keep_silent(visit: Visit) -> None:
    await visit.request()
    await asyncio.Event().wait()


async def reset(visit: Visit) -> None:
    await visit.request()
    visit.reset()


async def send_half(visit: Visit) -> None:
    await visit.request()
    await visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")


@asynccontextmanager
async def open_app(
    folder: Path,
    url: str,
    servers: Sequence[RawServer],
    media: RawServer | None = None,
    channels: dict[str, ChannelConfig] | None = None,
    **circuits: Any,
) -> AsyncIterator[Postino]:
    """Yield an app whose accounts may use these servers, and whose media may come from that one."""
    config = replace(
        make_config(folder, url),
        publishing=PublishingConfig(timeout_factor=TIMEOUT_FACTOR),
        networks=NetworksConfig(allowed_private_origins=[server.url for server in servers]),
        sandbox=SandboxConfig(media.url if media is not None else ""),
        circuits=CircuitsConfig(**circuits),
        channels=channels or {},
    )
    app = Postino(config)
    await app.store.migrate()
    async with app:
        yield app


async def add_account(app: Postino, handle: str, base_url: str, brand: str | None = None) -> StoredAccount:
    return await app.accounts.add("mastodon", handle, {"access_token": "t"}, base_url=base_url, brand=brand)


async def post(app: Postino, account: StoredAccount, text: str, picture: str | None = None) -> Job:
    media = (MediaRef(url=picture),) if picture else ()
    request = PostRequest(content=Content(body=text, media=media), accounts=(account.id,), allow_duplicate=True)
    [written] = await app.posts.schedule(request)
    return written.post.job
