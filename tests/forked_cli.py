"""Run `postino` commands in processes forked from one that has imported it: most of a start is importing."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PATIENCE = 60.0


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class Forker:
    """The process that has imported Postino and forks for each command."""

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked_cli"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=Path(__file__).parents[1],
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(PATIENCE)

    def run(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Done:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with tempfile.TemporaryDirectory() as spool:
            wanted = {"words": [*words], "folder": str(folder), "environment": {**environment}, "spool": spool}
            self.process.stdin.write(json.dumps(wanted) + "\n")
            self.process.stdin.flush()
            code = int(self.process.stdout.readline())
            out, err = (Path(spool, name).read_text() for name in ("out", "err"))
            return Done(code, out, err)


def perform(words: list[str], folder: str, environment: dict[str, str], spool: str) -> None:
    """Run a command in the child, as if it had been started directly."""
    from postino.cli import main

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(Path(spool, name), os.O_CREAT | os.O_WRONLY), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["postino", *words]
    main(words)


def serve() -> None:
    import postino.api.server
    import postino.cli
    import postino.forecast.forecast
    import postino.wiring  # noqa: F401 - to have it imported is all

    gc.freeze()
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            perform(**wanted)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
