"""What is blocked or not due costs the others nothing: counted in pages the server touches, never in time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from postino.job import new_id
from postino.stores.operations.claim import LONG_AGO
from postino.stores.postgres import PLANNED
from postino.stores.statement import statement
from tests.contract.databases import Database, PostgresDatabase, SqliteDatabase, only_postgres, only_sqlite

CROWD = 20_000
FEW_PAGES = 200  # some fifteen for each of ten jobs, mostly to write them; walking over a crowd takes thousands

FILL = """
INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, idempotency_key, payload, scheduled_at,
                          run_at, created_at)
SELECT gen_random_uuid(), 'report', '{channel}', 1, 'pending', {lane}, {account}, gen_random_uuid()::text, '\\x7b7d',
       now(), now() {when} + number * interval '1 ms', now()
FROM generate_series(1, {count}) AS number
"""


def fill(database: Database, channel: str, count: int, *, when: str, account: str | None = None) -> None:
    lane, quoted = (f"'@{account}'", f"'{account}'") if account else ("NULL", "NULL")
    text = FILL.format(channel=channel, count=count, when=when, lane=lane, account=quoted)
    database.sql(text)
    database.sql(f"INSERT INTO {{channels}} VALUES ('{channel}')")
    if account:
        database.sql(f"INSERT INTO {{lanes}} VALUES ('{channel}', '@{account}', '{account}') ON CONFLICT DO NOTHING")
        database.sql(f"INSERT INTO {{lane_due}} VALUES ('{channel}', '@{account}', 1, now() {when})")


@pytest.fixture(params=["analysed", "never-analysed"])
def crowded(request: pytest.FixtureRequest, database: PostgresDatabase) -> PostgresDatabase:
    """Forty thousand jobs that may not run, and ten that may, for a planner that knows them or does not."""
    database.sql("INSERT INTO {workers} (id, host, pid, started_at) VALUES ('w1', 'here', 1, now())")
    fill(database, "reports", CROWD, when="+ interval '1 hour'")
    fill(database, "paused", CROWD, when="- interval '1 hour'")
    fill(database, "reports", 10, when="- interval '1 minute'")
    fill(database, "posts", CROWD, when="- interval '1 hour'", account="paused")
    fill(database, "posts", 10, when="- interval '1 minute'", account="open")
    if request.param == "analysed":
        database.sql("ANALYZE")
    return database


def pages(database: PostgresDatabase, name: str, plan: str, **values: Any) -> tuple[int, int, str]:
    """How many pages the statement touches, how many rows it gives, and its plan."""
    sql = statement("postgres", name)
    values |= {"now": datetime.now(UTC) + timedelta(seconds=1)}
    with psycopg.connect(database.url, cursor_factory=psycopg.ClientCursor) as connection:
        for setting, value in {**PLANNED, "plan_cache_mode": plan}.items():
            connection.execute(f"SET {setting} = {value}".encode())
        connection.execute("SET jit = off")
        connection.execute(f"PREPARE it AS {sql.numbered()}".encode(), prepare=False)
        marks = ", ".join(["%s"] * len(sql.names))
        asked = f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE it ({marks})".encode()
        lines = [line for (line,) in connection.execute(asked, [values[name] for name in sql.names])]
        connection.rollback()
    told = "\n".join(lines)
    top = told.partition("Buffers:")[2].partition("\n")[0]
    touched = sum(int(count) for count in re.findall(r"(?:hit|read)=(\d+)", top))
    given = re.search(r"rows=(\d+) loops", lines[0])
    assert given is not None
    return touched, int(given[1]), told


EITHER_PLAN = ("force_custom_plan", "force_generic_plan")  # the server itself changes from one to the other


@only_postgres
def test_a_bulk_claim_touches_few_pages_beside_crowds_that_may_not_run(crowded: PostgresDatabase) -> None:
    for plan in EITHER_PLAN:
        touched, claimed, told = pages(
            crowded, "claim_bulk", plan,
            channel=["reports"], share=[10], since_at=[LONG_AGO], queue=1, queue_name="default", counted=[],
            worker="w1", token=new_id(), limits=None, grace=0.0,
        )  # fmt: skip
        assert claimed == 10, told
        assert "Seq Scan on jobs" not in told
        assert touched <= FEW_PAGES, told


@only_postgres
def test_a_lane_behind_a_crowd_of_a_paused_account_is_found_in_few_pages(crowded: PostgresDatabase) -> None:
    for plan in EITHER_PLAN:
        touched, found, told = pages(
            crowded, "lock_lanes", plan, channel=["posts"], share=[10], queue=1, brands=[], accounts=["paused"]
        )
        assert found == 1, told
        assert touched <= FEW_PAGES, told
        touched, claimed, told = pages(
            crowded, "claim_lanes", plan,
            channel=["posts"], lane=["@open"], width=[1], queue=1, brands=[], worker="w1", token=new_id(),
            limits=None, grace=0.0,
        )  # fmt: skip
        assert claimed == 1, told
        assert "Seq Scan on jobs" not in told
        assert touched <= FEW_PAGES, told


@only_postgres
def test_a_lane_with_a_crowd_is_rearmed_in_few_pages(crowded: PostgresDatabase) -> None:
    for plan in EITHER_PLAN:
        touched, _, told = pages(crowded, "rearm_lanes", plan, channel=["posts"], lane=["@paused"])
        assert "Seq Scan on jobs" not in told
        assert touched <= FEW_PAGES, told


@only_postgres
def test_a_survey_touches_few_pages_whatever_waits(crowded: PostgresDatabase) -> None:
    for plan in EITHER_PLAN:
        touched, found, told = pages(
            crowded, "survey", plan, worker="w1", beat=True, mark_channel=[], mark_queue=[], mark_since_at=[]
        )
        assert found >= 4, told
        assert "Seq Scan on jobs" not in told
        assert touched <= FEW_PAGES, told


@only_sqlite
@pytest.mark.parametrize(
    "name",
    [
        "claim_bulk", "claim_lanes", "count_running", "find_by_keys", "get",
        "settle_completed", "settle_finished", "settle_live", "settled_before",
    ],
)  # fmt: skip
def test_sqlite_reads_jobs_through_an_index(database: SqliteDatabase, name: str) -> None:
    for part in statement("sqlite", name).text.split(";"):
        values = re.sub(r":[a-z_]+", "'[]'", part)
        steps = [str(step[-1]) for step in database.sql(f"EXPLAIN QUERY PLAN {values}")]
        walks = [step for step in steps if re.match(r"SCAN postino_(jobs|finished|keys)\b", step)]
        assert steps
        assert [walk for walk in walks if "USING" not in walk] == [], steps
