"""What Postino needs of a PostgreSQL session, whatever the defaults of the server, the database and the role are.

A direct connection gets these settings once, in its startup message. A pooler such as PgBouncer refuses them there, and
may give each transaction another session; through a pooler every transaction therefore sets them itself, and every
statement runs in a transaction. Nothing else here outlives a transaction.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    LoneConnection = asyncpg.Connection[asyncpg.Record]

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
APPLICATION = {"application_name": "postino"}
# Queue tables are small when a plan is made and large when it is used, so every plan uses the indexes.
PLANNER_SETTINGS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
# Statements outside a transaction have the session's isolation level. Under a stricter one than READ COMMITTED,
# statements that wait for each other fail, and guards that lock first and look then see the past.
SEMANTIC_SETTINGS = {
    "default_transaction_isolation": "read committed",
    "search_path": "pg_catalog",
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "standard_conforming_strings": "on",
    "lock_timeout": "0",
}
DURABLE = {"synchronous_commit": "on"}
# PgBouncer does not know the parameter; the others appear if a prepared statement went to another session.
UNSUPPORTED_PARAMETER = "unsupported startup parameter"
STATEMENT_ELSEWHERE = ("26000", "42P05")


def make_settings(statement_seconds: float) -> dict[str, str]:
    """Return the settings of a session that runs statements of the queue."""
    milliseconds = f"{statement_seconds * 1000:.0f}"
    return {
        **PLANNER_SETTINGS,
        **SEMANTIC_SETTINGS,
        "statement_timeout": milliseconds,
        # A process frozen in the middle of a transaction must not keep its locks.
        "idle_in_transaction_session_timeout": milliseconds,
    }


def make_patient_settings(statement_seconds: float) -> dict[str, str]:
    """Return the settings of a session for migrations and partitions, whose statements may take long."""
    return {
        **SEMANTIC_SETTINGS,
        "statement_timeout": "0",
        # Every start takes the lock of the partitions: a frozen process must not keep all others from starting.
        "idle_in_transaction_session_timeout": f"{statement_seconds * 1000:.0f}",
    }


def make_begin(settings: Mapping[str, str], lock_timeout: float | None = None) -> str:
    """Return one message that begins a transaction with these settings: it costs one round trip, like BEGIN alone."""
    local = dict(settings)
    if lock_timeout is not None:
        local["lock_timeout"] = str(int(lock_timeout * 1000))
    return "; ".join([BEGIN, *(f"SET LOCAL {name} = '{value}'" for name, value in local.items())])


async def is_pooled(connection: "LoneConnection") -> bool:
    """Return whether a pooler is between: it answers for the server, under a process id of its own."""
    return bool(await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid())


async def read_missing_durability(connection: "LoneConnection") -> dict[str, str]:
    """Return the setting that makes commits durable where the defaults do not: an intent is on disk before its call."""
    is_off = await connection.fetchval("SHOW synchronous_commit") == "off"
    return DURABLE if is_off else {}


def reveals_pooler(error: BaseException) -> bool:
    """Return whether an error shows that a pooler is between."""
    return getattr(error, "sqlstate", None) in STATEMENT_ELSEWHERE or UNSUPPORTED_PARAMETER in str(error)


async def end_transaction(connection: Any) -> None:
    """Roll back what a failed or cancelled transaction left open, before the pool takes the connection back."""
    if connection.is_in_transaction():
        await connection.execute("ROLLBACK")
