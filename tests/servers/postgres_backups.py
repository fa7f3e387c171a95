"""Copies of a private PostgreSQL server: a streaming standby, a snapshot of its data, and dumps of its databases."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.servers import ServerMissing
from tests.servers.postgres import PATIENCE, PostgresServer

RECOVERY = """
restore_command = 'cp {folder}/%f %p'
recovery_target_name = '{point}'
recovery_target_action = 'promote'
"""
LAST_CHECKPOINT = "SELECT timeline_id::text || ' ' || redo_lsn::text FROM pg_control_checkpoint()"
PROGRAMS = ("pg_basebackup", "pg_dump", "pg_restore")


def run_program(server: PostgresServer, *command: str) -> None:
    """Run one of PostgreSQL's programs as the account of this server."""
    done = subprocess.run(server.make_command([*command]), cwd=server.directory, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout.decode()}{done.stderr.decode()}")


def check_programs(server: PostgresServer) -> None:
    """Raise ServerMissing if this installation has the server alone."""
    missing = [name for name in PROGRAMS if not os.access(server.binaries / name, os.X_OK)]
    if missing:
        raise ServerMissing(f"{missing[0]} is not installed: run `sudo apt-get install postgresql`")


class Standby(PostgresServer):
    """A streaming standby of another server, on an address of its own. It has the same databases and password."""

    def __init__(self, primary: PostgresServer) -> None:
        super().__init__()
        self.primary = primary
        self._password = primary._password
        check_programs(self)

    def _initialise(self) -> None:
        run_program(self, *make_base_backup_command(self.primary, self.data), "--write-recovery-conf")

    def get_url_like(self, url: str) -> str:
        """Return the URL of the standby's copy of a database of the primary."""
        return self.get_url(url.rpartition("/")[2])

    def catch_up(self) -> None:
        """Wait until everything that the primary has committed by now can be read here."""
        lsn = ask(self.primary.url, "SELECT pg_current_wal_insert_lsn()::text")
        wait_for(self.url, f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'::pg_lsn")

    def stop_receiving(self) -> None:
        """Hear nothing more from the primary: what it commits from now on is lost when this standby takes over."""
        self.catch_up()
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
        wait_for(self.url, "SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)")

    @contextmanager
    def freeze_checkpoints(self) -> Iterator[None]:
        """Let no checkpoint end during the block, as on a large server, where one takes minutes."""
        process = ask(self.url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        assert isinstance(process, int)
        before = ask(self.url, LAST_CHECKPOINT)
        os.kill(process, signal.SIGSTOP)
        try:
            yield
            assert ask(self.url, LAST_CHECKPOINT) == before
        finally:
            os.kill(process, signal.SIGCONT)

    def take_over(self) -> None:
        """Kill the primary, so that nobody can write to it any more, and become one."""
        self.primary.kill()
        ask(self.url, "SELECT pg_promote(true, 20)")


class Snapshot:
    """The data of a stopped or running server as it is now; it can be put back, as often as wanted."""

    def __init__(self, server: PostgresServer, name: str = "snapshot") -> None:
        self.server = server
        self.path = server.directory / name

    def take_from_volume(self) -> Snapshot:
        """Stop the server, copy its data, and start it again."""
        self.server.stop()
        copy_folder(self.server.data, self.path)
        self.server.start()
        return self

    def take_from_stream(self) -> Snapshot:
        """Copy the data of the running server with pg_basebackup."""
        check_programs(self.server)
        run_program(self.server, *make_base_backup_command(self.server, self.path))
        return self

    def put_back(self) -> None:
        """Stop the server, replace its data, and start it again on the same address."""
        self.server.kill()
        shutil.rmtree(self.server.data)
        copy_folder(self.path, self.server.data)
        self.server.start()


class Archive:
    """A base backup of a running server and its write-ahead log since then, for a recovery to a point in time."""

    def __init__(self, server: PostgresServer) -> None:
        check_programs(server)
        self.server = server
        self.folder = server.directory / "archive"
        self.base = Snapshot(server, "base")
        self.points = 0

    def start(self) -> Archive:
        """Begin to archive, and make the base backup."""
        self.folder.mkdir()
        self.server.change_owner(self.folder)
        self.execute(
            "ALTER SYSTEM SET archive_mode = on", f"ALTER SYSTEM SET archive_command = 'cp %p {self.folder}/%f'"
        )
        self.server.restart()
        self.base.take_from_stream()
        return self

    def mark(self) -> str:
        """Return the name of this point in time."""
        self.points += 1
        name = f"point {self.points}"
        self.execute(f"SELECT pg_create_restore_point('{name}')")
        return name

    def go_back(self, point: str) -> None:
        """Replace the server's data by the base backup, and recover it up to a point in time, on a new timeline."""
        last = ask(self.server.url, "SELECT pg_walfile_name(pg_switch_wal())")
        wait_for(self.server.url, f"SELECT last_archived_wal >= '{last}' FROM pg_stat_archiver")
        self.server.stop()
        shutil.rmtree(self.server.data)
        copy_folder(self.base.path, self.server.data)
        with (self.server.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(RECOVERY.format(folder=self.folder, point=point))
        (self.server.data / "recovery.signal").touch()
        self.server.change_owner(self.server.data / "recovery.signal")
        self.server.start()
        wait_for(self.server.url, "SELECT NOT pg_is_in_recovery()")

    def end(self) -> None:
        self.execute("ALTER SYSTEM RESET ALL")
        self.server.restart()
        for folder in (self.folder, self.base.path):
            shutil.rmtree(folder)

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())


def make_base_backup_command(server: PostgresServer, target: Path) -> list[str]:
    return [
        "pg_basebackup",
        "-d",
        server.url,
        "-D",
        str(target),
        "--checkpoint=fast",
        "--wal-method=stream",
        "--no-sync",
    ]


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder with its owners, as a snapshot of the volume does."""
    subprocess.run(["cp", "-a", source, target], check=True)


def dump_database(server: PostgresServer, url: str) -> Path:
    """Dump a database and return the file."""
    check_programs(server)
    path = server.directory / f"{url.rpartition('/')[2]}.dump"
    run_program(server, "pg_dump", "-d", url, "-Fc", "-f", str(path))
    return path


def restore_dump(server: PostgresServer, path: Path, url: str) -> None:
    """Replace what a database has by a dump, in one transaction, also while others use the database."""
    path = Path(shutil.copy(path, server.directory / "restored.dump"))
    server.change_owner(path)
    run_program(server, "pg_restore", "-d", url, "--clean", "--if-exists", "--single-transaction", str(path))


def ask(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row and row[0]


def wait_for(url: str, condition: str) -> None:
    """Wait until a query returns true."""
    deadline = time.monotonic() + PATIENCE
    while not ask(url, condition):
        assert time.monotonic() < deadline, f"never true: {condition}"
        time.sleep(0.01)
