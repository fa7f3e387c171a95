"""Postino as a service: a database, and `postino server`, `postino worker` and the sandbox as their own processes."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from benchmarks.install import ROOT
from benchmarks.trial import Failed, Store, die_with_parent
from postino import Postino
from postino.config import Config, load_config
from postino.values.post import StoredAccount
from tests.servers.postgres import PostgresServer

PATIENCE = 300.0
STORES: Mapping[Store, tuple[str, str]] = {"postgres": ("", "PostgreSQL"), "sqlite": ("-sqlite", "SQLite")}
NETWORKS = ("bluesky", "mastodon", "telegram")
SETTINGS = """
[database]
url = "{url}"
[api]
rate = 0
"""
SANDBOX = """
[sandbox]
url = "{sandbox}"
"""


class Service:
    """One data directory, gone afterwards. Nothing runs before it is started; what runs is ended by its id."""

    def __init__(self, server: PostgresServer, store: Store) -> None:
        self.server, self.store = server, store
        self.folder = Path(tempfile.mkdtemp(prefix="postino-service-"))
        self.database = f"sqlite:///{self.folder / 'postino.db'}" if store == "sqlite" else server.create_database()
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.url = ""

    def __enter__(self) -> Self:
        try:
            self.tell(SETTINGS.format(url=self.database))
            asyncio.run(self.migrate())
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()
        if self.store == "postgres" and self.server.running:
            self.server.drop_database(self.database)
        shutil.rmtree(self.folder, ignore_errors=True)

    def tell(self, settings: str) -> None:
        with (self.folder / "postino.toml").open("a") as file:
            file.write(settings)

    @property
    def settings(self) -> Config:
        return load_config(self.folder, environment={})

    @property
    def key(self) -> str:
        path = self.folder / "api.key"
        return path.read_text().strip() if path.exists() else ""

    async def migrate(self) -> None:
        app = Postino(self.settings)
        await app.store.migrate()
        await app.close()

    def start_sandbox(self) -> str:
        """The simulated networks; before whoever publishes to them."""
        command = [sys.executable, "-m", "postino.sandbox", "--data-dir", str(self.folder), "--port", "0"]
        url = str(self.start_process("sandbox", command)["url"])
        self.tell(SANDBOX.format(sandbox=url))
        return url

    def start(self) -> str:
        """The API."""
        self.url = str(self.start_process("server", self.postino("server", "--port", "0", "--json"))["url"])
        return self.url

    def start_limit(self) -> str:
        """A bare API beside which Postino's is measured, on the same database."""
        command = [sys.executable, "-m", "benchmarks.peers.raw_api"]
        return str(self.start_process("server", command, BENCH_URL=self.database)["url"])

    def start_worker(self) -> None:
        self.spawn("worker", self.postino("worker"))

    def postino(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "postino", *words, "--data-dir", str(self.folder)]

    def start_process(self, name: str, command: list[str], **more: str) -> dict[str, Any]:
        """With what it says in its first line, when it is ready."""
        process = self.spawn(name, command, **more)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise Failed(f"{name} did not start: {self.read_log_tail()}")
        told: dict[str, Any] = json.loads(line)
        return told

    def spawn(self, name: str, command: list[str], **more: str) -> "subprocess.Popen[str]":
        with (self.folder / "log").open("a") as log:
            self.processes[name] = subprocess.Popen(
                [*die_with_parent(), *command], env=environment() | more, cwd=ROOT,
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        return self.processes[name]

    def ask(self, method: str, path: str, body: Any = None, *, url: str | None = None) -> Any:
        """One request, by the first key; what is no success is an error."""
        sent = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request((url or self.url) + path, sent, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def open_accounts(self, count: int, brands: int) -> list[str]:
        """So many on each network, of as many brands; their credentials are no network's."""
        made_up = [
            StoredAccount(
                id=f"{network}:account{number}", network=network, handle=f"account{number}", sealed=b"nothing",
                base_url=f"sandbox:/{network}", brand=f"brand {number % brands}",
            )
            for network in NETWORKS
            for number in range(count)
        ]  # fmt: skip
        asyncio.run(self.put_accounts(made_up))
        return [account.id for account in made_up]

    async def put_accounts(self, accounts: list[StoredAccount]) -> None:
        async with Postino(self.settings) as app:
            await asyncio.gather(*map(app.store.save_account, accounts))

    def open_sandbox_accounts(self, sandbox: str, count: int, brands: int) -> list[str]:
        """The same on the simulated networks, which know them."""
        known = {
            network: self.ask("POST", "/_sandbox/accounts", {"network": network, "count": count}, url=sandbox)["data"]
            for network in NETWORKS
        }
        return asyncio.run(self.add_accounts(known, brands))

    async def add_accounts(self, known: Mapping[str, list[dict[str, Any]]], brands: int) -> list[str]:
        async with Postino(self.settings) as app:
            return [
                (
                    await app.accounts.add(
                        network,
                        one["handle"],
                        one["credentials"],
                        base_url=f"sandbox:/{network}",
                        remote_id=one["remote_id"],
                        brand=f"brand {number % brands}",
                    )
                ).id
                for network, those in known.items()
                for number, one in enumerate(those)
            ]

    def memory(self, name: str) -> float:
        """Resident megabytes of one of the processes."""
        return float(psutil.Process(self.processes[name].pid).memory_info().rss) / 1e6

    def wait_until_idle(self, name: str) -> float:
        """The same once it does nothing any more."""
        process = psutil.Process(self.processes[name].pid)
        for _ in range(10):
            before = sum(process.cpu_times()[:2])
            time.sleep(0.3)
            if sum(process.cpu_times()[:2]) - before < 0.03:
                break
        return self.memory(name)

    def check(self) -> None:
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise Failed(f"{name} ended: {self.read_log_tail()}")

    def read_log_tail(self) -> str:
        return (self.folder / "log").read_text().strip()[-600:]


def run_client(part: str, **wanted: Any) -> dict[str, Any]:
    """What a process of the clients' own found out: the server is measured, not whoever asks it."""
    command = [sys.executable, "-m", f"benchmarks.clients.{part}", json.dumps(wanted)]
    ran = subprocess.run(
        command, env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if ran.returncode:
        raise Failed(f"{part} failed: {ran.stderr.strip()[-600:]}")
    answer: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    return answer


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PG", "POSTINO_"))}
