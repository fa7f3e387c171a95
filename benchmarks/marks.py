"""The lines that the handlers of a run wrote: one for each job."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Mark(NamedTuple):
    number: int
    wanted_at: float
    started_at: float


class Marks:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self.seen = 0
        self.lines = 0

    def count(self) -> int:
        """Return the number of marks. Reads only new lines, so frequent calls cost little."""
        if self.path.stat().st_size > self.seen:
            with self.path.open("rb") as file:
                file.seek(self.seen)
                new = file.read()
            self.seen += len(new)
            self.lines += new.count(b"\n")
        return self.lines

    def wait_for(self, count: int, seconds: float, meanwhile: Callable[[], None]) -> bool:
        """Wait for a number of marks; return whether they came in time."""
        deadline = time.monotonic() + seconds
        while self.count() < count:
            if time.monotonic() > deadline:
                return False
            meanwhile()
            time.sleep(0.01)
        return True

    def read(self) -> list[Mark]:
        lines = self.path.read_text().splitlines()
        return [Mark(int(number), float(wanted), float(started)) for number, wanted, started in map(str.split, lines)]

    def distinct(self) -> int:
        return len({mark.number for mark in self.read()})
