"""A web server as a child process of the tests, on a free local port; it ends with the test run."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

PATIENCE = 30.0  # seconds for a start: ordinarily under five
BUILD = Path(__file__).parents[2] / "build" / "servers"

# A parent-death signal is sent when the *thread* that started the child ends, so they are all started by this one.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="child-spawner")


class ChildServer(ABC):
    """Starts on entering; on leaving, and whenever the run dies, it is killed and its directory removed."""

    health: str  # a path that is answered once the server is ready

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="postino-server-"))
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        path = self.directory / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    @abstractmethod
    def command(self) -> list[str]: ...

    def environment(self) -> dict[str, str]:
        return {}

    def __enter__(self) -> Self:
        try:
            for tries_left in (2, 1, 0):
                self.port = _free_port()
                if self._launch():
                    return self
                # The port is chosen before the server can hold it: another run may have been quicker.
                if not tries_left or "in use" not in self.log.lower():
                    break
            raise RuntimeError(f"{type(self).__name__} did not start:\n{self.log[-4000:]}")
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self._kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _launch(self) -> bool:
        wrapper = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        with (self.directory / "log").open("wb") as log:
            self._process = _spawner.submit(
                subprocess.Popen,
                [*wrapper, *self.command()],
                cwd=self.directory,
                env=os.environ | self.environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            ).result()
        deadline = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < deadline:
            if self._answers():
                return True
            time.sleep(0.05)
        self._kill()
        return False

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}{self.health}", timeout=5) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except OSError:
            return False

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError):
                assert self._process.stdin is not None
                self._process.stdin.close()
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None


def _free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])
