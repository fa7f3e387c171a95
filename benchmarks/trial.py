"""One contestant on a new database: starts its processes, and ends them."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import psutil
import psycopg

from benchmarks.install import ROOT, Installed
from benchmarks.marks import Marks
from tests.servers.postgres import PostgresServer

PATIENCE = 120.0
Store = Literal["postgres", "sqlite"]


class Failed(Exception):
    """A contestant failed."""


class Trial:
    def __init__(self, server: PostgresServer, installed: Installed, store: Store = "postgres") -> None:
        self.server = server
        self.installed = installed
        self.folder = Path(tempfile.mkdtemp(prefix="postino-bench-"))
        self.file = self.folder / "bench.db"
        self.marks = Marks(self.folder / "marks")
        self.workers: list[subprocess.Popen[str]] = []
        self.counter: psycopg.Connection[Any] | None = None
        self.store = store
        self.url = f"sqlite:///{self.file}" if store == "sqlite" else server.create_database()

    def __enter__(self) -> Self:
        try:
            self.counting: str = self.ask("setup")["left"]
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        if self.counter is not None:
            self.counter.close()
        if self.store == "postgres" and self.server.running:
            self.server.drop_database(self.url)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, verb: str, **options: Any) -> dict[str, Any]:
        """Run one command of the adapter in its own process; return the JSON of its last line."""
        command = [*self.installed.command, verb, json.dumps(options)]
        result = subprocess.run(
            command, env=self.environment(), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        if result.returncode:
            raise Failed(f"{self.installed.subject.title}: {verb} failed: {result.stderr.strip()[-600:]}")
        answer: dict[str, Any] = json.loads(result.stdout.strip().splitlines()[-1])
        return answer

    def start(self, concurrency: int, workers: int = 1) -> None:
        """Start workers; they begin to work when all of them are ready."""
        for _ in range(workers):
            command = [*die_with_parent(), *self.installed.command, "work", json.dumps({"concurrency": concurrency})]
            with (self.folder / "log").open("a") as log:
                worker = subprocess.Popen(
                    command, env=self.environment(), cwd=ROOT, text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                )  # fmt: skip
            self.workers.append(worker)
        for worker in self.workers[-workers:]:
            assert worker.stdout is not None
            if worker.stdout.readline() != "ready\n":
                raise Failed(self.read_log_tail())
        for worker in self.workers[-workers:]:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()

    def check(self) -> None:
        if any(worker.poll() is not None for worker in self.workers):
            raise Failed(self.read_log_tail())

    def read_log_tail(self) -> str:
        return f"{self.installed.subject.title}: the worker ended: {(self.folder / 'log').read_text().strip()[-600:]}"

    def kill(self) -> None:
        """Kill the workers and their child processes with SIGKILL."""
        for worker in self.workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(worker.pid).children(recursive=True):
                    child.kill()
            worker.kill()
            worker.communicate()
        self.workers.clear()

    def memory(self) -> float:
        """Return the resident memory of the workers, in MB."""
        return sum(psutil.Process(worker.pid).memory_info().rss for worker in self.workers) / 1e6

    def count_unfinished(self) -> int:
        """Return the number of unfinished jobs in the store."""
        if self.store == "sqlite":
            with contextlib.closing(sqlite3.connect(self.file, timeout=5)) as connection:
                return int(connection.execute(self.counting).fetchone()[0])
        if self.counter is None:
            self.counter = psycopg.connect(self.url, autocommit=True)
        return int(self.counter.execute(self.counting.encode()).fetchall()[0][0])

    def wait_until_finished(self, seconds: float) -> tuple[int, float]:
        """Wait until no job is unfinished; return the number of unfinished jobs and the time."""
        deadline = time.monotonic() + seconds
        while (left := self.count_unfinished()) and time.monotonic() < deadline:
            self.check()
            time.sleep(0.005)
        return left, time.time()

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "POSTINO_"))}
        added = {"BENCH_URL": self.url, "BENCH_MARKS": str(self.marks.path), "BENCH_MODULES": self.installed.modules}
        return kept | added | {"POSTINO_STATE_DIR": str(self.folder / "state")}


def die_with_parent() -> list[str]:
    """Return a command prefix that ends the process with its parent."""
    return ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
