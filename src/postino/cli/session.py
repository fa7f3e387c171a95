"""A command's way to the store: settings, logs to stderr, open, do, close."""

import asyncio
import getpass
import os
import re
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from postino.errors import StoreError, WrongUse

if TYPE_CHECKING:
    from postino.config import Config
    from postino.wiring import Postino

T = TypeVar("T")
SANDBOX_URL = "sandbox.url"  # in the data directory
PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@|(?<=[?&]password=)[^&]*")


@dataclass(frozen=True, slots=True)
class Where:
    """Which queue, as told by the options; absent ones leave it to the environment and the file."""

    data_dir: Path | None = None
    database_url: str | None = None

    def config(self) -> "Config":
        from postino import config

        self.check()
        folder = None if self.data_dir is None else self.data_dir.expanduser()
        told = config.load(folder, {"database": {"url": self.database_url}})
        return told if told.sandbox.url else replace(told, sandbox=config.SandboxConfig(remembered(told.data_dir)))

    def check(self) -> None:
        said = "--data-dir" if self.data_dir is not None else "POSTINO_DATA_DIR"
        folder = self.data_dir or Path(os.environ.get("POSTINO_DATA_DIR", ""))
        if folder.expanduser().is_file():
            raise WrongUse(f"{said}: {folder} is a file, not a directory.", field="data_dir")

    def command(self, words: str) -> str:
        """A command as one would type it here, to get to the same queue."""
        return f"{program()} {words}{self.options()}"

    def options(self) -> str:
        url = None if self.database_url is None else PASSWORD.sub(hidden, self.database_url)
        said = (("--data-dir", self.data_dir), ("--database-url", url))
        return "".join(f" {option} {shlex.quote(str(value))}" for option, value in said if value is not None)


def remembered(data_dir: Path) -> str:
    """Where the sandbox of this data directory was last: it comes back to the same address."""
    try:
        return (data_dir / SANDBOX_URL).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def hidden(password: re.Match[str]) -> str:
    return "…" if password[1] is None else f"{password[1]}:…@"


def program() -> str:
    """`postino` where that is found, else the way it was started."""
    started_by = sys.argv[0]
    if shutil.which("postino"):
        return "postino"
    if Path(started_by).name == "postino":
        return shlex.quote(started_by)
    return f"{shlex.quote(sys.executable)} -m postino"


@contextmanager
def advising(where: Where) -> Iterator[None]:
    """The advice to migrate becomes the command that migrates this very queue."""
    try:
        yield
    except StoreError as error:
        raise type(error)(str(error).replace("`postino migrate`", f"`{where.command('migrate')}`")) from error


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
    with advising(where):
        return asyncio.run(run())


def actor() -> str:
    """Who does it, for the audit trail."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError):  # a user id without a name
        return f"cli:{os.getuid()}"
