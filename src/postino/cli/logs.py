"""Configure logs: on stderr, readable in a terminal and as JSON lines elsewhere. Stdout holds only results."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor

from postino.cli.output import escape_control_characters
from postino.rules.token_patterns import hide_tokens, hide_tokens_in_event


def to_stderr(level: str = "info") -> None:
    configure(sys.stderr, level, console_processors() if sys.stderr.isatty() else json_processors())


def to_file(path: Path, level: str = "info") -> None:
    """Log to an empty file, to which other processes may append."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    configure(os.fdopen(descriptor, "a", encoding="utf-8", buffering=1), level, json_processors())


def configure(stream: TextIO, level: str, rendered: Iterable[Processor]) -> None:
    structlog.configure(
        processors=[*common_processors(), *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_: TolerantLogger(stream),
        cache_logger_on_first_use=False,
    )
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(EscapingFormatter())


class EscapingFormatter(logging.Formatter):
    """Formats what libraries log themselves, such as asyncio about a task that failed."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_control_characters(hide_tokens(super().format(record)))


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
    yield structlog.processors.format_exc_info
    yield hide_tokens_in_event


def console_processors() -> Iterable[Processor]:
    yield escape_values
    yield structlog.dev.ConsoleRenderer(colors=not os.environ.get("NO_COLOR"))


def escape_values(_: object, __: str, event: EventDict) -> EventDict:
    """Escape what a terminal would interpret: a network or a user may have sent it. JSON is ASCII anyway."""
    for name, value in event.items():
        if value is not None and not isinstance(value, bool | int | float):
            escaped = escape_control_characters(str(value))
            event[name] = escaped if name == "exception" else escaped.replace("\n", "\\n")
    return event


def json_processors() -> Iterable[Processor]:
    yield structlog.processors.JSONRenderer()
