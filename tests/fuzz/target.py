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

PATIENT = {"POSTINO_PUBLISHING_POLL_TIMEOUT_FACTOR": "1"}  # it does not look for what was lost before it ends itself


class Target(Up):
    """As many requests as one likes: a limit would answer in the place of what is to be tried, and has its own tests.

    What it says is kept as it comes: a full pipe would stop it.
    """

    def __init__(self, folder: Path, database_url: str | None = None) -> None:
        self.settings = {} if database_url is None else {"POSTINO_DATABASE_URL": database_url}
        super().__init__(folder, "--workers", "0", POSTINO_API_RATE="0", **self.settings)
        self.said: list[str] = []
        self.listening = threading.Thread(target=self.listen, daemon=True)
        self.listening.start()

    def listen(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(self.process.stderr)

    @contextmanager
    def worker(self) -> Iterator[None]:
        """One who publishes, for a while."""
        process = subprocess.Popen(
            [sys.executable, "-m", "postino", "worker", "--data-dir", str(self.folder)],
            env=make_environment() | self.settings | {"POSTINO_SANDBOX_URL": self.ready["sandbox_url"]} | PATIENT,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(DEADLINE)

    def troubles(self) -> list[str]:
        """What went wrong inside, though the answer may have hidden it."""
        return [line for line in self.said if '"api.internal_error"' in line]

    def end(self) -> str:
        self.process.wait(DEADLINE)
        self.listening.join(DEADLINE)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return "".join(self.said)
