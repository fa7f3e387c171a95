"""The Postino that is fuzzed, on either store: API and simulated networks, without a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.api.processes import DEADLINE, Up, make_environment

SLOW_LOOKUPS = {"POSTINO_PUBLISHING_TIMEOUT_FACTOR": "1"}  # the worker ends before it looks up lost responses


class Target(Up):
    """Without a rate limit, which would hide other responses. Its log is always read: a full pipe would block it."""

    def __init__(self, folder: Path, database_url: str | None = None) -> None:
        self.settings = {} if database_url is None else {"POSTINO_DATABASE_URL": database_url}
        super().__init__(folder, "--workers", "0", POSTINO_API_RATE="0", **self.settings)
        self.log_lines: list[str] = []
        self.listening = threading.Thread(target=self.listen, daemon=True)
        self.listening.start()

    def listen(self) -> None:
        assert self.process.stderr is not None
        self.log_lines.extend(self.process.stderr)

    @contextmanager
    def worker(self) -> Iterator[None]:
        """Run a worker for a while."""
        process = subprocess.Popen(
            [sys.executable, "-m", "postino", "worker", "--data-dir", str(self.folder)],
            env=make_environment() | self.settings | {"POSTINO_SANDBOX_URL": self.ready["sandbox_url"]} | SLOW_LOOKUPS,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(DEADLINE)

    def list_internal_errors(self) -> list[str]:
        """Return the log lines of internal errors."""
        return [line for line in self.log_lines if '"api.internal_error"' in line]

    def end(self) -> str:
        self.process.wait(DEADLINE)
        self.listening.join(DEADLINE)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return "".join(self.log_lines)
