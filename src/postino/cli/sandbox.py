"""`postino sandbox`: run the simulated networks."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target
from postino.cli.options import DataDir, Json
from postino.cli.ports import LOOPBACK, SERVER_PORT, find_free_port_after, to_error
from postino.cli.shutdown import SIGNALS, ShutdownSignal
from postino.sandbox.url_file import hold_url_file


def run_sandbox(
    data_dir: DataDir = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port to listen on; 0 picks any free one. Default: the first free one from 8701.",
            show_default=False,
        ),
    ] = None,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Run the sandbox: simulated networks that keep every post on this machine."""
    folder = Target(data_dir).config().data_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    chosen = find_free_port_after(SERVER_PORT) if port is None else port

    def announce(url: str) -> None:
        if as_json:
            output.print_json_line({"url": url})
        else:
            output.print_line(f"The sandbox is at {url}/ and shows the posts on its networks.")

    try:
        with hold_url_file(folder) as store_url:

            def ready(url: str) -> None:
                store_url(url)
                announce(url)

            asyncio.run(serve(folder, chosen, ready, until_eof=until_eof))
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise to_error(LOOPBACK, chosen, error) from error


async def serve(folder: Path, port: int, ready: Callable[[str], None], *, until_eof: bool) -> None:
    from postino.wiring import serve_sandbox

    stop = ShutdownSignal(asyncio.get_running_loop())
    stop.listen(until_eof=until_eof)
    if until_eof:
        for number in SIGNALS:
            # The supervisor stops the sandbox after the workers: a signal to the whole process group must not stop
            # the networks while requests are on their way.
            signal.signal(number, signal.SIG_IGN)
    await serve_sandbox(folder / "sandbox.db", LOOPBACK, port, ready=ready, stop=stop.event)
