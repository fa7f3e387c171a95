"""Postino publishing to simulated networks: a sandbox, a database, and workers as `postino worker` starts them."""

import asyncio
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from benchmarks.install import ROOT
from benchmarks.trial import Failed, die_with_parent
from postino import Postino
from postino.config import Config, load_config
from postino.publishing.post_request import PostRequest
from postino.values.content import Content
from tests.crash.publishing.oracle import Oracle
from tests.crash.sql import SqlConnection
from tests.gates.call_log import LoggedCall, read_calls
from tests.servers.postgres import PostgresServer

LEFT = "SELECT count(*) FROM postino.jobs WHERE channel IN ({channels})"
VISIBLE = {"bluesky": "putRecord", "mastodon": "statuses", "telegram": "sendMessage"}
LOOK_EVERY = 0.1
SETTINGS = """
[database]
url = "{url}"
[sandbox]
url = "{sandbox}"
"""


class Press:
    """One database and one sandbox, gone afterwards; what is handed in is due at once."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.folder = Path(tempfile.mkdtemp(prefix="postino-press-"))
        self.url = server.create_database()
        self.oracle = Oracle(self.folder)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.most_memory = 0.0

    def __enter__(self) -> Self:
        self.oracle.start()
        (self.folder / "postino.toml").write_text(SETTINGS.format(url=self.url, sandbox=self.oracle.url))
        self.books = SqlConnection(self.url)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.kill()
            worker.communicate()
        self.books.close()
        self.oracle.kill()
        self.server.drop_database(self.url)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def settings(self) -> Config:
        return load_config(self.folder, environment={})

    def hand_in(self, accounts: Mapping[str, int], each: int) -> None:
        """So many accounts on each network, and so many posts of each account."""
        asyncio.run(self.accept(accounts, each))

    async def accept(self, accounts: Mapping[str, int], each: int) -> None:
        app = Postino(self.settings)
        await app.store.migrate()
        async with app:
            names = [name for network, count in accounts.items() for name in await self.open(app, network, count)]
            for number in range(each):
                await app.posts.schedule(PostRequest(content=Content(body=f"post {number}"), accounts=tuple(names)))

    async def open(self, app: Postino, network: str, count: int) -> list[str]:
        opened = self.oracle.ask("accounts", {"network": network, "count": count})["data"]
        return [
            (
                await app.accounts.add(
                    network,
                    known["handle"],
                    known["credentials"],
                    base_url=f"sandbox:/{network}",
                    remote_id=known["remote_id"],
                )
            ).id
            for known in opened
        ]

    def fault(self, network: str, fault: str, **told: Any) -> None:
        self.oracle.ask("faults", {"network": network, "fault": fault, "rate": 1, **told})

    def start(self) -> None:
        postino = str(Path(sys.executable).with_name("postino"))
        command = [*die_with_parent(), postino, "worker", "--data-dir", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self.workers.append(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log))

    def wait_until_out(self, networks: tuple[str, ...], seconds: float) -> None:
        """Until the store knows the end of every post on these networks."""
        channels = ", ".join(f"'{network}'" for network in networks)
        deadline = time.monotonic() + seconds
        while self.books.ask(LEFT.format(channels=channels))[0][0]:
            self.check()
            if time.monotonic() > deadline:
                raise Failed(f"not all was published within {seconds:.0f} s: {self.read_log_tail()}")
            time.sleep(LOOK_EVERY)

    def check(self) -> None:
        if any(worker.poll() is not None for worker in self.workers):
            raise Failed(f"a worker ended: {self.read_log_tail()}")
        with contextlib.suppress(psutil.NoSuchProcess):
            memory = sum(psutil.Process(worker.pid).memory_info().rss for worker in self.workers) / 1e6
            self.most_memory = max(self.most_memory, memory)

    def read_log_tail(self) -> str:
        return (self.folder / "log").read_text().strip()[-600:]

    def visible(self, *networks: str) -> list[LoggedCall]:
        """The calls by which posts were published."""
        found = [it for network in networks for it in read_calls(self.oracle, network)]
        return [it for it in found if it.endpoint == VISIBLE[it.network] and it.status == 200]
