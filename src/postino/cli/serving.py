"""The API's server: listens until it is told to stop, then answers what it has begun to."""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
import uvicorn

from postino.api.event_stream import close_all
from postino.cli import output
from postino.cli.connections import allow_many, within
from postino.cli.stopping import GRACE, Stop
from postino.config import Config
from postino.errors import StoreUnreachable
from postino.wiring import Postino

log = structlog.get_logger("postino.server")
KEPT_OPEN = 75  # seconds without a request: longer than proxies and clients think, so that none is sent in vain
API = "postino.api.server:make_app"  # by its name: the command line and the API do not know each other


class Told(logging.Handler):
    """What the web server itself has to say about its own troubles, as a line like all others."""

    def emit(self, record: logging.LogRecord) -> None:
        log.error("server.trouble", error=record.getMessage(), exc_info=record.exc_info)


def listen_to_uvicorn() -> None:
    """Only to what is its own fault: what clients do wrong they are told themselves, and must not fill the log."""
    said = logging.getLogger("uvicorn").getChild("error")
    said.setLevel(logging.ERROR)
    said.propagate = False
    said.handlers = [Told()]


class ApiServer(uvicorn.Server):
    """Tells when it listens, and leaves signals to whoever runs it."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(config: Config, opened: socket.socket, ready: Callable[[], None], *, until_eof: bool) -> None:
    await check_store(config)
    allow_many()
    listen_to_uvicorn()
    stop = Stop(asyncio.get_running_loop())
    stop.listen(until_eof=until_eof)
    api = uvicorn.Config(
        API, factory=True, log_config=None, access_log=False, server_header=False, ws="none",
        http=within(config.api.patience), timeout_keep_alive=KEPT_OPEN, timeout_graceful_shutdown=int(GRACE),
    )  # fmt: skip
    api.load()
    server = ApiServer(api, ready)
    ending = asyncio.create_task(end_when(stop.event, server))
    try:
        await server.serve([opened])
    finally:
        ending.cancel()


async def end_when(stop: asyncio.Event, server: uvicorn.Server) -> None:
    await stop.wait()
    server.should_exit = True
    close_all()  # listeners would stay for ever


async def check_store(config: Config) -> None:
    """A database that does not fit is refused at the start; one that is away may come back."""
    app = Postino(config)
    try:
        await app.open()
    except StoreUnreachable as error:
        output.hint(str(error))
    finally:
        await app.close()
