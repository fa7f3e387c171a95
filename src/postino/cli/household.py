"""The processes of `postino up`: the sandbox, the API and the workers, each started again should it end by itself."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from postino.cli.child import Child
from postino.cli.ports import is_free, next_free
from postino.cli.session import remembered
from postino.cli.stopping import GRACE
from postino.config import Config

FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0  # seconds before a process is started again, doubling each time
LIVED = 30.0  # seconds after which a process that ends is not taken for one that cannot start


@dataclass(frozen=True, slots=True)
class Addresses:
    url: str
    sandbox_url: str


class Household:
    def __init__(self, config: Config, log: Path | None, stop: asyncio.Event) -> None:
        self.config = config
        self.log_file = log
        self.stop = stop
        self.log = structlog.get_logger("postino.up")
        self.workers: list[Child] = []
        self.others: list[Child] = []
        self.keepers: list[asyncio.Task[None]] = []

    async def start(self, port: int, workers: int) -> Addresses:
        sandbox_url = await self.start_server("sandbox", self.sandbox_port(port))
        settings = {"POSTINO_SANDBOX_URL": sandbox_url}
        for number in range(1, workers + 1):
            name = "worker" if workers == 1 else f"worker {number}"
            child = self.child(name, "worker", settings=settings)
            self.workers.append(child)
            await child.start()
            self.keep(child)
        return Addresses(await self.start_server("server", port, settings), sandbox_url)

    async def start_server(self, name: str, port: int, settings: Mapping[str, str] | None = None) -> str:
        """Its address, which is the same whenever it is started again."""
        child = self.child(name, name, "--json", "--port", str(port), settings=settings or {})
        self.others.append(child)
        await child.start()
        url: str = (await child.told())["url"]
        child.words = (name, "--json", "--port", url.rpartition(":")[2])
        self.keep(child)
        return url

    def child(self, name: str, *words: str, settings: Mapping[str, str]) -> Child:
        where = {"POSTINO_DATA_DIR": str(self.config.data_dir), "POSTINO_DATABASE_URL": self.config.database_url}
        return Child(name, *words, settings={**where, **settings}, log=self.log_file)

    def sandbox_port(self, port: int) -> int:
        """Where it was last time, if that is still free: links to what was published stay good."""
        last = remembered(self.config.data_dir).rpartition(":")[2]
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
            self.log.warning("process.ended", process=child.name, exit_code=code, after_seconds=wait)
            wait = min(2 * wait, LONGEST_WAIT)
            await child.start()

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
        await asyncio.gather(*(worker.stop(drain) for worker in self.workers))
        for child in reversed(self.others):
            await child.stop(0 if child.name == "sandbox" else GRACE)
