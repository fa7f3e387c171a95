"""Large backlogs that may not run, a few jobs beside them that may, and the pages that a claim reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg.rows import dict_row

from postino.rules.blackout import Blackout
from postino.rules.stored_settings import render_settings
from postino.stores.driver import drive
from postino.stores.operations import claims
from postino.stores.operations.poll import poll as poll_operation
from postino.stores.postgres_session import PLANNER_SETTINGS
from postino.stores.records import AuditContext, ClaimRequest
from postino.stores.statement import Operation, Query, Row, bind_values, get_statement
from postino.stores.store import Store
from postino.values.gate import Scope
from postino.values.job import Job, new_id
from tests.contract.databases import PostgresDatabase

T = TypeVar("T")
CROWD, ACCOUNTS = 10_000, 2_000
ORDINARY = 10_000  # jobs that are due tomorrow
FEW = 10
ACT = AuditContext("nobody", "a crowd")

FILL = """
INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, brand, idempotency_key, payload, scheduled_at,
                          run_at, created_at)
SELECT gen_random_uuid(), '{type}', '{channel}', 1, 'pending', '@' || account, account, {brand},
       gen_random_uuid()::text, '\\x7b7d', now(), now() - interval '{since}' + number * interval '1 ms', now()
FROM generate_series(1, {count}) AS number
CROSS JOIN LATERAL (SELECT {account} AS account) AS its;
INSERT INTO postino.lane_hints (channel, lane, account)
SELECT DISTINCT channel, lane, account FROM postino.jobs WHERE channel = '{channel}' AND lane IS NOT NULL;
INSERT INTO postino.channels (channel, type) VALUES ('{channel}', '{type}')
"""


SERVICES = """
INSERT INTO postino.accounts (id, network, handle, base_url, service, sealed, created_at)
SELECT 'a' || number, 'posts', 'a', 'https://s' || number, 'posts@s' || number, '', now()
FROM generate_series(0, {count} - 1) AS number;
INSERT INTO postino.circuits (service, state, since_at, until_at, failures, trips, probes, manual)
SELECT 'posts@s' || number, 'open', now(), now() + interval '1 hour', '["2026-01-01T00:00:00+00:00"]', 1, 1, false
FROM generate_series(0, 20 * {count}) AS number
"""


def fill(
    database: PostgresDatabase,
    channel: str,
    count: int,
    *,
    account: str = "NULL",
    brand: str = "NULL",
    since: str = "1 hour",
    type: str = "report",
) -> None:
    """Due jobs on a channel; `account` and `brand` are SQL about their `number`."""
    database.sql(FILL.format(channel=channel, count=count, account=account, brand=brand, since=since, type=type))


def by_accounts(database: PostgresDatabase, crowd: int, accounts: int) -> None:
    fill(database, "posts", crowd, account=f"'a' || number % {accounts}", brand="'acme'")


async def open_breaker(database: PostgresDatabase, store: Store, crowd: int) -> None:
    by_accounts(database, crowd, ACCOUNTS)
    fill(database, "posts", crowd)
    await store.open_circuit("posts", None, 1, ACT)


async def broken_services(database: PostgresDatabase, store: Store, crowd: int) -> None:
    """Create accounts with a broken server each, and as many circuits of servers that nobody uses."""
    by_accounts(database, crowd, ACCOUNTS)
    database.sql(SERVICES.format(count=ACCOUNTS))


async def cooled_accounts(database: PostgresDatabase, store: Store, crowd: int) -> None:
    by_accounts(database, crowd, ACCOUNTS)
    until_at = datetime.now(UTC) + timedelta(hours=1)
    for number in range(ACCOUNTS):
        await store.start_cooldown(Scope.ACCOUNT, f"a{number}", until_at, "429")


async def cooled_brands(database: PostgresDatabase, store: Store, crowd: int) -> None:
    """Create a backlog in which each account has its own brand."""
    fill(database, "posts", crowd, account=f"'a' || number % {ACCOUNTS}", brand=f"'brand' || number % {ACCOUNTS}")
    until_at = datetime.now(UTC) + timedelta(hours=1)
    for number in range(ACCOUNTS):
        await store.start_cooldown(Scope.ACCOUNT, f"a{number}", until_at, "429")


async def blackout_of_a_brand(database: PostgresDatabase, store: Store, crowd: int) -> None:
    by_accounts(database, crowd, ACCOUNTS)
    always = Blackout(id=uuid4(), scope=Scope.BRAND, name="acme", start=time(0), end=time(0), timezone="UTC")
    await store.add_blackout(always, ACT)


async def paused_brand(database: PostgresDatabase, store: Store, crowd: int) -> None:
    by_accounts(database, crowd, ACCOUNTS)
    await store.pause(Scope.BRAND, "acme", ACT)


async def paused_account(database: PostgresDatabase, store: Store, crowd: int) -> None:
    by_accounts(database, crowd, 1)
    await store.pause(Scope.ACCOUNT, "a0", ACT)


async def unhandled_types(database: PostgresDatabase, store: Store, crowd: int) -> None:
    """Create jobs that the worker does not handle: in the same channels and lanes, and in channels of their own."""
    for channel in ("posts", "other"):
        fill(database, channel, crowd // 4, account="'c' || number % 10", brand="'bolt'", type="unknown")
        fill(database, channel, crowd // 4, account=f"'a' || number % {ACCOUNTS}", brand="'acme'", type="unknown")
        fill(database, channel, crowd // 2, type="unknown")
    database.sql(
        "INSERT INTO {channels} (channel, type) SELECT number, number FROM generate_series(1, 20000) AS number"
    )


async def nobody(database: PostgresDatabase, store: Store, crowd: int) -> None:
    """Create no backlog."""


Crowd = Callable[[PostgresDatabase, Store, int], Awaitable[None]]


async def create_backlog(database: PostgresDatabase, crowd: Crowd, size: int = CROWD, *, analysed: bool) -> None:
    """Create the backlog, and a few jobs of another channel and of another brand."""
    store = database.store()
    await store.open()
    try:
        # An ordinary day: without it every index would be one page, and any crowd would make it two.
        fill(database, "later", ORDINARY, account=f"'a' || number % {ACCOUNTS}", brand="'acme'", since="-1 day")
        fill(database, "later", ORDINARY, since="-1 day")
        await crowd(database, store, size)
        fill(database, "other", FEW, since="1 minute")
        fill(database, "other", FEW, account="'b' || number", brand="'bolt'", since="1 minute")
        fill(database, "posts", FEW, account="'c' || number", brand="'bolt'", since="1 minute")
        await store.write_settings(render_settings({"posts": 50, "other": 50}, []), "test")
    finally:
        await store.close()
    await take_hints(database)
    database.sql("VACUUM ANALYZE" if analysed else "VACUUM")


async def take_hints(database: PostgresDatabase) -> None:
    """Register the worker, and compute when each lane is due."""
    database.sql("INSERT INTO {workers} (id, host, pid, started_at) VALUES ('w1', 'here', 1, now())")
    store = database.store()
    await store.open()
    try:
        while (poll := await store.poll("w1")).hinted:
            assert await store.claim(ClaimRequest(worker="w1", token=new_id(), free=0, poll=poll)) == []
    finally:
        await store.close()


@dataclass
class Measured:
    """Runs operations as the store would, undoes them, and counts the pages that each statement touches."""

    database: PostgresDatabase
    touched: dict[str, int] = field(default_factory=dict)
    walked: set[str] = field(default_factory=set)  # statements that read all jobs
    discarded: dict[str, float] = field(default_factory=dict)  # rows that a join read and did not want

    def run(self, operation: Operation[T]) -> T:
        now = datetime.now(UTC) + timedelta(seconds=1)
        with closing(psycopg.connect(self.database.url, cursor_factory=psycopg.ClientCursor)) as connection:
            for setting, value in PLANNER_SETTINGS.items():
                connection.execute(f"SET {setting} = {value}".encode())
            return drive(operation, lambda query: self.answer(connection, query, now))

    def answer(self, connection: psycopg.Connection, query: Query, now: datetime) -> list[Row]:
        sql = get_statement("postgres", query.name)
        values = bind_values(Query(query.name, {"now": now, **query.params}, query.rows), sql.names)
        connection.execute("DEALLOCATE ALL")
        connection.execute(f"PREPARE it AS {sql.to_numbered()}".encode(), prepare=False)
        execute = f"EXECUTE it ({', '.join(['%s'] * len(sql.names))})" if sql.names else "EXECUTE it"
        connection.execute("SAVEPOINT before")
        explain = f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {execute}"
        ((result,),) = connection.execute(explain.encode(), values)
        connection.execute("ROLLBACK TO before")
        plan = result[0]["Plan"]
        pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        self.touched[query.name] = self.touched.get(query.name, 0) + pages
        discarded = sum(node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"] for node in nodes(plan))
        self.discarded[query.name] = self.discarded.get(query.name, 0) + discarded
        if any(node["Node Type"] == "Seq Scan" and node["Relation Name"] == "jobs" for node in nodes(plan)):
            self.walked.add(query.name)
        cursor = connection.cursor(row_factory=dict_row)
        cursor.execute(execute.encode(), values)
        return list(cursor) if cursor.description else []


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def measure_claim(database: PostgresDatabase, channel: str, *, lanes: bool) -> tuple[list[Job], Measured]:
    """Poll and claim once; return the jobs and the rows that were read."""
    measured = Measured(database)

    def look_and_claim() -> Operation[list[Job]]:
        poll = yield from poll_operation("w1", heartbeat=True, types=["report"])
        heads = tuple(head for head in poll.heads if (head.channel, head.lanes) == (channel, lanes))
        order = ClaimRequest(worker="w1", token=new_id(), free=FEW, poll=replace(poll, heads=heads))
        return (yield from claims.claim(order))

    return measured.run(look_and_claim()), measured
