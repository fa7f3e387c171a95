"""Count the pages that a claim and a settle touch, as PostgreSQL reports them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import scalar_row

from postino.stores.postgres_session import PLANNER_SETTINGS
from postino.stores.statement import Query, bind_values, get_statement
from postino.values.job import Queue, new_id

CHANNEL, WORKER = "noop", "bench"  # a job that names no channel goes by its type
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
NOBODY = "DELETE FROM postino.workers"
SOMEBODY = f"INSERT INTO postino.workers (id, host, pid, started_at) VALUES ('{WORKER}', 'here', 1, now())"

Plan = dict[str, Any]


def count_touched_pages(url: str, share: int, since: datetime = LONG_AGO) -> dict[str, int]:
    """Return the pages that a poll, a claim of `share` jobs and their settlement touch, and roll everything back.

    The statements get the same plans as on Postino's connections.
    """
    most = {"claim": 0, "settle": 0}
    for plans in ("force_custom_plan", "force_generic_plan"):
        with rollback(url) as connection:
            for setting, value in {**PLANNER_SETTINGS, "plan_cache_mode": plans}.items():
                connection.execute(f"SET {setting} = {value}".encode())
            token, now = new_id(), datetime.now(UTC) + timedelta(seconds=1)
            claim = count_pages(connection, poll(now, since)) + count_pages(
                connection, make_claim(share, token, now, since)
            )
            ended = count_pages(connection, make_settle(connection, token, now, share))
        most = {"claim": max(most["claim"], claim), "settle": max(most["settle"], ended)}
    return most


@contextmanager
def rollback(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("SET jit = off")
        connection.execute(NOBODY)
        connection.execute(SOMEBODY)
        yield connection
        connection.rollback()


def poll(now: datetime, since: datetime) -> Query:
    marks = {"mark_channel": [CHANNEL], "mark_queue": [Queue.DEFAULT.value], "mark_since_at": [since]}
    return Query("poll", {"worker": WORKER, "beat": False, "now": now, **marks})


def make_claim(share: int, token: UUID, now: datetime, since: datetime) -> Query:
    line = {"channel": CHANNEL, "share": share, "since_at": since}
    params = {
        "queue": Queue.DEFAULT.value, "queue_name": "default", "counted": [], "limits": None, "grace": 0.0,
        "worker": WORKER, "token": token, "now": now,
    }  # fmt: skip
    return Query("claim_bulk_jobs", params, [line])


def make_settle(connection: psycopg.Connection[Any], token: UUID, now: datetime, share: int) -> Query:
    ids = [row[0] for row in connection.execute("SELECT id FROM postino.jobs WHERE token = %s", [token])]
    assert len(ids) == share, f"claimed {len(ids)} of {share}"
    tokens, data = [token] * share, ["{}"] * share
    return Query("settle_completed", {
        "id": ids, "token": tokens, "remote_id": None, "result": None, "data": data, "now": now,
    })  # fmt: skip


def count_pages(connection: psycopg.Connection[Any], query: Query) -> int:
    """Run the query as a prepared statement, as workers do."""
    sql = get_statement("postgres", query.name)
    marks = ", ".join(["%s"] * len(sql.names))
    connection.execute(f"PREPARE {query.name} AS {sql.to_numbered()}".encode(), prepare=False)
    asked = f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE {query.name} ({marks})"
    with connection.cursor(row_factory=scalar_row) as cursor:
        cursor.execute(asked.encode(), bind_values(query, sql.names))
        [explained] = cursor.fetchall()
    return sum_pages(explained[0]["Plan"])


def sum_pages(plan: Plan) -> int:
    """Return the pages of a plan: those of its root, and of data-modifying parts that no other part reads."""
    nodes = list(walk_plan(plan))
    read_from = {node.get("CTE Name") for node in nodes}
    after = [node for node in nodes if node.get("Subplan Name", "").removeprefix("CTE ") not in read_from | {""}]
    return sum(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in [plan, *after])


def walk_plan(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", []):
        yield from walk_plan(child)
