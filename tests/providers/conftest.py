from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from typing import NoReturn

import pytest
from aiohttp import web

from postino.outbound.http import OutboundHttp
from postino.testing.sandbox import SandboxServer
from postino.values.provider import Media
from tests.providers.proxy import LossyProxy
from tests.providers.samples import SAMPLE_VIDEO, make_png
from tests.servers import ServerMissing
from tests.servers.mastodon import MastodonServer
from tests.servers.pds import PdsServer


@pytest.fixture(scope="session")
def pds() -> Iterator[PdsServer]:
    """Run the real Bluesky server that tests share; each test has its own account."""
    try:
        server = PdsServer()
    except ServerMissing as missing:
        _go_without(str(missing))
    with server:
        yield server


@pytest.fixture(scope="session")
def mastodon_server() -> Iterator[MastodonServer]:
    """Run the Mastodon server that tests share, with one account."""
    try:
        server = MastodonServer()
    except ServerMissing as missing:
        _go_without(str(missing))
    with server:
        yield server


@pytest.fixture(scope="session")
def shared_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxServer]:
    with SandboxServer(tmp_path_factory.mktemp("sandbox")) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(shared_sandbox: SandboxServer) -> SandboxServer:
    """Return the shared sandbox, reset and with short waits."""
    shared_sandbox.reset()
    shared_sandbox.post("settings", {"mastodon_media_seconds": 0.05, "bluesky_access_seconds": None})
    return shared_sandbox


@pytest.fixture
async def proxy_to_pds(pds: PdsServer) -> AsyncIterator[LossyProxy]:
    async with LossyProxy(pds.port) as proxy:
        yield proxy


@pytest.fixture
async def proxy_to_mastodon(mastodon_server: MastodonServer) -> AsyncIterator[LossyProxy]:
    async with LossyProxy(mastodon_server.port) as proxy:
        yield proxy


@pytest.fixture
async def picture_host() -> AsyncIterator[str]:
    """Serve images by shade or size, and files that are not images."""

    async def show(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name == "page":
            return web.Response(text="<html>hello</html>", content_type="text/html")
        if name == "broken":
            return web.Response(status=503)
        if name == "missing":
            return web.Response(status=404)
        width, _, height = name.partition("x")
        body = (
            SAMPLE_VIDEO if name == "film" else make_png(0, int(width), int(height)) if height else make_png(int(name))
        )
        return web.Response(body=body, content_type="application/octet-stream")

    app = web.Application()
    app.router.add_get("/{name}", show)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def outbound(picture_host: str) -> AsyncIterator[OutboundHttp]:
    async with OutboundHttp(allowed_origins=[picture_host]) as outbound:
        yield outbound


@pytest.fixture
def pictures(picture_host: str) -> tuple[Media, ...]:
    return tuple(Media(url=f"{picture_host}/{shade}", alt=f"shade {shade}") for shade in (1, 2))


def _go_without(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
