"""The PostgreSQL driver: runs operations on a pool of connections."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg
import structlog

from postino.config import redact_url
from postino.errors import ConfigError, StoreUnreachable, WrongUse
from postino.stores.driver import Blocked, drive, make_no_tables_error
from postino.stores.migrations import LOCATE_UNUSED, check_complete, find_missing, load_migrations
from postino.stores.postgres_session import (
    APPLICATION,
    end_transaction,
    is_pooled,
    make_begin,
    make_patient_settings,
    make_settings,
    read_missing_durability,
    reveals_pooler,
)
from postino.stores.postgres_waits import report_waits
from postino.stores.statement import Operation, Query, Row, bind_values, get_statement

T = TypeVar("T")
log = structlog.get_logger("postino.store")
if TYPE_CHECKING:
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    LoneConnection = asyncpg.Connection[asyncpg.Record]

# SQLSTATE classes and codes of transient errors: lost connections, short resources, operators, failover, deadlocks.
TRANSIENT_CLASSES = ("08", "53", "57", "58")
READ_ONLY_CODES = ("25006", "55000")  # a change, and a function that a standby does not have
TRANSIENT_CODES = (*READ_ONLY_CODES, "25P03", "40001", "40P01", "0A000")
UNREACHABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a statement on a connection that the server is just closing
    asyncpg.CannotConnectNowError,
)
WIRE_SECONDS = 1.0
CACHED_STATEMENTS = 100
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # PostgreSQL's
MICROSECOND = timedelta(microseconds=1)
UNDEFINED_TABLE = "42P01"
MIGRATIONS_TABLE = """
CREATE SCHEMA IF NOT EXISTS postino;
CREATE TABLE IF NOT EXISTS postino.migrations (
    number int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
)
"""


def use_database_clock() -> None:
    """Return None: every statement then uses the database's own time. Tests pass another clock."""


