"""`postino server`: the HTTP API as a process of its own."""

import asyncio
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.options import DatabaseUrl, DataDir, Json
from postino.cli.ports import LOOPBACK, USUAL_PORT, address_of, listening
from postino.cli.session import Where, advising
from postino.cli.worker import fastest_loop, tell_environment

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
    from postino.cli.serving import serve

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
        runner.run(serve(config, opened, ready, until_eof=until_eof))
