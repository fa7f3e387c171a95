"""Real `postino` processes. Tests wait for their output instead of sleeping."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

DEADLINE = 20.0


class Command:
    """A `python -m postino …` process whose output is recorded line by line."""

    def __init__(self, *arguments: object, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "postino", *map(str, arguments)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.out: list[str] = []
        self.err: list[str] = []
        self.news: queue.SimpleQueue[str] = queue.SimpleQueue()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.readers = [
            threading.Thread(target=self.read, args=(self.process.stdout, self.out)),
            threading.Thread(target=self.read, args=(self.process.stderr, self.err)),
        ]
        for reader in self.readers:
            reader.start()

    def read(self, stream: IO[str], kept: list[str]) -> None:
        with stream:
            for line in stream:
                kept.append(line.rstrip("\n"))
                self.news.put(kept[-1])

    def wait_for(self, words: str) -> str:
        """Return the next line on stdout or stderr that contains these words."""
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                line = self.news.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"never printed {words!r}:\n{self.output}") from None
            if words in line:
                return line

    def wait(self) -> int:
        code = self.process.wait(DEADLINE)
        for reader in self.readers:
            reader.join(DEADLINE)
        return code

    @property
    def output(self) -> str:
        return "\n".join([*self.out, *self.err])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
