"""The sandbox as an HTTP server: the networks under their names, the admin API and the feed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from postino.sandbox import accounts, feed_page
from postino.sandbox.admin_api import AdminApi, handle_errors
from postino.sandbox.database import SandboxDatabase
from postino.sandbox.dispatch import Dispatcher

LARGEST_BODY = 512 * 1024 * 1024
GRACE = 1.0  # seconds for responses that are being sent when the server stops


async def serve(
    path: Path,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    ready: Callable[[str], None] | None = None,
    stop: asyncio.Event,
) -> None:
    """Serve with the database at `path` until `stop` is set; call `ready` with the URL once the server listens."""
    database = SandboxDatabase(path)
    try:
        await database.write(accounts.seed_accounts)
        await listen(Dispatcher(database), host, port, ready, stop)
    finally:
        database.close()


async def listen(
    dispatcher: Dispatcher, host: str, port: int, ready: Callable[[str], None] | None, stop: asyncio.Event
) -> None:
    runner = web.AppRunner(
        build_application(dispatcher), access_log=None, handler_cancellation=True, shutdown_timeout=GRACE
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        if ready is not None:
            ready(build_url(runner))
        await stop.wait()
    finally:
        await runner.cleanup()
        await dispatcher.close()


def build_application(dispatcher: Dispatcher) -> web.Application:
    app = web.Application(middlewares=[handle_errors], client_max_size=LARGEST_BODY)
    app.add_routes([web.get("/", feed_page.serve_feed), *AdminApi(dispatcher).routes()])
    app.router.add_route("*", "/{network}/{path:.*}", dispatcher.handle)
    return app


def build_url(runner: web.AppRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
