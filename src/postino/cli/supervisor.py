"""The processes of `postino up`: the sandbox, the API and the workers, each started again should it end by itself."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from postino.cli import output
from postino.cli.child_process import Child
from postino.cli.connection import read_sandbox_url
from postino.cli.ports import LOOPBACK, is_free, next_free
from postino.cli.shutdown import GRACE
from postino.config import Config

FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0  # seconds before a process is started again, doubling each time
LIVED = 30.0  # seconds after which a process that ends is not taken for one that cannot start


@dataclass(frozen=True, slots=True)
class ServiceUrls:
    url: str
    sandbox_url: str


class Supervisor:
    def __init__(self, config: Config, log: Path | None, stop: asyncio.Event) -> None:
        self.config = config
        self.log_file = log
        self.stop = stop
        self.log = structlog.get_logger("postino.up")
        self.children: list[Child] = []
        self.keepers: list[asyncio.Task[None]] = []

    async def start(self, port: int, workers: int) -> ServiceUrls:
        """The workers last: what waits for them would find no networks, and try again only after a minute."""
        sandbox_port = self.sandbox_port(port)
        settings = {"POSTINO_SANDBOX_URL": f"http://{LOOPBACK}:{sandbox_port}"}
        sandbox = await self.started("sandbox", "sandbox", "--json", "--port", str(sandbox_port), settings=settings)
        server = await self.started("server", "server", "--json", "--port", str(port), settings=settings)
        sandbox_url = (await sandbox.told())["url"]
        self.keep(sandbox)
        for number in range(1, workers + 1):
            name = "worker" if workers == 1 else f"worker {number}"
            self.keep(await self.started(name, "worker", settings=settings))
        url = (await server.told())["url"]
        server.words = ("server", "--json", "--port", url.rpartition(":")[2])  # the same if it is started again
        self.keep(server)
        return ServiceUrls(url, sandbox_url)

    async def started(self, name: str, *words: str, settings: Mapping[str, str]) -> Child:
        where = {"POSTINO_DATA_DIR": str(self.config.data_dir), "POSTINO_DATABASE_URL": self.config.database_url}
        child = Child(name, *words, settings={**where, **settings}, log=self.log_file)
        self.children.append(child)
        await child.start()
        return child

    def workers(self) -> list[Child]:
        return [child for child in self.children if child.words[0] == "worker"]

    def worker_pids(self) -> set[int]:
        return {worker.process.pid for worker in self.workers() if worker.process is not None}

    def sandbox_port(self, port: int) -> int:
        """Target it was last time, if that is still free: links to what was published stay good."""
        last = read_sandbox_url(self.config.data_dir).rpartition(":")[2]
        return int(last) if last.isdigit() and is_free(int(last)) else next_free(port)

    def keep(self, child: Child) -> None:
        self.keepers.append(asyncio.create_task(self.keep_alive(child)))

    async def keep_alive(self, child: Child) -> None:
        wait = FIRST_WAIT
        while True:
            began = time.monotonic()
            code = await child.ended()
            if time.monotonic() - began > LIVED:
                wait = FIRST_WAIT
            if await self.stops_within(wait):
                return  # it was told to end, and so were we
            self.log.warning("process.ended", process=child.name, exit_code=code, next="it is started again")
            if self.log_file is not None:
                with contextlib.suppress(OSError):  # nobody reads it any more
                    output.print_hint(
                        f"The {child.name} ended by itself ({code}) and is started again: {self.log_file}."
                    )
            wait = min(2 * wait, LONGEST_WAIT)
            while not await self.started_again(child):
                if await self.stops_within(LONGEST_WAIT):
                    return

    async def started_again(self, child: Child) -> bool:
        """A full disk, or too many processes: that may pass."""
        try:
            await child.start()
        except OSError as error:
            self.log.error("process.stopped", process=child.name, error=str(error), next="tried again in a moment")
            return False
        return True

    async def stops_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stop.wait(), seconds)
        return self.stop.is_set()

    async def close(self) -> None:
        """The workers first: what is on its way needs the networks until it has arrived."""
        for keeper in self.keepers:
            keeper.cancel()
        await asyncio.gather(*self.keepers, return_exceptions=True)
        drain = self.config.worker.drain + GRACE
        await asyncio.gather(*(worker.stop(drain) for worker in self.workers()))
        for name, patience in (("server", GRACE), ("sandbox", 0)):
            await asyncio.gather(*(child.stop(patience) for child in self.children if child.name == name))
