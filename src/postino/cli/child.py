"""A worker process that lives no longer than this one."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from postino.cli.worker import GRACE
from postino.config import Config
from postino.errors import PostinoError

Process = asyncio.subprocess.Process
SHOWN_OF_LOG = 2000


@asynccontextmanager
async def worker_process(config: Config, target: str, log: Path | None) -> AsyncIterator[Process]:
    """Tied to us by its standard input: a pipe that the kernel closes when we end, even by SIGKILL.

    Its logs go to the file, or where ours go.
    """
    # In the environment and not among the arguments, which everybody on the machine can read.
    settings = {"POSTINO_DATA_DIR": str(config.data_dir), "POSTINO_DATABASE_URL": config.database_url}
    command = (sys.executable, "-m", "postino", "worker", "--app", target, "--until-eof")
    with contextlib.ExitStack() as files:
        stderr = None if log is None else files.enter_context(log.open("wb"))
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=stderr, stderr=stderr, env=os.environ | settings
        )
    try:
        yield process
    finally:
        await stop(process)


async def stop(process: Process) -> None:
    """Lets running jobs end, for as long as the worker's own grace lasts."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), GRACE + 2)
    except TimeoutError:
        process.kill()
        await process.wait()


def check_alive(process: Process, log: Path | None) -> None:
    if process.returncode is not None:
        told = "" if log is None else f" Its last words, from {log}:\n{log.read_text(errors='replace')[-SHOWN_OF_LOG:]}"
        raise PostinoError(f"The worker ended by itself with exit code {process.returncode}.{told}")
