"""PostgreSQL: many machines, one truth."""

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
from postino.stores.driver import Blocked, drive, no_postino_here
from postino.stores.migrations import check_complete, migrations, missing
from postino.stores.statement import Operation, Query, Row, columns, statement

T = TypeVar("T")
log = structlog.get_logger("postino.store")
if TYPE_CHECKING:
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    LoneConnection = asyncpg.Connection[asyncpg.Record]

# Connection lost, resources short, an operator's or the system's doing; failover, deadlock and the like: they pass.
PASSING_CLASSES = ("08", "53", "57", "58")
PASSING = ("25006", "25P03", "40001", "40P01", "0A000")
UNREACHABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # used after the server's last words, before its end of the wire was closed
    asyncpg.CannotConnectNowError,
)
WIRE_SECONDS = 1.0
# A queue's tables are small when a plan is made and large when it is used: by the indexes, always.
PLANNED = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
SURROUNDINGS = """
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


def database_clock() -> None:
    """No time of ours: the database's own goes into every statement. Tests give another."""


class Postgres:
    """Runs operations on a pool of connections."""

    dialect = "postgres"

    def __init__(
        self,
        url: str,
        *,
        connections: int = 4,
        statement_seconds: float = 5,
        clock: Callable[[], datetime | None] = database_clock,
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
                self.pool = await self.checked_pool()

    async def checked_pool(self) -> "asyncpg.Pool[asyncpg.Record]":
        async with self.lone_connection() as connection:
            check_complete(migrations(self.dialect), await applied(connection))
            await connection.fetchval("SELECT postino.make_partitions(9)")
        return await asyncpg.create_pool(
            self.url,
            min_size=0,
            max_size=self.connections,
            reset=nothing_to_reset,
            init=read_instants_quickly,
            timeout=self.statement_seconds,
            # The server gives up a statement by itself; this is for a wire on which nothing comes back any more.
            command_timeout=self.statement_seconds + WIRE_SECONDS,
            server_settings={
                "application_name": "postino",
                "statement_timeout": f"{self.statement_seconds * 1000:.0f}",
                # A process frozen in the middle of a transaction must not keep its locks.
                "idle_in_transaction_session_timeout": f"{self.statement_seconds * 1000:.0f}",
                "jit": "off",
                "lock_timeout": "0",  # whatever the role says: only who is impatient sets one
                **PLANNED,
            },
        )

    async def close(self) -> None:
        if self.pool is not None:
            pool, self.pool = self.pool, None
            await pool.close()

    async def migrate(self) -> list[str]:
        async with self.lone_connection() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext('postino.migrate'))")
            await connection.execute(MIGRATIONS_TABLE)
            todo = missing(migrations(self.dialect), await applied(connection))
            for migration in todo:
                await connection.execute(migration.sql)
                await connection.execute(
                    "INSERT INTO postino.migrations (number, name, checksum) VALUES ($1, $2, $3)",
                    migration.number,
                    migration.name,
                    migration.checksum,
                )
        return [migration.name for migration in todo]

    async def surroundings(self) -> str:
        """The cluster, its history and the database in it: not those of a restored dump, or of a promoted standby."""
        async with self.connection() as connection:
            return str(await connection.fetchval(SURROUNDINGS))

    async def transact(self, operation: Operation[T], *, patience: float | None = None) -> T:
        async with self.connection() as connection, connection.transaction():
            if patience is not None:
                await connection.execute(f"SET LOCAL lock_timeout = {int(patience * 1000)}")
            return await self.run(connection, operation)

    async def perform(self, operation: Operation[T]) -> T:
        async with self.connection() as connection:
            return await self.run(connection, operation)

    read = perform

    async def run(self, connection: "Connection", operation: Operation[T]) -> T:
        try:
            query = next(operation)
            while True:
                answer = [] if query.rows == [] else await self.answer(connection, query)
                query = operation.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    async def answer(self, connection: "Connection", query: Query) -> list[Any]:
        sql = statement(self.dialect, query.name)
        values = columns(self.timed(query), sql.names)
        return await connection.fetch(numbered(query.name), *values)

    def timed(self, query: Query) -> Query:
        return Query(query.name, {"now": self.clock(), **query.params}, query.rows)

    async def join(self, connection: Any, operation: Operation[T]) -> T:
        try:
            return await self.run_on(connection, operation)
        except Exception as error:
            if getattr(error, "sqlstate", None) == UNDEFINED_TABLE:
                raise no_postino_here() from error
            raise

    async def run_on(self, connection: Any, operation: Operation[T]) -> T:
        module = type(connection).__module__.partition(".")[0]
        if module == "asyncpg":
            return await self.run(connection, operation)
        if module == "psycopg" and not inspect.iscoroutinefunction(connection.execute):
            return drive(operation, lambda query: self.formatted_answer(connection, query))
        raise WrongUse(
            f"connection: enqueue joins transactions of asyncpg and synchronous psycopg, not {type(connection)!r}.",
            field="connection",
        )

    def formatted_answer(self, connection: Any, query: Query) -> Sequence[Row]:
        sql = statement(self.dialect, query.name)
        values = columns(self.timed(query), sql.names)
        cursor = connection.cursor(row_factory=psycopg_rows())  # whatever the caller's own queries give
        cursor.execute(sql.formatted(), dict(zip(sql.names, values, strict=True)))
        return list(cursor) if cursor.description else []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator["Connection"]:
        if self.pool is None:
            await self.open()
        assert self.pool is not None
        try:
            async with self.pool.acquire(timeout=self.statement_seconds) as connection:
                yield connection
        except asyncpg.LockNotAvailableError as error:
            raise Blocked("Another transaction holds the same key.") from error
        except asyncpg.QueryCanceledError as error:
            told = f"PostgreSQL did not finish within {self.statement_seconds} s. Nothing was changed; try again."
            raise StoreUnreachable(told) from error
        except (*UNREACHABLE, TimeoutError) as error:
            raise StoreUnreachable(self.unreachable(error)) from error
        except asyncpg.PostgresError as error:
            if lacks_partition(error):
                await self.make_partitions(error)
            elif not passes(error):
                raise
            raise StoreUnreachable(self.unreachable(error)) from error

    async def make_partitions(self, error: asyncpg.PostgresError) -> None:
        told = "made now; look at the log of the last weeks for duty.failed"
        log.critical("partition.missing", error=str(error), next=told)
        try:
            async with self.lone_connection() as connection:
                await connection.fetchval("SELECT postino.make_partitions(9)")
        except asyncpg.PostgresError as refusal:
            lacks = f"The tables lack a partition, and PostgreSQL refuses to make it: {refusal}."
            raise StoreUnreachable(lacks) from error

    @asynccontextmanager
    async def lone_connection(self) -> AsyncIterator["LoneConnection"]:
        """A connection outside the pool, for work that takes its time."""
        try:
            connection = await asyncpg.connect(
                self.url, timeout=self.statement_seconds, server_settings={"application_name": "postino"}
            )
        except asyncpg.PostgresError as error:
            if passes(error):
                raise StoreUnreachable(self.unreachable(error)) from error
            told = f"PostgreSQL refuses {redact_url(self.url)}: {error}. Nothing was changed."
            raise StoreUnreachable(told) from error
        except (*UNREACHABLE, TimeoutError) as error:
            raise StoreUnreachable(self.unreachable(error)) from error
        except (ValueError, asyncpg.ClientConfigurationError):
            # Nothing of the driver's own words: they may repeat the address with its password.
            told = "database.url is not an address that PostgreSQL understands."
            raise ConfigError(told, field="database.url") from None
        try:
            yield connection
        except (*UNREACHABLE, TimeoutError) as error:
            raise StoreUnreachable(self.unreachable(error)) from error
        except asyncpg.PostgresError as error:
            if passes(error):
                raise StoreUnreachable(self.unreachable(error)) from error
            raise
        finally:
            connection.terminate()

    def unreachable(self, error: BaseException) -> str:
        told = str(error) or "nothing came back in time"
        return f"{redact_url(self.url)} does not answer ({told}). Nothing was lost; try again when it is back."


