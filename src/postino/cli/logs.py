"""Target logs go: to stderr, for eyes in a terminal, as JSON lines in a pipe. Stdout is for answers."""

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
    configure(sys.stderr, level, for_eyes() if sys.stderr.isatty() else for_programs())


def to_file(path: Path, level: str = "info") -> None:
    """A fresh one, to which others may add."""
    path.write_bytes(b"")
    configure(path.open("a", encoding="utf-8", buffering=1), level, for_programs())


def configure(stream: TextIO, level: str, rendered: Iterable[Processor]) -> None:
    structlog.configure(
        processors=[*shared(), *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_: Unfailing(stream),
        cache_logger_on_first_use=False,
    )


class Unfailing(structlog.WriteLogger):
    """A log that cannot be written, on a full disk or to a reader who left, must not stop what it tells about."""

    def msg(self, message: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().msg(message)

    log = debug = info = warn = warning = fatal = failure = err = error = critical = exception = msg


def shared() -> Iterable[Processor]:
    yield structlog.contextvars.merge_contextvars
    yield structlog.processors.add_log_level
    yield structlog.processors.TimeStamper(fmt="iso", utc=True)


def for_eyes() -> Iterable[Processor]:
    plain = structlog.dev.plain_traceback
    yield structlog.dev.ConsoleRenderer(colors=not os.environ.get("NO_COLOR"), exception_formatter=plain)


def for_programs() -> Iterable[Processor]:
    yield structlog.processors.format_exc_info
    yield structlog.processors.JSONRenderer()
