"""A command's way to the store: settings, logs to stderr, open, do, close."""

import asyncio
import getpass
import os
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from postino.config import Config
    from postino.wiring import Postino

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Where:
    """Which queue, as told by the options; absent ones leave it to the environment and the file."""

    data_dir: Path | None = None
    database_url: str | None = None

    def config(self) -> "Config":
        from postino import config

        folder = None if self.data_dir is None else self.data_dir.expanduser()
        return config.load(folder, {"database": {"url": self.database_url}})

    def options(self) -> str:
        """As one would type them, to get to the same queue."""
        said = (("--data-dir", self.data_dir), ("--database-url", self.database_url))
        return "".join(f" {option} {shlex.quote(str(value))}" for option, value in said if value is not None)


def perform(where: Where, work: Callable[["Postino"], Awaitable[T]]) -> T:
    """Runs one piece of work on an existing queue. Looking at one never creates it."""

    async def opened(app: "Postino") -> T:
        await app.store.open()
        await app.open()
        return await work(app)

    return perform_closed(where, opened)


def perform_closed(where: Where, work: Callable[["Postino"], Awaitable[T]]) -> T:
    """The same with a queue that need not exist yet."""
    from postino.cli import logs
    from postino.wiring import Postino

    async def run() -> T:
        app = Postino(config)
        try:
            return await work(app)
        finally:
            await app.close()

    logs.to_stderr("warning")
    config = where.config()
    return asyncio.run(run())


def actor() -> str:
    """Who does it, for the audit trail."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError):  # a user id without a name
        return f"cli:{os.getuid()}"
