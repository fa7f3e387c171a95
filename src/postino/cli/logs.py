"""Configure logs: on stderr, readable in a terminal and as JSON lines elsewhere. Stdout holds only results."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import structlog
from structlog.typing import Processor


def to_stderr(level: str = "info") -> None:
    configure(sys.stderr, level, console_processors() if sys.stderr.isatty() else json_processors())


def to_file(path: Path, level: str = "info") -> None:
    """Log to an empty file, to which other processes may append."""
    path.write_bytes(b"")
    configure(path.open("a", encoding="utf-8", buffering=1), level, json_processors())


def configure(stream: TextIO, level: str, rendered: Iterable[Processor]) -> None:
    structlog.configure(
        processors=[*common_processors(), *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_: TolerantLogger(stream),
        cache_logger_on_first_use=False,
    )


class TolerantLogger(structlog.WriteLogger):
    """Ignores write errors: a full disk or closed pipe must not stop the program."""

    def msg(self, message: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().msg(message)

    log = debug = info = warn = warning = fatal = failure = err = error = critical = exception = msg


def common_processors() -> Iterable[Processor]:
    yield structlog.contextvars.merge_contextvars
    yield structlog.processors.add_log_level
    yield structlog.processors.TimeStamper(fmt="iso", utc=True)


def console_processors() -> Iterable[Processor]:
    plain = structlog.dev.plain_traceback
    yield structlog.dev.ConsoleRenderer(colors=not os.environ.get("NO_COLOR"), exception_formatter=plain)


def json_processors() -> Iterable[Processor]:
    yield structlog.processors.format_exc_info
    yield structlog.processors.JSONRenderer()
