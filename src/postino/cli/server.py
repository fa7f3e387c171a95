"""`postino server`: serve the HTTP API."""

import asyncio
import socket
from collections.abc import Callable
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, with_exact_commands
from postino.cli.options import DatabaseUrl, DataDir, Json
from postino.cli.ports import LOOPBACK, SERVER_PORT, bind_socket, format_url
from postino.cli.shutdown import GRACE, ShutdownSignal
from postino.cli.worker import choose_event_loop, export_settings
from postino.config import Config
from postino.errors import StoreUnreachable

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 picks a free one.")]


def run_server(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = LOOPBACK,
    port: Port = SERVER_PORT,
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
        runner.run(serve_until_stopped(target, opened, ready, until_eof=until_eof))


async def serve_until_stopped(
    target: Target, listener: socket.socket, ready: Callable[[], None], *, until_eof: bool
) -> None:
    from postino.api.http_server import serve

    config = target.config()
    await check_store(config, target)
    stop = ShutdownSignal(asyncio.get_running_loop())
    stop.listen(until_eof=until_eof)
    await serve(config, listener, ready, stop=stop.event, grace=GRACE)


async def check_store(config: Config, target: Target) -> None:
    """Check the schema and the vault key, compare the settings with the stored ones, and say if the database is closed.

    Raises SchemaMismatch or WrongVaultKey. An unreachable database is only reported: it may come back.
    """
    from postino.cli.database_notice import describe_standing
    from postino.engine.stored_settings import compare_settings
    from postino.wiring import Postino

    app = Postino(config)
    try:
        await app.open()
        await compare_settings(app.store, app.channel_limits)
        await app.vault_keys.load()
        if notice := describe_standing(await app.store.database_state(), target):
            output.print_hint(notice)
    except StoreUnreachable as error:
        output.print_hint(str(error))
    finally:
        await app.close()
