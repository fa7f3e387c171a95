"""A command's way to a queue: over the wire to a server, or to the database of this machine."""

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
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from postino.errors import StoreError, WrongUse

if TYPE_CHECKING:
    from postino.client.api import Api
    from postino.client.endpoints import HttpSession
    from postino.config import Config
    from postino.wiring import Postino

    QueueApi: TypeAlias = Api[HttpSession]

T = TypeVar("T")
PATIENCE = timedelta(minutes=2)  # with a server: longer than a large file or simulation takes
SANDBOX_URL = "sandbox.url"  # in the data directory
PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@|(?<=[?&]password=)[^&]*")
ONLY_THERE = ("migrate", "sandbox", "server", "up", "worker")
SERVER, KEY = "POSTINO_SERVER", "POSTINO_API_KEY"
EITHER = "--server: a server has its own database, so leave out --data-dir and --database-url, or --server."
ONLY_HERE = (
    "This works on a database of this machine, and {} names a server elsewhere. Say which database is meant with"
    " --data-dir or --database-url, or run it where the server is."
)
MAKES_ONE = "Run `postino migrate` to create one."
BEGIN = (
    "`{up}` makes one and starts all there is, `{migrate}` makes nothing but the database. If Postino runs elsewhere,"
    f" say where with --server or {SERVER}."
)
NO_KEY = f"The server has to know who asks: put its API key into {KEY}, or into a file and name it with --api-key-file."


@dataclass(frozen=True, slots=True)
class Where:
    """Which queue, as told by the options; absent ones leave it to the environment and the file."""

    data_dir: Path | None = None
    database_url: str | None = None
    server: str | None = None
    key_file: Path | None = None

    def address(self) -> str | None:
        """Of the server that is meant. What is typed counts for more than what the environment says."""
        here = self.data_dir is not None or self.database_url is not None
        if self.server is not None and here:
            raise WrongUse(EITHER, "server")
        return self.server if self.server is not None or here else os.environ.get(SERVER) or None

    def config(self) -> "Config":
        from postino import config

        if self.address() is not None:
            raise WrongUse(ONLY_HERE.format(SERVER if self.server is None else "--server"), "server")
        self.check()
        folder = None if self.data_dir is None else self.data_dir.expanduser()
        told = config.load_config(folder, {"database": {"url": self.database_url}})
        return told if told.sandbox.url else replace(told, sandbox=config.SandboxConfig(remembered(told.data_dir)))

    def key(self) -> str:
        """What opens the server's door. It is in no message."""
        if self.key_file is None:
            said = os.environ.get(KEY, "")
        else:
            try:
                said = self.key_file.expanduser().read_text(errors="replace")
            except OSError as error:
                told = f"--api-key-file: {self.key_file} cannot be read: {error.strerror}."
                raise WrongUse(told, "api_key_file") from None
        if not said.strip():
            raise WrongUse(NO_KEY if self.key_file is None else f"--api-key-file: {self.key_file} is empty.", "api_key")
        return said.strip()

    def check(self) -> None:
        said = "--data-dir" if self.data_dir is not None else "POSTINO_DATA_DIR"
        folder = self.data_dir or Path(os.environ.get("POSTINO_DATA_DIR", ""))
        if folder.expanduser().is_file():
            raise WrongUse(f"{said}: {folder} is a file, not a directory.", field="data_dir")

    def command(self, words: str) -> str:
        """A command as one would type it here, to get to the same queue; or there, where it only works there."""
        elsewhere = self.server is not None and words.split()[0] in ONLY_THERE
        return f"{program()} {words}{'' if elsewhere else self.options()}"

    def starting(self) -> str:
        """How somebody gets a worker: with the networks of a sandbox, where accounts were added to try."""
        if self.address() is not None:
            return f"`{self.command('worker')}` starts one there."
        if remembered(self.config().data_dir):
            return f"`{self.command('up')}` starts one, with the networks to try it on."
        return f"`{self.command('worker')}` starts one."

    def options(self) -> str:
        url = None if self.database_url is None else PASSWORD.sub(hidden, self.database_url)
        said = (
            ("--data-dir", self.data_dir), ("--database-url", url), ("--server", self.server),
            ("--api-key-file", self.key_file),
        )  # fmt: skip
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
        said = str(error).replace(MAKES_ONE, BEGIN.format(up=where.command("up"), migrate=where.command("migrate")))
        raise type(error)(said.replace("`postino migrate`", f"`{where.command('migrate')}`")) from error


@contextmanager
def house(where: Where, *, new: bool = False) -> "Iterator[QueueApi]":
    """All that a queue can be asked. Looking at one never creates it; a `new` one need not exist yet."""
    from postino.cli import logs

    logs.to_stderr("warning")
    if (address := where.address()) is None:
        with advising(where), inside(where.config(), new=new) as found:
            yield found
        return
    from postino.client import Client

    yield Client(address, where.key(), timeout=PATIENCE)


@contextmanager
def inside(config: "Config", *, new: bool) -> "Iterator[QueueApi]":
    from postino.cli.inside import Inside
    from postino.client import Api, RetryOptions
    from postino.client.endpoints import HttpSession
    from postino.wiring import Postino

    postino = Postino(config)
    with asyncio.Runner() as runner:
        try:
            runner.run(opened(postino, new=new))
            yield Api(HttpSession(Inside(postino, actor(), runner), RetryOptions(attempts=1)))
        finally:
            runner.run(postino.close())


async def opened(postino: "Postino", *, new: bool) -> None:
    if not new:
        await postino.store.open()
    await postino.open()


def perform(where: Where, work: Callable[["Postino"], Awaitable[T]]) -> T:
    """Runs one piece of work on a database of this machine, which need not be there yet and is not opened."""
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
