"""`postino sandbox`: the simulated networks, as a process of its own."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import SANDBOX_URL, Target
from postino.cli.options import DataDir, Json
from postino.cli.ports import DEFAULT_PORT, LOOPBACK, next_free, refused
from postino.cli.shutdown import SIGNALS, Stop


def run_sandbox(
    data_dir: DataDir = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 picks a free one.", show_default=False),
    ] = None,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Simulate the networks, with faults on request. What is published here leaves this machine nowhere."""
    folder = Target(data_dir).config().data_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = next_free(DEFAULT_PORT) if port is None else port

    def ready(url: str) -> None:
        remember(folder, url)
        if as_json:
            output.print_json_line({"url": url})
        else:
            output.print_line(f"The sandbox is at {url}/, and shows there what is published on its networks.")

    try:
        asyncio.run(simulate(folder, wanted, ready, until_eof=until_eof))
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise refused(LOOPBACK, wanted, error) from error


def remember(folder: Path, url: str) -> None:
    """For whoever publishes from this data directory."""
    temporary = folder / f".{SANDBOX_URL}.new"
    temporary.write_text(url + "\n")
    temporary.replace(folder / SANDBOX_URL)


async def simulate(folder: Path, port: int, ready: Callable[[str], None], *, until_eof: bool) -> None:
    from postino.wiring import serve_sandbox

    stop = Stop(asyncio.get_running_loop())
    stop.listen(until_eof=until_eof)
    if until_eof:
        for number in SIGNALS:
            # Whoever started us ends us, after the workers: a signal to the whole group must not take the networks
            # away from what is on its way to them.
            signal.signal(number, signal.SIG_IGN)
    await serve_sandbox(folder / "sandbox.db", LOOPBACK, port, ready=ready, stop=stop.event)
