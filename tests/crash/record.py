"""The record of the killed processes: lines written to disk at once, independently of the store."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postino import Job


class Record:
    """The file in which handlers record what they did."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "record"

    def write(self, *words: object) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, (" ".join(map(str, words)) + "\n").encode())
        os.close(file)

    @contextmanager
    def record_run(self, job: Job) -> Iterator[None]:
        """Record the start and the end of a run; a killed run has no end."""
        self.write("start", job.id, job.token, time.time_ns(), os.getpid())
        try:
            yield
        except Exception:
            self.write("end", job.id, job.token, time.time_ns(), os.getpid())
            raise
        self.write("end", job.id, job.token, time.time_ns(), os.getpid())