class Postgres:
    """Runs operations on a pool of connections. Time is the database's."""

    dialect = "postgres"

    def __init__(
        self,
        url: str,
        *,
        connections: int = 4,
        statement_seconds: float = 5,
        clock: Callable[[], datetime | None] = use_database_clock,
    ) -> None:
        self.url = url
        self.statement_seconds = statement_seconds
        self.connections = connections
        self.clock = clock
        self.pool: asyncpg.Pool[asyncpg.Record] | None = None
        self.opening = asyncio.Lock()
        self.settings = make_settings(statement_seconds)
        self.is_pooled = False

    async def open(self) -> None:
        async with self.opening:
            if self.pool is None:
                self.pool = await self.open_checked_pool()

    async def open_checked_pool(self) -> "asyncpg.Pool[asyncpg.Record]":
        """Check the schema, create partitions that will be needed, and open the pool."""
        async with self.open_connection_outside_pool() as connection:
            self.is_pooled = self.is_pooled or await is_pooled(connection)
            self.settings.update(await read_missing_durability(connection))
            check_complete(load_migrations(self.dialect), await read_applied(connection))
            await connection.fetchval("SELECT postino.make_partitions(9)")
        return await asyncpg.create_pool(
            self.url,
            min_size=0,
            max_size=self.connections,
            reset=end_transaction,
            init=register_timestamp_codec,
            timeout=self.statement_seconds,
            # The server ends slow statements itself; this timeout is for a connection on which nothing comes back.
            command_timeout=self.statement_seconds + WIRE_SECONDS,
            statement_cache_size=0 if self.is_pooled else CACHED_STATEMENTS,
            server_settings=APPLICATION if self.is_pooled else {**APPLICATION, **self.settings},
        )

    async def close(self) -> None:
        if self.pool is not None:
            pool, self.pool = self.pool, None
            await pool.close()

    async def migrate(self) -> list[str]:
        async with self.open_connection_outside_pool() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext('postino.migrate'))")
            await connection.execute(MIGRATIONS_TABLE)
            pending = find_missing(load_migrations(self.dialect), await read_applied(connection))
            for migration in pending:
                await connection.execute(migration.sql)
                await connection.execute(
                    "INSERT INTO postino.migrations (number, name, checksum) VALUES ($1, $2, $3)",
                    migration.number,
                    migration.name,
                    migration.checksum,
                )
            if not pending:
                await connection.execute(get_statement(self.dialect, LOCATE_UNUSED).text)
        return [migration.name for migration in pending]

    async def transact(self, operation: Operation[T], *, lock_timeout: float | None = None) -> T:
        begin = make_begin(self.settings if self.is_pooled else {}, lock_timeout)
        async with self.connection(begin) as connection:
            return await self.run(connection, operation)

    async def perform(self, operation: Operation[T]) -> T:
        async with self.connection() as connection:
            return await self.run(connection, operation)

    read = perform

    async def run(self, connection: "Connection", operation: Operation[T]) -> T:
        """Run an operation on one connection."""
        try:
            query = next(operation)
            while True:
                rows = [] if query.rows == [] else await self.execute(connection, query)
                query = operation.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    async def execute(self, connection: "Connection", query: Query) -> list[Any]:
        """Execute a query through asyncpg."""
        sql = get_statement(self.dialect, query.name)
        values = bind_values(self.add_time(query), sql.names)
        return await connection.fetch(get_numbered_text(query.name), *values)

    def add_time(self, query: Query) -> Query:
        """Add the clock's time to a query's parameters."""
        return Query(query.name, {"now": self.clock(), **query.params}, query.rows)

    async def join(self, connection: Any, operation: Operation[T]) -> T:
        try:
            return await self.run_on_connection(connection, operation)
        except Exception as error:
            if getattr(error, "sqlstate", None) == UNDEFINED_TABLE:
                raise make_no_tables_error() from error
            raise

    async def run_on_connection(self, connection: Any, operation: Operation[T]) -> T:
        """Run an operation on a caller's connection, of asyncpg or of synchronous psycopg."""
        module = type(connection).__module__.partition(".")[0]
        if module == "asyncpg":
            return await self.run(connection, operation)
        if module == "psycopg" and not inspect.iscoroutinefunction(connection.execute):
            return drive(operation, lambda query: self.execute_with_psycopg(connection, query))
        raise WrongUse(
            f"connection: enqueue joins transactions of asyncpg and synchronous psycopg, not {type(connection)!r}.",
            field="connection",
        )

    def execute_with_psycopg(self, connection: Any, query: Query) -> Sequence[Row]:
        """Execute a query through psycopg."""
        sql = get_statement(self.dialect, query.name)
        values = bind_values(self.add_time(query), sql.names)
        cursor = connection.cursor(row_factory=get_psycopg_row_factory())  # whatever row factory the caller uses
        cursor.execute(sql.to_pyformat(), dict(zip(sql.names, values, strict=True)))
        return list(cursor) if cursor.description else []

    @asynccontextmanager
    async def connection(self, begin: str = "") -> AsyncIterator["Connection"]:
        """Take a connection from the pool, in a transaction if `begin` begins one or a pooler is between.

        The database's errors become Postino's. What failed is rolled back before the pool takes the connection back.
        """
        if self.pool is None:
            await self.open()
        assert self.pool is not None
        begin = begin or (make_begin(self.settings) if self.is_pooled else "")
        try:
            async with self.pool.acquire(timeout=self.statement_seconds) as connection:
                if begin:
                    await connection.execute(begin)
                yield connection
                if begin:
                    await connection.execute("COMMIT")
        except asyncpg.LockNotAvailableError as error:
            raise Blocked("Another transaction holds the same key. Nothing was changed; try again.") from error
        except asyncpg.QueryCanceledError as error:
            message = f"PostgreSQL did not finish within {self.statement_seconds} s. Nothing was changed; try again."
            raise StoreUnreachable(message) from error
        except (*UNREACHABLE, TimeoutError) as error:
            self.detect_pooler(error)
            raise StoreUnreachable(self.describe_outage(error)) from error
        except asyncpg.PostgresError as error:
            if is_partition_missing(error):
                await self.make_partitions(error)
            elif not self.detect_pooler(error) and not is_transient(error):
                raise
            raise StoreUnreachable(self.describe_outage(error)) from error

    def detect_pooler(self, error: BaseException) -> bool:
        """Return whether an error shows a pooler that was not recognised; if so, treat the connection as pooled."""
        if self.is_pooled or not reveals_pooler(error):
            return False
        self.is_pooled = True
        if (pool := self.pool) is not None:
            self.pool = None
            pool.terminate()
        return True

    async def make_partitions(self, error: asyncpg.PostgresError) -> None:
        """Create missing partitions, and log that the duty that creates them weeks ahead did not."""
        log.critical(
            "partition.missing", error=str(error), next="created now; see duty.failed in the log of the last weeks"
        )
        try:
            async with self.open_connection_outside_pool() as connection:
                await connection.fetchval("SELECT postino.make_partitions(9)")
        except asyncpg.PostgresError as refusal:
            message = f"A partition is missing and PostgreSQL refused to create it: {refusal}. Nothing was changed."
            raise StoreUnreachable(message) from error

    @asynccontextmanager
    async def open_connection_outside_pool(self) -> AsyncIterator["LoneConnection"]:
        """Open a connection outside the pool, in one transaction, for work that may take long."""
        try:
            connection = await asyncpg.connect(
                self.url, timeout=self.statement_seconds, statement_cache_size=0, server_settings=APPLICATION
            )
        except asyncpg.PostgresError as error:
            if is_transient(error):
                raise StoreUnreachable(self.describe_outage(error)) from error
            message = f"PostgreSQL refused the connection to {redact_url(self.url)}: {error}. Nothing was changed."
            raise StoreUnreachable(message) from error
        except (*UNREACHABLE, TimeoutError) as error:
            raise StoreUnreachable(self.describe_outage(error)) from error
        except (ValueError, asyncpg.ClientConfigurationError):
            # Without the driver's own message, which may repeat the URL with its password.
            raise ConfigError("database.url is not a valid PostgreSQL URL.", field="database.url") from None
        waits = None
        try:
            await connection.execute(make_begin(make_patient_settings(self.statement_seconds)))
            waits = asyncio.create_task(report_waits(self.url, await connection.fetchval("SELECT pg_backend_pid()")))
            yield connection
            await connection.execute("COMMIT")
        except (*UNREACHABLE, TimeoutError) as error:
            raise StoreUnreachable(self.describe_outage(error)) from error
        except asyncpg.PostgresError as error:
            if is_transient(error):
                raise StoreUnreachable(self.describe_outage(error)) from error
            raise
        finally:
            if waits is not None:
                waits.cancel()
            connection.terminate()

    def describe_outage(self, error: BaseException) -> str:
        """Say that the database does not respond, without its password."""
        reason = (str(error) or "timeout").splitlines()[0]  # without PostgreSQL's hint
        if getattr(error, "sqlstate", None) in READ_ONLY_CODES:
            return (
                f"{redact_url(self.url)} is read-only ({reason}): it is a standby, or default_transaction_read_only is"
                " on. Nothing was lost; Postino continues when the database accepts changes."
            )
        return f"{redact_url(self.url)} does not respond ({reason}). Nothing was lost; try again when it is back."


