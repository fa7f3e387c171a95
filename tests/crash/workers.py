"""Worker processes for tests that kill them: started and signalled through the forker, ended with the test."""

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Process:
    """One worker process; `ended` comes true with its exit code, negative for the signal that ended it."""

    pid: int
    ended: asyncio.Future[int]
    writer: asyncio.StreamWriter

    def signal(self, number: signal.Signals) -> None:
        if not self.ended.done():
            tell(self.writer, {"signal": int(number), "pid": self.pid})

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    async def wait(self, seconds: float) -> int | None:
        """Its exit code, or None if it still lives after so many seconds."""
        await asyncio.wait([self.ended], timeout=seconds)
        return self.ended.result() if self.ended.done() else None


class Workers:
    """The worker processes on one database."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, folder: Path, url: str) -> None:
        self.reader = reader
        self.writer = writer
        self.folder = folder
        self.url = url
        self.always = {"folder": str(folder), "url": url}
        self.starting: deque[asyncio.Future[Process]] = deque()
        self.alive: dict[int, Process] = {}

    async def start(self, *, crash: str = "", **settings: Any) -> Process:
        """A worker that ends at the crash point, if one is named; the settings are the program's."""
        started: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
        self.starting.append(started)
        tell(self.writer, {"crash": crash, **settings, **self.always})
        return await started

    async def hear(self) -> None:
        async for line in self.reader:
            told = json.loads(line)
            if "started" in told:
                process = Process(told["started"], asyncio.get_running_loop().create_future(), self.writer)
                self.alive[process.pid] = process
                self.starting.popleft().set_result(process)
            else:
                self.alive.pop(told["ended"]).ended.set_result(told["code"])


def tell(writer: asyncio.StreamWriter, order: dict[str, Any]) -> None:
    writer.write(json.dumps(order).encode() + b"\n")


@contextmanager
def forker() -> Iterator[str]:
    """The address of a running forker."""
    with tempfile.TemporaryDirectory(prefix="postino-") as folder:
        address = f"{folder}/forker"
        command = [sys.executable, "-m", "tests.crash.forker", address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield address
            process.communicate()


@asynccontextmanager
async def workers_on(address: str, folder: Path, url: str) -> AsyncIterator[Workers]:
    """Lets worker processes be started on a database, and ends those that are left."""
    reader, writer = await asyncio.open_unix_connection(address)
    workers = Workers(reader, writer, folder, url)
    hearing = asyncio.create_task(workers.hear())
    try:
        yield workers
    finally:
        for process in workers.alive.copy().values():
            process.kill()
            await process.ended
        hearing.cancel()
        writer.close()