def psycopg_rows() -> Any:
    from psycopg.rows import dict_row  # the caller brought psycopg; Postino itself does without

    return dict_row


def lacks_partition(error: asyncpg.PostgresError) -> bool:
    """PostgreSQL calls it a violated check, but names none."""
    return isinstance(error, asyncpg.CheckViolationError) and error.constraint_name is None


def passes(error: asyncpg.PostgresError) -> bool:
    state = error.sqlstate or ""
    return state in PASSING or state.startswith(PASSING_CLASSES)


async def applied(connection: "LoneConnection") -> dict[int, str]:
    if await connection.fetchval("SELECT to_regclass('postino.migrations')") is None:
        return {}
    found = await connection.fetch("SELECT number, checksum FROM postino.migrations")
    return {row["number"]: row["checksum"] for row in found}


async def read_instants_quickly(connection: Any) -> None:
    """Instants are a third of what reading a job costs, and most of those read together are the same few."""
    await connection.set_type_codec(
        "timestamptz", schema="pg_catalog", format="tuple", encoder=microseconds_of, decoder=instant_of
    )


def microseconds_of(instant: datetime) -> tuple[int]:
    return ((instant - EPOCH) // MICROSECOND,)


@lru_cache(4096)
def instant_of(microseconds: tuple[int]) -> datetime:
    return EPOCH + microseconds[0] * MICROSECOND


async def nothing_to_reset(connection: Any) -> None:
    """The pool would ask the server to reset each connection it gets back; ours leave nothing behind."""


NUMBERED: dict[str, str] = {}


def numbered(name: str) -> str:
    if name not in NUMBERED:
        NUMBERED[name] = statement(Postgres.dialect, name).numbered()
    return NUMBERED[name]
