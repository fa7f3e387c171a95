"""`postino server`: the HTTP API as a process of its own."""

import asyncio
import socket
from collections.abc import Callable
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.options import DatabaseUrl, DataDir, Json
from postino.cli.ports import LOOPBACK, USUAL_PORT, address_of, listening
from postino.cli.session import Where, advising
from postino.cli.stopping import GRACE, Stop
from postino.cli.worker import fastest_loop, tell_environment
from postino.config import Config
from postino.errors import StoreUnreachable

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 is any free one.")]


def run_server(
    host: Annotated[str, typer.Option("--host", help="At which of this machine's addresses to listen.")] = LOOPBACK,
    port: Port = USUAL_PORT,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Answer the HTTP API. It publishes nothing itself: that takes a worker."""
    from postino.cli import logs

    logs.to_stderr()
    where = Where(data_dir, database_url)
    config = where.config()
    tell_environment(where)
    opened = listening(host, port)

    def ready() -> None:
        url = address_of(opened)
        if as_json:
            output.as_line({"url": url})
        else:
            output.write(f"The API is at {url}/v1, and the key to it in {config.data_dir / 'api.key'}.")

    with advising(where), asyncio.Runner(loop_factory=fastest_loop()) as runner:
        runner.run(serve_until_stopped(config, opened, ready, until_eof=until_eof))


async def serve_until_stopped(
    config: Config, listener: socket.socket, ready: Callable[[], None], *, until_eof: bool
) -> None:
    from postino.api.http_server import serve

    await check_store(config)
    stop = Stop(asyncio.get_running_loop())
    stop.listen(until_eof=until_eof)
    await serve(config, listener, ready, stop=stop.event, grace=GRACE)


async def check_store(config: Config) -> None:
    """Refuse to start on a database of another version; one that cannot be reached may come back."""
    from postino.wiring import Postino

    app = Postino(config)
    try:
        await app.open()
    except StoreUnreachable as error:
        output.hint(str(error))
    finally:
        await app.close()
