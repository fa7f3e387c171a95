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
from postino.stores.migrations import check_complete, find_missing, load_migrations
from postino.stores.statement import Operation, Query, Row, bind_values, get_statement

T = TypeVar("T")
log = structlog.get_logger("postino.store")
if TYPE_CHECKING:
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    LoneConnection = asyncpg.Connection[asyncpg.Record]

# SQLSTATE classes and codes of transient errors: lost connections, short resources, operators, failover, deadlocks.
TRANSIENT_CLASSES = ("08", "53", "57", "58")
TRANSIENT_CODES = ("25006", "25P03", "40001", "40P01", "0A000")
UNREACHABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a statement on a connection that the server is just closing
    asyncpg.CannotConnectNowError,
)
WIRE_SECONDS = 1.0
# Queue tables are small when a plan is made and large when it is used, so every plan uses the indexes.
PLANNER_SETTINGS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
DATABASE_IDENTITY = """
SELECT concat_ws(' ', system_identifier, timeline_id, (SELECT oid FROM pg_database WHERE datname = current_database()))
FROM pg_control_system(), pg_control_checkpoint()
"""
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

    async def open(self) -> None:
        async with self.opening:
            if self.pool is None:
                self.pool = await self.open_checked_pool()

    async def open_checked_pool(self) -> "asyncpg.Pool[asyncpg.Record]":
        """Check the schema, create partitions that will be needed, and open the pool."""
        async with self.open_connection_outside_pool() as connection:
            check_complete(load_migrations(self.dialect), await read_applied(connection))
            await connection.fetchval("SELECT postino.make_partitions(9)")
        return await asyncpg.create_pool(
            self.url,
            min_size=0,
            max_size=self.connections,
            reset=skip_reset,
            init=register_timestamp_codec,
            timeout=self.statement_seconds,
            # The server ends slow statements itself; this timeout is for a connection on which nothing comes back.
            command_timeout=self.statement_seconds + WIRE_SECONDS,
            server_settings={
                "application_name": "postino",
                "statement_timeout": f"{self.statement_seconds * 1000:.0f}",
                # A process frozen in the middle of a transaction must not keep its locks.
                "idle_in_transaction_session_timeout": f"{self.statement_seconds * 1000:.0f}",
                "jit": "off",
                "lock_timeout": "0",  # whatever the role's default is; `transact` sets one if asked to
                **PLANNER_SETTINGS,
            },
        )

    async def close(self) -> None:
        if self.pool is not None:
            pool, self.pool = self.pool, None
            await pool.close()

    async def migrate(self) -> list[str]:
        async with self.open_connection_outside_pool() as connection, connection.transaction():
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
        return [migration.name for migration in pending]

    async def database_identity(self) -> str:
        """Return cluster, timeline and database: a restored dump or a promoted standby has others."""
        async with self.connection() as connection:
            return str(await connection.fetchval(DATABASE_IDENTITY))

    async def transact(self, operation: Operation[T], *, lock_timeout: float | None = None) -> T:
        async with self.connection() as connection, connection.transaction():
            if lock_timeout is not None:
                await connection.execute(f"SET LOCAL lock_timeout = {int(lock_timeout * 1000)}")
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
    async def connection(self) -> AsyncIterator["Connection"]:
        """Take a connection from the pool; turn the database's errors into Postino's."""
        if self.pool is None:
            await self.open()
        assert self.pool is not None
        try:
            async with self.pool.acquire(timeout=self.statement_seconds) as connection:
                yield connection
        except asyncpg.LockNotAvailableError as error:
            raise Blocked("Another transaction holds the same key. Nothing was changed; try again.") from error
        except asyncpg.QueryCanceledError as error:
            message = f"PostgreSQL did not finish within {self.statement_seconds} s. Nothing was changed; try again."
            raise StoreUnreachable(message) from error
        except (*UNREACHABLE, TimeoutError) as error:
            raise StoreUnreachable(self.describe_outage(error)) from error
        except asyncpg.PostgresError as error:
            if is_partition_missing(error):
                await self.make_partitions(error)
            elif not is_transient(error):
                raise
            raise StoreUnreachable(self.describe_outage(error)) from error

    async def make_partitions(self, error: asyncpg.PostgresError) -> None:
        """Create missing partitions. A duty does this weeks ahead; here it did not, so the log says so."""
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
        """Open a connection outside the pool, for work that may take long."""
        try:
            connection = await asyncpg.connect(
                self.url, timeout=self.statement_seconds, server_settings={"application_name": "postino"}
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
        try:
            yield connection
        except (*UNREACHABLE, TimeoutError) as error:
            raise StoreUnreachable(self.describe_outage(error)) from error
        except asyncpg.PostgresError as error:
            if is_transient(error):
                raise StoreUnreachable(self.describe_outage(error)) from error
            raise
        finally:
            connection.terminate()

    def describe_outage(self, error: BaseException) -> str:
        """Say that the database does not respond, without its password."""
        reason = str(error) or "timeout"
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


async def skip_reset(connection: Any) -> None:
    """Skip the reset that asyncpg's pool sends when it takes a connection back: ours leave no session state."""


NUMBERED_TEXTS: dict[str, str] = {}


def get_numbered_text(name: str) -> str:
    """Return a query's text with $1, $2, … for its parameters."""
    if name not in NUMBERED_TEXTS:
        NUMBERED_TEXTS[name] = get_statement(Postgres.dialect, name).to_numbered()
    return NUMBERED_TEXTS[name]
