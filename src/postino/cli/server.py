"""`postino server`: serve the HTTP API."""

import asyncio
import socket
from collections.abc import Callable
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, with_exact_commands
from postino.cli.options import DatabaseUrl, DataDir, Json
from postino.cli.ports import DEFAULT_PORT, LOOPBACK, bind_socket, format_url
from postino.cli.shutdown import GRACE, ShutdownSignal
from postino.cli.worker import choose_event_loop, export_settings
from postino.config import Config
from postino.errors import StoreUnreachable

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 picks a free one.")]


def run_server(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = LOOPBACK,
    port: Port = DEFAULT_PORT,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Serve the HTTP API.

    Publishing needs a worker as well.
    """
    from postino.cli import logs

    logs.to_stderr()
    target = Target(data_dir, database_url)
    config = target.config()
    export_settings(target)
    opened = bind_socket(host, port)

    def ready() -> None:
        url = format_url(opened)
        if as_json:
            output.print_json_line({"url": url})
        else:
            output.print_line(f"The API is at {url}/v1. Its API key is in {config.data_dir / 'api.key'}.")

    with with_exact_commands(target), asyncio.Runner(loop_factory=choose_event_loop()) as runner:
        runner.run(serve_until_stopped(config, opened, ready, until_eof=until_eof))


async def serve_until_stopped(
    config: Config, listener: socket.socket, ready: Callable[[], None], *, until_eof: bool
) -> None:
    from postino.api.http_server import serve

    await check_store(config)
    stop = ShutdownSignal(asyncio.get_running_loop())
    stop.listen(until_eof=until_eof)
    await serve(config, listener, ready, stop=stop.event, grace=GRACE)


async def check_store(config: Config) -> None:
    """Raise SchemaMismatch for a database of another version. An unreachable one is only reported: it may come back."""
    from postino.wiring import Postino

    app = Postino(config)
    try:
        await app.open()
    except StoreUnreachable as error:
        output.print_hint(str(error))
    finally:
        await app.close()
