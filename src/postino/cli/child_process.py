"""A child process that never outlives its parent."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from postino.cli.shutdown import GRACE
from postino.errors import PostinoError

LOG_EXCERPT = 2000
READY_TIMEOUT = 30.0  # seconds


class ChildProcess:
    """A `postino` process that ends with its parent: its standard input is a pipe that closes then, even on SIGKILL.

    It stays in the parent's process group. It logs to the file, or to the parent's stderr.
    """

    def __init__(self, name: str, *words: str, settings: Mapping[str, str], log: Path | None) -> None:
        self.name = name
        self.words = words
        self.settings = settings  # in the environment: every user of the machine can read arguments
        self.log = log
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        # -P: a module in the current directory must not replace one of Postino's.
        command = (sys.executable, "-P", "-m", "postino", *self.words, "--until-eof")
        with contextlib.ExitStack() as files:
            stderr = None if self.log is None else files.enter_context(self.log.open("ab"))
            self.process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env={name: text for name, text in os.environ.items() if name != "POSTINO_APP"} | {**self.settings},
            )

    async def read_ready(self) -> dict[str, Any]:
        """Return the line of JSON that the process prints when it is ready."""
        assert self.process is not None
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(READY_TIMEOUT):
                line = await self.process.stdout.readline()
                if not line:
                    await self.process.wait()
        except TimeoutError:
            raise PostinoError(
                f"The {self.name} is not ready after {READY_TIMEOUT:.0f} s.{self.log_excerpt()}"
            ) from None
        if not line:
            code = self.process.returncode
            raise PostinoError(f"The {self.name} exited at once with code {code}.{self.log_excerpt()}")
        ready: dict[str, Any] = json.loads(line)
        return ready

    def log_excerpt(self) -> str:
        if self.log is None:
            return ""
        return f" End of its log, {self.log}:\n{self.log.read_text(errors='replace')[-LOG_EXCERPT:]}"

    async def wait_until_exit(self) -> int:
        """Return the exit code when the process has ended. Its output is discarded."""
        assert self.process is not None
        assert self.process.stdout is not None
        while await self.process.stdout.read(65536):
            pass
        return await self.process.wait()

    async def stop(self, within: float) -> None:
        """Send SIGTERM, wait `within` seconds, close its standard input, and kill it last."""
        if self.process is None:
            return
        assert self.process.stdin is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        await self.wait(within)
        self.process.stdin.close()
        await self.wait(GRACE + 1)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def wait(self, seconds: float) -> None:
        assert self.process is not None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), seconds)
