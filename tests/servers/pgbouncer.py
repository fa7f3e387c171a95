"""A PgBouncer private to the tests, in front of a PostgreSQL server of theirs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import psycopg

from tests.servers import ServerMissing
from tests.servers.postgres import PATIENCE, free_port, spawn, unprivileged_account, wrap_command

SETTINGS = """
[databases]
* = host=127.0.0.1 port={server_port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = plain
auth_file = {users}
pool_mode = {mode}
default_pool_size = {size}
server_idle_timeout = 5
{more}
"""


def find_program() -> Path:
    """Return PgBouncer's program on this machine."""
    for place in (shutil.which("pgbouncer"), "/usr/sbin/pgbouncer"):
        if place and os.access(place, os.X_OK):
            return Path(place)
    raise ServerMissing("PgBouncer is not installed: run `make servers`, or `sudo apt-get install pgbouncer`")


class PgBouncer:
    """Starts on entering, on a free port, as an unprivileged user; leaves nothing behind.

    With few server connections and many clients, every transaction may get another session.
    """

    def __init__(self, url: str, *, mode: str = "transaction", size: int = 3, more: str = "") -> None:
        program, account = find_program(), unprivileged_account()
        self.server = urlsplit(url)
        self.directory = Path(tempfile.mkdtemp(prefix="postino-bouncer-"))
        self.port = free_port()
        users, settings = self.directory / "users", self.directory / "pgbouncer.ini"
        users.write_text(f'"{self.server.username}" "{self.server.password}"\n')
        settings.write_text(
            SETTINGS.format(server_port=self.server.port, port=self.port, users=users, mode=mode, size=size, more=more)
        )
        for path in (self.directory, users, settings):
            if account:
                os.chown(path, account.pw_uid, account.pw_gid)
        self.command = wrap_command([str(program), str(settings)], account, "KILL")
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with (self.directory / "log").open("wb") as log:
            self.process = spawn(self.command, self.directory, log)
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.get_url("postgres"), connect_timeout=2).close()
                return self
            time.sleep(0.02)
        log_text = (self.directory / "log").read_text()
        self.__exit__()
        raise RuntimeError(f"PgBouncer did not start:\n{log_text[-4000:]}")

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
        shutil.rmtree(self.directory, ignore_errors=True)

    def get_url(self, database: str) -> str:
        """Return the address of a database through this pooler."""
        netloc = re.sub(r":\d+$", f":{self.port}", self.server.netloc)
        return f"postgresql://{netloc}/{database}"

    def translate(self, url: str) -> str:
        """Return the address, through this pooler, of a database whose direct address is given."""
        return self.get_url(url.rpartition("/")[2])
