"""Connect a command to a queue: to a server over HTTP, or to a database on this machine."""

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

from postino.errors import StoreError, StoreUnreachable, WrongUse
from postino.sandbox.url_file import read_last_url

if TYPE_CHECKING:
    from postino.client.api import Api
    from postino.client.endpoints import HttpSession
    from postino.config import Config
    from postino.wiring import Postino

    QueueApi: TypeAlias = Api[HttpSession]

T = TypeVar("T")
SERVER_TIMEOUT = timedelta(minutes=2)  # longer than a large import or forecast takes
PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@|(?<=[?&]password=)[^&]*")
MIGRATE = re.compile(r"(?:Run )?`postino migrate`[^.]*\.")
LOCAL_COMMANDS = ("migrate", "sandbox", "server", "up", "vault", "worker")
SERVER, KEY = "POSTINO_SERVER", "POSTINO_API_KEY"
SERVER_OR_DATABASE = "--server: a server has its own database. Use either --server, or --data-dir and --database-url."
LOCAL_ONLY = (
    "This command needs a database on this machine, but {} names a server. Pass --data-dir or --database-url, or run"
    " the command on the server's machine."
)
NO_DATABASE = (
    "Run `{up}` to create it and start everything, or `{migrate}` to create only the database. If Postino runs on"
    f" another machine, pass --server or set {SERVER}."
)
NO_KEY = f"The server needs an API key. Set {KEY}, or pass --api-key-file FILE."


@dataclass(frozen=True, slots=True)
class Target:
    """The queue that the options select. Options that are absent come from the environment and the settings file."""

    data_dir: Path | None = None
    database_url: str | None = None
    server: str | None = None
    key_file: Path | None = None

    def server_url(self) -> str | None:
        """Return the URL of the server, or None for a local database. Options override the environment."""
        is_local = self.data_dir is not None or self.database_url is not None
        if self.server is not None and is_local:
            raise WrongUse(SERVER_OR_DATABASE, "server")
        return self.server if self.server is not None or is_local else os.environ.get(SERVER) or None

    def config(self) -> "Config":
        from postino import config

        if self.server_url() is not None:
            raise WrongUse(LOCAL_ONLY.format(SERVER if self.server is None else "--server"), "server")
        self.check_data_dir()
        folder = None if self.data_dir is None else self.data_dir.expanduser()
        loaded = config.load_config(folder, {"database": {"url": self.database_url}})
        if loaded.sandbox.url:
            return loaded
        return replace(loaded, sandbox=config.SandboxConfig(read_last_url(loaded.data_dir)))

    def read_key(self) -> str:
        """Return the API key of the server. No message contains it."""
        if self.key_file is None:
            key = os.environ.get(KEY, "")
        else:
            try:
                key = self.key_file.expanduser().read_text(errors="replace")
            except OSError as error:
                message = f"--api-key-file: {self.key_file} cannot be read: {error.strerror}."
                raise WrongUse(message, "api_key_file") from None
        if not key.strip():
            raise WrongUse(NO_KEY if self.key_file is None else f"--api-key-file: {self.key_file} is empty.", "api_key")
        return key.strip()

    def check_data_dir(self) -> None:
        option = "--data-dir" if self.data_dir is not None else "POSTINO_DATA_DIR"
        folder = self.data_dir or Path(os.environ.get("POSTINO_DATA_DIR", ""))
        if folder.expanduser().is_file():
            raise WrongUse(f"{option}: {folder} is a file, not a directory.", field="data_dir")

    def format_command(self, words: str) -> str:
        """Return a command line that works on the same queue, ready to be copied."""
        runs_on_server = self.server is not None and words.split()[0] in LOCAL_COMMANDS
        return f"{program_name()} {words}{'' if runs_on_server else self.format_options()}"

    def suggest_worker(self) -> str:
        """Say how to start a worker: with the sandbox, if this queue has sandbox accounts."""
        if self.server_url() is not None:
            return f"Start one on the server with `{self.format_command('worker')}`."
        if read_last_url(self.config().data_dir):
            return f"Start one, and the sandbox, with `{self.format_command('up')}`."
        return f"Start one with `{self.format_command('worker')}`."

    def format_options(self) -> str:
        url = None if self.database_url is None else PASSWORD.sub(mask_password, self.database_url)
        options = (
            ("--data-dir", self.data_dir), ("--database-url", url), ("--server", self.server),
            ("--api-key-file", self.key_file),
        )  # fmt: skip
        return "".join(f" {option} {shlex.quote(str(value))}" for option, value in options if value is not None)


def mask_password(password: re.Match[str]) -> str:
    return "…" if password[1] is None else f"{password[1]}:…@"


def program_name() -> str:
    """Return `postino` if it is on the path, else the way this process was started."""
    started_by = sys.argv[0]
    if shutil.which("postino"):
        return "postino"
    if Path(started_by).name == "postino":
        return shlex.quote(started_by)
    return f"{shlex.quote(sys.executable)} -m postino"


@contextmanager
def with_exact_commands(target: Target) -> Iterator[None]:
    """Replace `postino migrate` in errors with the command for this queue."""
    try:
        yield
    except StoreError as error:
        up, migrate = target.format_command("up"), target.format_command("migrate")
        text = str(error)
        if isinstance(error, StoreUnreachable):
            text = MIGRATE.sub(lambda _: NO_DATABASE.format(up=up, migrate=migrate), text)
        raise type(error)(text.replace("`postino migrate`", f"`{migrate}`")) from error


@contextmanager
def open_api(target: Target, *, new: bool = False) -> "Iterator[QueueApi]":
    """Open the API of a queue. Raise an error if its database does not exist, unless `new`."""
    from postino.cli import logs

    logs.to_stderr("warning")
    if (url := target.server_url()) is None:
        with with_exact_commands(target), open_in_process(target.config(), new=new) as api:
            yield api
        return
    from postino.client import Client

    yield Client(url, target.read_key(), timeout=SERVER_TIMEOUT)


@contextmanager
def open_in_process(config: "Config", *, new: bool) -> "Iterator[QueueApi]":
    from postino.cli.in_process import InProcessTransport
    from postino.client import Api, RetryOptions
    from postino.client.endpoints import HttpSession
    from postino.wiring import Postino

    postino = Postino(config)
    with asyncio.Runner() as runner:
        try:
            runner.run(open_postino(postino, new=new))
            transport = InProcessTransport(postino, audit_actor(), runner)
            yield Api(HttpSession(transport, RetryOptions(attempts=1)))
        finally:
            runner.run(postino.close())


async def open_postino(postino: "Postino", *, new: bool) -> None:
    if not new:
        await postino.store.open()
    await postino.open()


def run_on_database(target: Target, work: Callable[["Postino"], Awaitable[T]]) -> T:
    """Run `work` on a local database, which is not opened and need not exist."""
    from postino.cli import logs
    from postino.wiring import Postino

    async def run() -> T:
        app = Postino(config)
        try:
            return await work(app)
        finally:
            await app.close()

    logs.to_stderr("warning")
    config = target.config()
    with with_exact_commands(target):
        return asyncio.run(run())


def audit_actor() -> str:
    """Return the name of the user for the audit trail."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError):  # a user id without a name
        return f"cli:{os.getuid()}"
