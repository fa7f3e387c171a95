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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Process:
    """One worker process; `ended` resolves to its exit code, negative for a signal."""

    pid: int
    ended: asyncio.Future[int]
    writer: asyncio.StreamWriter
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def signal(self, number: signal.Signals) -> None:
        if not self.ended.done():
            send_order(self.writer, {"signal": int(number), "pid": self.pid})

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    async def stop(self) -> None:
        """Send SIGSTOP and wait until no thread of the process runs any more."""
        if not self.ended.done():
            self.stopped.clear()
            self.signal(signal.SIGSTOP)
            await self.stopped.wait()

    async def wait(self, seconds: float) -> int | None:
        """Return the exit code, or None if the process is still alive after these seconds."""
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
        """Start a worker with the settings of the program; it dies at the crash point, if one is given."""
        started: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
        self.starting.append(started)
        send_order(self.writer, {"crash": crash, **settings, **self.always})
        return await started

    async def read_events(self) -> None:
        async for line in self.reader:
            event = json.loads(line)
            if "started" in event:
                process = Process(event["started"], asyncio.get_running_loop().create_future(), self.writer)
                self.alive[process.pid] = process
                self.starting.popleft().set_result(process)
            elif "stopped" in event:
                self.alive[event["stopped"]].stopped.set()
            else:
                process = self.alive.pop(event["ended"])
                process.ended.set_result(event["code"])
                process.stopped.set()


def send_order(writer: asyncio.StreamWriter, order: dict[str, Any]) -> None:
    writer.write(json.dumps(order).encode() + b"\n")


@contextmanager
def forker() -> Iterator[str]:
    """Run a forker and return its address."""
    with tempfile.TemporaryDirectory(prefix="postino-") as folder:
        address = f"{folder}/forker"
        command = [sys.executable, "-m", "tests.crash.forker", address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield address
            process.communicate()


@asynccontextmanager
async def open_workers(address: str, folder: Path, url: str) -> AsyncIterator[Workers]:
    """Open a connection that starts workers on a database, and kill the remaining ones at the end."""
    reader, writer = await asyncio.open_unix_connection(address)
    workers = Workers(reader, writer, folder, url)
    reading = asyncio.create_task(workers.read_events())
    try:
        yield workers
    finally:
        for process in workers.alive.copy().values():
            process.kill()
            await process.ended
        reading.cancel()
        writer.close()
