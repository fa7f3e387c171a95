"""A process of ours that lives no longer than this one."""

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

SHOWN_OF_LOG = 2000
WAITED = 30.0  # seconds for a process to say that it is ready


class Child:
    """`postino …`, tied to us by its standard input: a pipe that the kernel closes when we end, even by SIGKILL.

    It stays in our process group. Its logs go to the file, or where ours go.
    """

    def __init__(self, name: str, *words: str, settings: Mapping[str, str], log: Path | None) -> None:
        self.name = name
        self.words = words
        self.settings = settings  # not among the words, which everybody on the machine can read
        self.log = log
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        command = (sys.executable, "-m", "postino", *self.words, "--until-eof")
        with contextlib.ExitStack() as files:
            stderr = None if self.log is None else files.enter_context(self.log.open("ab"))
            self.process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env={name: text for name, text in os.environ.items() if name != "POSTINO_APP"} | {**self.settings},
            )

    async def told(self) -> dict[str, Any]:
        """What it says once it is ready, a line of JSON."""
        assert self.process is not None
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(WAITED):
                line = await self.process.stdout.readline()
                if not line:
                    await self.process.wait()
        except TimeoutError:
            raise PostinoError(f"The {self.name} is not ready after {WAITED:.0f} s.{self.last_words()}") from None
        if not line:
            code = self.process.returncode
            raise PostinoError(f"The {self.name} ended at once with exit code {code}.{self.last_words()}")
        told: dict[str, Any] = json.loads(line)
        return told

    def last_words(self) -> str:
        if self.log is None:
            return ""
        return f" Its last words, from {self.log}:\n{self.log.read_text(errors='replace')[-SHOWN_OF_LOG:]}"

    async def ended(self) -> int:
        """Its exit code, once it has ended. What it prints meanwhile is read and dropped."""
        assert self.process is not None
        assert self.process.stdout is not None
        while await self.process.stdout.read(65536):
            pass
        return await self.process.wait()

    async def stop(self, within: float) -> None:
        """Asks it to end, waits for as long as it may take, and then does not ask any more."""
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
