"""Supervise the processes of `postino up`: sandbox, API and workers. A process that ends by itself is restarted."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from postino.cli import output
from postino.cli.child_process import ChildProcess
from postino.cli.ports import LOOPBACK, find_free_port_after, is_free
from postino.cli.shutdown import GRACE
from postino.config import Config
from postino.sandbox.url_file import read_last_url

FIRST_DELAY, MAX_DELAY = 0.2, 10.0  # seconds before a restart, doubling each time
STABLE_AFTER = 30.0  # seconds after which the restart delay starts from the beginning


@dataclass(frozen=True, slots=True)
class ServiceUrls:
    """Where the services of `postino up` listen."""

    url: str
    sandbox_url: str


class Supervisor:
    """Starts the processes, restarts them, and stops them in order."""

    def __init__(self, config: Config, log: Path | None, stop: asyncio.Event) -> None:
        self.config = config
        self.log_file = log
        self.stop = stop
        self.log = structlog.get_logger("postino.up")
        self.children: list[ChildProcess] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, port: int, workers: int, app: str | None = None) -> ServiceUrls:
        """Start all processes; `app` has the handlers of the workers.

        The workers start last: a job that finds no network retries only after a minute.
        """
        sandbox_port = self.sandbox_port(port)
        settings = {"POSTINO_SANDBOX_URL": f"http://{LOOPBACK}:{sandbox_port}"}
        sandbox = await self.start_child("sandbox", "sandbox", "--json", "--port", str(sandbox_port), settings=settings)
        server = await self.start_child("server", "server", "--json", "--port", str(port), settings=settings)
        sandbox_url = (await sandbox.read_ready())["url"]
        self.supervise(sandbox)
        for number in range(1, workers + 1):
            name = "worker" if workers == 1 else f"worker {number}"
            words = ("worker", "--app", app) if app else ("worker",)
            self.supervise(await self.start_child(name, *words, settings=settings))
        url = (await server.read_ready())["url"]
        server.words = ("server", "--json", "--port", url.rpartition(":")[2])  # the same port after a restart
        self.supervise(server)
        return ServiceUrls(url, sandbox_url)

    async def start_child(self, name: str, *words: str, settings: Mapping[str, str]) -> ChildProcess:
        paths = {"POSTINO_DATA_DIR": str(self.config.data_dir), "POSTINO_DATABASE_URL": self.config.database_url}
        child = ChildProcess(name, *words, settings={**paths, **settings}, log=self.log_file)
        self.children.append(child)
        await child.start()
        return child

    def workers(self) -> list[ChildProcess]:
        return [child for child in self.children if child.words[0] == "worker"]

    def list_worker_pids(self) -> set[int]:
        return {worker.process.pid for worker in self.workers() if worker.process is not None}

    def sandbox_port(self, port: int) -> int:
        """Return the port of last time if it is free, so that links to published posts stay valid."""
        last = read_last_url(self.config.data_dir).rpartition(":")[2]
        return int(last) if last.isdigit() and is_free(int(last)) else find_free_port_after(port)

    def supervise(self, child: ChildProcess) -> None:
        self.tasks.append(asyncio.create_task(self.keep_alive(child)))

    async def keep_alive(self, child: ChildProcess) -> None:
        delay = FIRST_DELAY
        while True:
            began = time.monotonic()
            code = await child.wait_until_exit()
            if time.monotonic() - began > STABLE_AFTER:
                delay = FIRST_DELAY
            if await self.stops_within(delay):
                return  # shutting down
            self.log.warning("process.ended", process=child.name, exit_code=code, next="restarting it")
            if self.log_file is not None:
                with contextlib.suppress(OSError):  # the terminal is gone
                    output.print_hint(
                        f"The {child.name} exited with code {code} and is being restarted: {self.log_file}."
                    )
            delay = min(2 * delay, MAX_DELAY)
            while not await self.restart(child):
                if await self.stops_within(MAX_DELAY):
                    return

    async def restart(self, child: ChildProcess) -> bool:
        """Return False if the process cannot start now, such as on a full disk."""
        try:
            await child.start()
        except OSError as error:
            self.log.error("process.stopped", process=child.name, error=str(error), next="Postino tries again soon")
            return False
        return True

    async def stops_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stop.wait(), seconds)
        return self.stop.is_set()

    async def close(self) -> None:
        """Stop the workers before the sandbox, because their requests in progress need it."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        drain = self.config.worker.drain + GRACE
        await asyncio.gather(*(worker.stop(drain) for worker in self.workers()))
        for name, timeout in (("server", GRACE), ("sandbox", 0)):
            await asyncio.gather(*(child.stop(timeout) for child in self.children if child.name == name))