def get_psycopg_row_factory() -> Any:
    """Return psycopg's dictionary rows. Only a caller who brought psycopg needs it."""
    from psycopg.rows import dict_row

    return dict_row


def is_partition_missing(error: asyncpg.PostgresError) -> bool:
    """Return whether a row has no partition: PostgreSQL reports a check violation without a constraint name."""
    return isinstance(error, asyncpg.CheckViolationError) and error.constraint_name is None


def is_transient(error: asyncpg.PostgresError) -> bool:
    """Return whether an error is transient, so that the same statement may succeed later."""
    state = error.sqlstate or ""
    return state in TRANSIENT_CODES or state.startswith(TRANSIENT_CLASSES)


async def read_applied(connection: "LoneConnection") -> dict[int, str]:
    """Return the checksums of the applied migrations, by number."""
    if await connection.fetchval("SELECT to_regclass('postino.migrations')") is None:
        return {}
    rows = await connection.fetch("SELECT number, checksum FROM postino.migrations")
    return {row["number"]: row["checksum"] for row in rows}


async def register_timestamp_codec(connection: Any) -> None:
    """Decode timestamps with a cache: they are a third of the cost of reading jobs, and most of them repeat."""
    await connection.set_type_codec(
        "timestamptz", schema="pg_catalog", format="tuple", encoder=encode_timestamp, decoder=decode_timestamp
    )


def encode_timestamp(instant: datetime) -> tuple[int]:
    """Return an instant as PostgreSQL sends it: microseconds since 2000."""
    return ((instant - EPOCH) // MICROSECOND,)


@lru_cache(4096)
def decode_timestamp(microseconds: tuple[int]) -> datetime:
    """Return the instant in PostgreSQL's microseconds since 2000."""
    return EPOCH + microseconds[0] * MICROSECOND


NUMBERED_TEXTS: dict[str, str] = {}


def get_numbered_text(name: str) -> str:
    """Return a query's text with $1, $2, … for its parameters."""
    if name not in NUMBERED_TEXTS:
        NUMBERED_TEXTS[name] = get_statement(Postgres.dialect, name).to_numbered()
    return NUMBERED_TEXTS[name]
