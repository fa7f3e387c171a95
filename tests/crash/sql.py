"""Plain SQL on the database of a run, on a separate connection."""

from datetime import datetime
from typing import Any
from uuid import UUID

import apsw
import psycopg

PATIENCE_MS = 20_000


class SqlConnection:
    """A connection whose queries name tables as on PostgreSQL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection: Any
        self.open()

    def open(self) -> None:
        url = self.url
        self.sqlite = url.startswith("sqlite:///")
        if self.sqlite:
            self.connection = apsw.Connection(url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)
            self.connection.set_busy_timeout(PATIENCE_MS)
        else:
            self.connection = psycopg.connect(url, autocommit=True)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        text = query.replace("postino.", "postino_") if self.sqlite else query
        return [tuple(row) for row in self.connection.execute(text).fetchall()]

    def close(self) -> None:
        self.connection.close()

    def reopen(self) -> None:
        """Open the database that is there now."""
        self.close()
        self.open()

    def describe_job(self, job_id: str) -> str:
        """Return all rows of a job, to find out what happened to it."""
        lines = []
        for table, column in (("jobs", "id"), ("finished_jobs", "id"), ("attempts", "job_id"), ("events", "job_id")):
            rows = self.ask(f"SELECT * FROM postino.{table} WHERE {column} = '{job_id}'")
            lines += [f"{table}: {row}" for row in rows]
        return "\n".join(lines)


def instant(value: str | datetime) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def to_uuid(value: str | UUID) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)
