"""A hostile customer's own servers with Mastodon's API: each answers every request in its own hostile way."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

MEGABYTE = 1_000_000
DRIPS, DRIP_SECONDS = 50, 0.2
FLOOD_PARTS = 40  # of 100 kB: twice as many as Postino reads
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def fail(request: web.Request) -> web.Response:
    """Answer 500, so that the circuit of this server opens."""
    return web.Response(status=500)


async def refuse(request: web.Request) -> web.Response:
    """Refuse with a text that is long to search, so that the circuit stays closed and each post is tried."""
    return web.json_response({"error": "Media File " * (MEGABYTE // 11)}, status=422)


async def nest(request: web.Request) -> web.Response:
    """Answer a megabyte of nested JSON."""
    return web.Response(body=b"[" * MEGABYTE, content_type="application/json")


async def drip(request: web.Request) -> web.StreamResponse:
    """Answer byte by byte."""
    response = await start_response(request)
    for _ in range(DRIPS):
        await response.write(b" ")
        await asyncio.sleep(DRIP_SECONDS)
    return response


async def flood(request: web.Request) -> web.StreamResponse:
    """Answer more than Postino reads."""
    response = await start_response(request)
    for _ in range(FLOOD_PARTS):
        await response.write(b" " * (MEGABYTE // 10))
    return response


HANDLERS: Sequence[Handler] = (fail, refuse, nest, drip, flood)


async def start_response(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    return response


@asynccontextmanager
async def run_hostile_servers(ports: Sequence[int]) -> AsyncIterator[None]:
    """Run a server on each of these ports of the loopback interface."""
    runners = [web.AppRunner(make_server(handler)) for handler, _ in zip(HANDLERS, ports, strict=True)]
    try:
        for runner, port in zip(runners, ports, strict=True):
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", port).start()
        yield
    finally:
        for runner in runners:
            await runner.cleanup()


def make_server(handler: Handler) -> web.Application:
    async def respond(request: web.Request) -> web.StreamResponse:
        try:
            await request.read()
            return await handler(request)
        except ConnectionError:  # Postino reads no more
            return web.Response(status=500)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", respond)
    return application
