"""Run Postino as a service: a database, `postino server`, `postino worker` and the sandbox as processes."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import HTTPError

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
rate = {rate}
"""
SANDBOX = """
[sandbox]
url = "{sandbox}"
"""


class Service:
    """One data directory and its processes. Each process is started explicitly; `__exit__` ends and deletes all."""

    def __init__(self, server: PostgresServer, store: Store, *, rate: float = 0) -> None:
        self.server, self.store, self.rate = server, store, rate
        self.folder = Path(tempfile.mkdtemp(prefix="postino-service-"))
        self.database = f"sqlite:///{self.folder / 'postino.db'}" if store == "sqlite" else server.create_database()
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.url = ""

    def __enter__(self) -> Self:
        try:
            self.add_settings(SETTINGS.format(url=self.database, rate=self.rate))
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

    def add_settings(self, settings: str) -> None:
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
        await app.apply_settings()
        await app.close()

    def start_sandbox(self) -> str:
        """Start the simulated networks. Call this before the server and the worker start."""
        command = [sys.executable, "-m", "postino.sandbox", "--data-dir", str(self.folder), "--port", "0"]
        url = str(self.start_process("sandbox", command)["url"])
        self.add_settings(SANDBOX.format(sandbox=url))
        return url

    def start(self) -> str:
        """Start the API."""
        self.url = str(self.start_process("server", self.postino("server", "--port", "0", "--json"))["url"])
        return self.url

    def start_limit(self) -> str:
        """Start the bare API that Postino is compared with, on the same database."""
        command = [sys.executable, "-m", "benchmarks.peers.raw_api"]
        return str(self.start_process("server", command, BENCH_URL=self.database)["url"])

    def start_worker(self) -> None:
        self.spawn("worker", self.postino("worker"))

    def postino(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "postino", *words, "--data-dir", str(self.folder)]

    def start_process(self, name: str, command: list[str], **more: str) -> dict[str, Any]:
        """Start a process and return the JSON of its first line, which it prints when it is ready."""
        process = self.spawn(name, command, **more)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise Failed(f"{name} did not start: {self.read_log_tail()}")
        ready_line: dict[str, Any] = json.loads(line)
        return ready_line

    def spawn(self, name: str, command: list[str], **more: str) -> "subprocess.Popen[str]":
        state = {"POSTINO_STATE_DIR": str(self.folder / "state")}
        with (self.folder / "log").open("a") as log:
            self.processes[name] = subprocess.Popen(
                [*die_with_parent(), *command], env=environment() | state | more, cwd=ROOT,
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        return self.processes[name]

    def ask(self, method: str, path: str, body: Any = None, *, url: str | None = None) -> Any:
        """Send one request with the owner's key; raise an error unless the response is a success."""
        sent = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request((url or self.url) + path, sent, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return json.loads(response.read())
        except HTTPError as error:
            raise Failed(f"{method} {path}: {error.code}: {error.read().decode()[:400]}") from None

    def open_accounts(self, count: int, brands: int) -> list[str]:
        """Create accounts on each network, spread over brands; no network knows their credentials."""
        accounts = [
            StoredAccount(
                id=f"{network}:account{number}", network=network, handle=f"account{number}", sealed=b"nothing",
                base_url=f"sandbox:/{network}", brand=f"brand {number % brands}",
            )
            for network in NETWORKS
            for number in range(count)
        ]  # fmt: skip
        asyncio.run(self.put_accounts(accounts))
        return [account.id for account in accounts]

    async def put_accounts(self, accounts: list[StoredAccount]) -> None:
        async with Postino(self.settings) as app:
            await asyncio.gather(*map(app.store.save_account, accounts))

    def open_sandbox_accounts(self, sandbox: str, count: int, brands: int) -> list[str]:
        """Create accounts that the simulated networks know."""
        sandbox_accounts = {
            network: self.ask("POST", "/_sandbox/accounts", {"network": network, "count": count}, url=sandbox)["data"]
            for network in NETWORKS
        }
        return asyncio.run(self.add_accounts(sandbox_accounts, brands))

    async def add_accounts(self, sandbox_accounts: Mapping[str, list[dict[str, Any]]], brands: int) -> list[str]:
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
                for network, opened in sandbox_accounts.items()
                for number, one in enumerate(opened)
            ]

    def open_own_server_accounts(self, origins: Sequence[str], brand: str, each: int) -> list[str]:
        """Create Mastodon accounts of a brand on servers of its own."""
        return asyncio.run(self.add_own_server_accounts(origins, brand, each))

    async def add_own_server_accounts(self, origins: Sequence[str], brand: str, each: int) -> list[str]:
        async with Postino(self.settings) as app:
            credentials = {"access_token": "token"}
            added = [
                await app.accounts.add("mastodon", f"own{place}.{number}", credentials, base_url=origin, brand=brand)
                for place, origin in enumerate(origins)
                for number in range(each)
            ]
            return [account.id for account in added]

    def memory(self, name: str) -> float:
        """Return the resident memory of a process, in MB."""
        return float(psutil.Process(self.processes[name].pid).memory_info().rss) / 1e6

    def wait_until_idle(self, name: str) -> float:
        """Wait until the process is idle; return its resident memory, in MB."""
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


def run_client(part: str, **options: Any) -> dict[str, Any]:
    """Run clients in a process of their own, so that they do not slow down the server; return their result."""
    return run_client_with_priority(0, part, **options)


def run_client_with_priority(nice: int, part: str, **options: Any) -> dict[str, Any]:
    command = ["nice", "-n", str(nice), sys.executable, "-m", f"benchmarks.clients.{part}", json.dumps(options)]
    result = subprocess.run(
        command, env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if result.returncode:
        raise Failed(f"{part} failed: {result.stderr.strip()[-600:]}")
    answer: dict[str, Any] = json.loads(result.stdout.strip().splitlines()[-1])
    return answer


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PG", "POSTINO_"))}
