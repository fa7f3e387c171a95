"""Backups of the database of a chaos run, made and put back while processes have the database open."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import apsw
import psycopg

from tests.crash.publishing.harness import AcceptedPost
from tests.crash.sql import PATIENCE_MS
from tests.servers import ServerMissing
from tests.servers.postgres import find_binaries

# More is lost than the seconds for which a roll call suffices, so a person is asked.
LONG_UNUSED = "UPDATE postino.database_state SET alive_at = '2020-01-01T00:00:00.000000Z'"
# Of a worker and a restore that wait for each other, the server aborts the worker's transaction.
PATIENT = "-c deadlock_timeout=60s"


@dataclass(frozen=True)
class Backup:
    """A copy of the database, and the posts that it contains."""

    url: str
    path: Path
    posts: tuple[AcceptedPost, ...]

    def make(self, *, is_old: bool) -> None:
        """Copy the database; with `is_old`, as if nobody had used it for long."""
        if self.url.startswith("sqlite:///"):
            copy_file(Path(self.url.removeprefix("sqlite:///")), self.path)
            if is_old:
                run_on_file(self.path, LONG_UNUSED)
            return
        if is_old:
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(LONG_UNUSED)
        run_program("pg_dump", "-d", self.url, "-n", "postino", "-Fc", "-f", str(self.path))

    def put_back(self) -> None:
        """Replace the database by the copy."""
        if self.url.startswith("sqlite:///"):
            replace_file(self.path, Path(self.url.removeprefix("sqlite:///")))
        else:
            restore_dump(self.url, self.path)


def can_back_up(url: str) -> bool:
    """Return whether the programs that this takes are installed."""
    try:
        return url.startswith("sqlite:///") or os.access(find_binaries() / "pg_dump", os.X_OK)
    except ServerMissing:
        return False


def copy_file(path: Path, backup: Path) -> None:
    """Copy an open database as `sqlite3 postino.db .backup` does."""
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    source.set_busy_timeout(PATIENCE_MS)
    target = apsw.Connection(str(backup))
    with target.backup("main", source, "main") as copying:
        while not copying.done:
            copying.step()
    target.execute("PRAGMA journal_mode = DELETE")
    target.close()
    source.close()


def run_on_file(path: Path, statement: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(statement.replace("postino.", "postino_"))
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def replace_file(backup: Path, path: Path) -> None:
    """Replace the file as the docs say: with its log, which SQLite would apply to the new one."""
    new = shutil.copy(backup, path.with_name("next.db"))
    for log in ("-wal", "-shm"):
        path.with_name(path.name + log).unlink(missing_ok=True)
    os.replace(new, path)


def restore_dump(url: str, path: Path) -> None:
    run_program("pg_restore", "-d", url, "--clean", "--if-exists", "--single-transaction", str(path))


def run_program(*command: str) -> None:
    done = subprocess.run(
        [find_binaries() / command[0], *command[1:]], capture_output=True, text=True, check=False,
        env=os.environ | {"PGOPTIONS": PATIENT},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr}")
