"""The two databases of the contract, as the tests see them from outside the store."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import apsw
import psycopg
import pytest

from postino.stores.postgres import Postgres
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store

TABLES = (
    "jobs", "idempotency_keys", "finished_jobs", "attempts", "events", "dead_letters", "channels", "lanes",
    "lane_due", "lane_hints", "gates", "caps", "circuits", "blackouts", "quota_usage", "brand_turns", "workers",
    "settings", "cursors", "audit", "steps", "intents", "receipts", "archived_jobs", "remote_ids", "accounts",
    "contents", "posts", "stored_responses", "drafts", "imports", "api_keys", "users", "sessions", "sign_in_links",
    "login_throttles", "database_eras", "witnesses", "vault_keys",
)  # fmt: skip
PLACE = re.compile(r"\{(\w+)\}")

only_postgres = pytest.mark.parametrize(
    "database", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
only_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@dataclass
class Clock:
    """A clock that the test sets, by hours and days: the partitions of PostgreSQL cover nine weeks."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def turn(self, **units: float) -> datetime:
        self.now += timedelta(**units)
        return self.now

    def later(self, **units: float) -> datetime:
        return self.now + timedelta(**units)


def machine_time() -> datetime:
    return datetime.now(UTC)


class Database(Protocol):
    """`sql` speaks to the database directly, with {jobs}, {posts}, … for its tables; `refusal` is how it says no."""

    @property
    def dialect(self) -> str: ...
    @property
    def refusal(self) -> type[Exception]: ...

    def store(self, clock: Callable[[], datetime] = machine_time) -> Store: ...
    def sql(self, text: str) -> list[tuple[Any, ...]]: ...


@dataclass(frozen=True)
class SqliteDatabase:
    path: Path
    dialect: str = "sqlite"
    refusal: type[Exception] = apsw.ConstraintError

    def store(self, clock: Callable[[], datetime] = machine_time) -> Store:
        return Store(Sqlite(self.path, clock=clock))

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        connection = apsw.Connection(str(self.path))
        try:
            connection.set_busy_timeout(5000)
            return list(connection.execute(PLACE.sub(r"postino_\1", text)))
        finally:
            connection.close()


@dataclass
class PostgresDatabase:
    url: str
    dialect: str = "postgres"
    refusal: type[Exception] = psycopg.errors.IntegrityError
    is_pooled: bool = False  # through a pooler, whose connections stay open
    connection: psycopg.Connection | None = None  # kept: a server process that knows its tables answers much faster

    def store(self, clock: Callable[[], datetime] = machine_time) -> Store:
        return Store(Postgres(self.url, clock=clock))

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        self.connection = self.connection or psycopg.connect(self.url, autocommit=True)
        cursor = self.connection.execute(PLACE.sub(r"postino.\1", text).encode())
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def wipe(self) -> None:
        """Empties every table, after ending the connections that a failed test may have left."""
        if not self.is_pooled:
            self.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        # Deleting is much the faster way while there is little, but leaves the dead rows of a large test in the way.
        ((size,),) = self.sql("SELECT pg_total_relation_size('{jobs}')")
        if size > 1_000_000:
            self.sql("TRUNCATE " + ", ".join(f"{{{table}}}" for table in TABLES))
        else:
            self.sql("; ".join(f"DELETE FROM {{{table}}}" for table in TABLES))
        self.sql(
            "UPDATE {database_state} SET installation = NULL, era = NULL, place = NULL, pulse = 0, alive_at = NULL,"
            " answered_pulse = NULL, standing = 'open', cause = NULL, reason = NULL, since_at = NULL"
        )
