"""Where a drill's database is, and what a person can do to it: both stores in the same words."""

import os
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import apsw
import psycopg

from tests.crash.sql import PATIENCE_MS
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_backups import Archive, Snapshot, dump_database, restore_dump

# A lost backup then lacks more than the seconds for which a roll call suffices, and the next pulse is due.
LONG_UNUSED = "UPDATE postino.database_state SET alive_at = '2020-01-01T00:00:00.000000Z'"
PARTITIONED = ("postino.finished_jobs", "postino.attempts", "postino.events")  # from last week on
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class Place(Protocol):
    """A database that no process has open while it is copied or put back."""

    @property
    def url(self) -> str: ...

    def back_up(self) -> None:
        """Keep the database as it is now."""

    def put_back(self) -> None:
        """Replace the database by what was kept."""

    def move_back(self, hours: float) -> None:
        """Move every stored instant back, as if nothing had happened for so long."""

    def run(self, statement: str) -> None:
        """Execute a statement that names tables as on PostgreSQL."""

    def remove(self) -> None:
        """Remove the database and its backups."""


class SqlitePlace:
    """A file. `way` says how the backup is put back."""

    def __init__(self, path: Path, way: str = "copy over") -> None:
        self.path = path
        self.backup = path.with_name("backup.db")
        self.way = way

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def back_up(self) -> None:
        assert not self.path.with_name(f"{self.path.name}-wal").exists(), "a process has the database open"
        shutil.copy(self.path, self.backup)

    def put_back(self) -> None:
        match self.way:
            case "copy over":
                shutil.copy(self.backup, self.path)
            case "remove and copy":
                self.path.unlink()
                shutil.copy(self.backup, self.path)
            case "rename over":
                os.replace(shutil.copy(self.backup, self.path.with_name("next.db")), self.path)

    def move_back(self, hours: float) -> None:
        connection = apsw.Connection(str(self.path))
        connection.create_scalar_function("earlier", lambda *texts: move_instants(str(texts[0]), hours), 1)
        for [table] in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
                if f"_{column}".endswith("_at"):
                    connection.execute(f"UPDATE {table} SET {column} = earlier({column}) WHERE {column} IS NOT NULL")
        connection.close()

    def run(self, statement: str) -> None:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(PATIENCE_MS)
        connection.execute(statement.replace("postino.", "postino_"))
        connection.close()

    def remove(self) -> None:
        pass  # the test's folder is removed


class PostgresPlace:
    """A database of a private server. `way` says how the backup is made and put back."""

    def __init__(self, server: PostgresServer, way: str = "volume", template: str = "template1") -> None:
        self.server = server
        self.way = way
        self.url = server.create_database(template)
        self.snapshot: Snapshot | None = None

    def back_up(self) -> None:
        match self.way:
            case "volume":
                self.snapshot = Snapshot(self.server, self.url.rpartition("/")[2]).take_from_volume()
            case "base backup":
                self.snapshot = Snapshot(self.server, self.url.rpartition("/")[2]).take_from_stream()
            case "point in time":
                self.archive = Archive(self.server).start()
                self.point = self.archive.mark()
            case "dump":
                self.dump = dump_database(self.server, self.url)

    def put_back(self) -> None:
        match self.way:
            case "dump":
                restore_dump(self.server, self.dump, self.url)
            case "point in time":
                self.archive.go_back(self.point)
                self.archive.end()
            case _:
                assert self.snapshot is not None
                self.snapshot.put_back()

    def move_back(self, hours: float) -> None:
        columns = """
            SELECT relation.oid::regclass::text, attribute.attname FROM pg_attribute AS attribute
            JOIN pg_class AS relation ON relation.oid = attribute.attrelid
            WHERE relation.relnamespace = 'postino'::regnamespace AND relation.relkind IN ('r', 'p')
                AND NOT relation.relispartition AND attribute.atttypid = 'timestamptz'::regtype
        """
        with psycopg.connect(self.url) as connection:
            connection.execute("SET session_replication_role = replica")  # no trigger computes anything from it
            for table in PARTITIONED:
                connection.execute(f"CREATE TABLE IF NOT EXISTS {table}_past PARTITION OF {table} DEFAULT".encode())
            for table, column in connection.execute(columns).fetchall():
                connection.execute(f"UPDATE {table} SET {column} = {column} - interval '{hours} hours'".encode())

    def run(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def remove(self) -> None:
        """Keep the server small: the next drills copy all of its data."""
        if self.snapshot is not None:
            shutil.rmtree(self.snapshot.path, ignore_errors=True)
        if self.server.running:
            self.server.drop_database(self.url)


def move_instants(text: str, hours: float) -> str:
    """Return the text with its instants moved back."""

    def move(match: re.Match[str]) -> str:
        earlier = datetime.fromisoformat(match[0]) - timedelta(hours=hours)
        return earlier.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    return INSTANT.sub(move, text)
