"""The sandbox as a server: the networks under their names, the admin door, and the feed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import aiohttp
from aiohttp import web

from postino.sandbox import accounts, feed_page
from postino.sandbox.admin_api import Door, refusals
from postino.sandbox.database import Database
from postino.sandbox.dispatch import Switchboard

LARGEST_BODY = 512 * 1024 * 1024
GRACE = 1.0  # seconds for answers that are on their way when the server stops


async def serve(
    path: Path,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    ready: Callable[[str], None] | None = None,
    stop: asyncio.Event,
) -> None:
    """Runs on the database at `path` until `stop` is set; `ready` is told the address once it listens."""
    database = Database(path)
    try:
        await database.write(accounts.seed)
        async with aiohttp.ClientSession() as session:
            await listen(Switchboard(database, session), host, port, ready, stop)
    finally:
        database.close()


async def listen(
    switchboard: Switchboard, host: str, port: int, ready: Callable[[str], None] | None, stop: asyncio.Event
) -> None:
    runner = web.AppRunner(application(switchboard), access_log=None, handler_cancellation=True, shutdown_timeout=GRACE)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        if ready is not None:
            ready(address_of(runner))
        await stop.wait()
    finally:
        await runner.cleanup()
        await switchboard.close()


def application(switchboard: Switchboard) -> web.Application:
    app = web.Application(middlewares=[refusals], client_max_size=LARGEST_BODY)
    app.add_routes([web.get("/", feed_page.feed), *Door(switchboard).routes()])
    app.router.add_route("*", "/{network}/{path:.*}", switchboard.connect)
    return app


def address_of(runner: web.AppRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
