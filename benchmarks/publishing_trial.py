"""Postino publishes to simulated networks: a sandbox, a database and workers, each in its own process."""

import asyncio
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from benchmarks.install import ROOT
from benchmarks.service import environment
from benchmarks.trial import Failed, Store, die_with_parent
from postino import Postino
from postino.config import Config, load_config
from postino.publishing.post_request import PostRequest
from postino.values.content import Content
from tests.crash.publishing.oracle import Oracle
from tests.crash.sql import SqlConnection
from tests.gates.call_log import LoggedCall, read_calls
from tests.servers.postgres import PostgresServer

UNFINISHED = "SELECT count(*) FROM postino.jobs WHERE channel IN ({channels})"
POSTINO = str(Path(sys.executable).with_name("postino"))
VISIBLE = {"bluesky": "putRecord", "mastodon": "statuses", "telegram": "sendMessage"}
CHECK_EVERY = 0.1  # seconds
PATIENCE = 60.0
SETTINGS = """
[database]
url = "{url}"
[sandbox]
url = "{sandbox}"
"""


class PublishingTrial:
    """One database, one sandbox and workers, all removed at the end. The sandbox keeps what was published."""

    def __init__(self, server: PostgresServer, store: Store = "postgres") -> None:
        self.server, self.store = server, store
        self.folder = Path(tempfile.mkdtemp(prefix="postino-bench-"))
        self.url = f"sqlite:///{self.folder / 'postino.db'}" if store == "sqlite" else server.create_database()
        self.oracle = Oracle(self.folder)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.account_ids: list[str] = []
        self.contents = 0
        self.most_memory = 0.0

    def __enter__(self) -> Self:
        self.oracle.start()
        (self.folder / "postino.toml").write_text(SETTINGS.format(url=self.url, sandbox=self.oracle.url))
        asyncio.run(self.migrate())
        self.sql = SqlConnection(self.url)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.kill()
            worker.communicate()
        self.sql.close()
        self.oracle.kill()
        if self.store == "postgres":
            self.server.drop_database(self.url)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def settings(self) -> Config:
        return load_config(self.folder, environment={})

    async def migrate(self) -> None:
        app = Postino(self.settings)
        await app.store.migrate()
        await app.apply_settings()
        await app.close()

    def add_settings(self, settings: str) -> None:
        """Add settings for the workers that start from now on."""
        with (self.folder / "postino.toml").open("a") as file:
            file.write(settings)

    def open_accounts(self, accounts: Mapping[str, int]) -> None:
        """Open this many accounts on each network."""
        asyncio.run(self.add_accounts(accounts))

    async def add_accounts(self, accounts: Mapping[str, int]) -> None:
        async with Postino(self.settings) as app:
            for network, count in accounts.items():
                self.account_ids += await self.open(app, network, count)

    def schedule(self, each: int) -> None:
        """Schedule this many posts for each account, due now."""
        asyncio.run(self.create_posts(each))

    async def create_posts(self, each: int) -> None:
        async with Postino(self.settings) as app:
            for _ in range(each):
                self.contents += 1
                content = Content(body=f"post {self.contents}")
                await app.posts.schedule(PostRequest(content=content, accounts=tuple(self.account_ids)))

    async def open(self, app: Postino, network: str, count: int) -> list[str]:
        """Open accounts on a simulated network and add them to Postino; return their ids."""
        opened = self.oracle.ask("accounts", {"network": network, "count": count})["data"]
        return [
            (
                await app.accounts.add(
                    network,
                    account["handle"],
                    account["credentials"],
                    base_url=f"sandbox:/{network}",
                    remote_id=account["remote_id"],
                )
            ).id
            for account in opened
        ]

    def fault(self, network: str, fault: str, **details: Any) -> None:
        """Make every call to this network fail or wait in this way."""
        self.oracle.ask("faults", {"network": network, "fault": fault, "rate": 1, **details})

    def start(self, command: Sequence[str] = (POSTINO, "worker")) -> "subprocess.Popen[bytes]":
        """Start a worker."""
        state = {"POSTINO_STATE_DIR": str(self.folder / "state")}
        with (self.folder / "log").open("ab") as log:
            worker = subprocess.Popen(
                [*die_with_parent(), *command, "--data-dir", str(self.folder)],
                env=environment() | state, cwd=ROOT, stdout=log, stderr=log,
            )  # fmt: skip
        self.workers.append(worker)
        return worker

    def stop(self, worker: "subprocess.Popen[bytes]") -> None:
        """Stop a worker as an operator does."""
        worker.send_signal(signal.SIGTERM)
        if code := worker.wait(PATIENCE):
            raise Failed(f"a worker ended with {code}: {self.read_log_tail()}")
        self.workers.remove(worker)

    def wait_until_published(self, networks: tuple[str, ...], seconds: float) -> None:
        """Wait until no post on these networks is unfinished."""
        channels = ", ".join(f"'{network}'" for network in networks)
        deadline = time.monotonic() + seconds
        while self.sql.ask(UNFINISHED.format(channels=channels))[0][0]:
            self.check()
            if time.monotonic() > deadline:
                raise Failed(f"some posts were not published within {seconds:.0f} s: {self.read_log_tail()}")
            time.sleep(CHECK_EVERY)

    def check(self) -> None:
        """Raise an error if a worker has ended, and note the workers' memory."""
        if any(worker.poll() is not None for worker in self.workers):
            raise Failed(f"a worker ended: {self.read_log_tail()}")
        with contextlib.suppress(psutil.NoSuchProcess):
            memory = sum(psutil.Process(worker.pid).memory_info().rss for worker in self.workers) / 1e6
            self.most_memory = max(self.most_memory, memory)

    def read_log_tail(self) -> str:
        return (self.folder / "log").read_text().strip()[-600:]

    def list_visible_calls(self, *networks: str) -> list[LoggedCall]:
        """Return the calls that published posts."""
        calls = [it for network in networks for it in read_calls(self.oracle, network)]
        return [it for it in calls if it.endpoint == VISIBLE[it.network] and it.status == 200]
