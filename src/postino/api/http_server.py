"""Serve the API with uvicorn on an open socket until a stop event is set. It installs no signal handlers."""

import asyncio
import gc
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
import uvicorn

from postino.api.event_stream import close_all
from postino.api.http_connections import connection_class, raise_file_limit
from postino.config import Config

log = structlog.get_logger("postino.server")
KEEP_ALIVE = 75  # seconds; longer than proxies and clients keep idle connections, so that none sends into a closed one
APP = "postino.api.server:make_app"


class UvicornErrors(logging.Handler):
    """Write uvicorn's own errors to Postino's log."""

    def emit(self, record: logging.LogRecord) -> None:
        log.error("server.error", error=record.getMessage(), exc_info=record.exc_info)


def capture_uvicorn_errors() -> None:
    """Log what uvicorn reports as an error; its warnings are about clients and must not fill the log."""
    logger = logging.getLogger("uvicorn").getChild("error")
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    logger.handlers = [UvicornErrors()]


class ApiServer(uvicorn.Server):
    """A uvicorn server that calls `ready` when it listens and leaves signals to its caller."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.freeze()  # what was imported stays: each collection during a large request would look through it again
        self.ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    config: Config, listener: socket.socket, ready: Callable[[], None], *, stop: asyncio.Event, grace: float
) -> None:
    """Answer requests until `stop` is set, then finish those in progress within `grace` seconds."""
    raise_file_limit()
    capture_uvicorn_errors()
    settings = uvicorn.Config(
        APP, factory=True, log_config=None, access_log=False, server_header=False, ws="none",
        http=connection_class(config.api.read_timeout), timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(grace), proxy_headers=bool(config.api.trusted_proxies),
        forwarded_allow_ips=config.api.trusted_proxies,
    )  # fmt: skip
    settings.load()
    server = ApiServer(settings, ready)
    stopping = asyncio.create_task(stop_server(stop, server))
    try:
        await server.serve([listener])
    finally:
        stopping.cancel()


async def stop_server(stop: asyncio.Event, server: uvicorn.Server) -> None:
    await stop.wait()
    server.should_exit = True
    close_all()  # event streams never end by themselves
