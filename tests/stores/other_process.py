"""Run operations on a SQLite store in another process: one line on standard input is one order."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postino.errors import StoreUnreachable
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store


class OtherProcess:
    """A process that has the store open."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def count_jobs(self) -> str:
        """Return the number of jobs that the process reads, or the error that it gets."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("count\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def open_in_other_process(path: Path) -> Iterator[OtherProcess]:
    command = [sys.executable, "-m", "tests.stores.other_process", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield OtherProcess(process)
        process.communicate()


async def answer_orders(path: Path) -> None:
    store = Store(Sqlite(path))
    await store.open()
    while await asyncio.to_thread(sys.stdin.readline):
        try:
            answer = str(sum(depth.jobs for depth in await store.queue_depths()))
        except StoreUnreachable:
            answer = "unreachable"
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    await store.close()


if __name__ == "__main__":
    import structlog

    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(answer_orders(Path(sys.argv[1])))
