"""The essentials of the contract on databases with unsuitable defaults, and through PgBouncer in transaction mode.

Each test below is one of the contract suite, on a database of this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import asyncpg
import psycopg
import pytest

from postino.errors import StoreUnreachable
from postino.stores.postgres import Postgres
from tests.contract.databases import PostgresDatabase
from tests.contract.harness import StoreHarness
from tests.contract.test_claims import (  # noqa: F401
    test_many_claimers_get_each_job_exactly_once,
    test_only_one_of_two_claims_wins,
    test_poll_returns_the_first_due_time_of_every_line,
)
from tests.contract.test_duplicates import (  # noqa: F401
    test_concurrent_duplicates_have_one_winner,
    test_duplicates_on_the_same_accounts_do_not_deadlock,
)
from tests.contract.test_enqueue import (  # noqa: F401
    test_hundred_parallel_enqueues_of_one_key_give_one_job,
    test_wait_for_a_key_of_an_open_transaction_ends_with_the_lock_timeout,
)
from tests.contract.test_events import test_concurrent_writers_lose_no_event_of_a_reader_that_never_waits  # noqa: F401
from tests.contract.test_gates import (  # noqa: F401
    test_concurrent_claimers_never_exceed_a_cap,
    test_pause_and_resume_write_events_and_audit_entries,
)
from tests.contract.test_lanes import test_concurrent_claimers_never_run_two_jobs_of_an_account  # noqa: F401
from tests.contract.test_posts import (  # noqa: F401
    test_concurrent_duties_fail_each_missed_post_once,
    test_concurrent_edits_count_versions_one_by_one,
    test_many_calls_with_one_key_make_one_post,
)
from tests.contract.test_settle import (  # noqa: F401
    test_batch_is_settled_together_and_returns_what_was_held,
    test_history_has_one_row_for_each_attempt,
)
from tests.servers.postgres import PostgresServer

UNSUITABLE = {
    "statement_timeout": "'200ms'",  # PgBouncer itself sends statements, which need some time
    "lock_timeout": "'1ms'",
    "idle_in_transaction_session_timeout": "'200ms'",
    "search_path": "nowhere",
    "timezone": "'Asia/Kathmandu'",
    "datestyle": "'SQL, DMY'",
    "intervalstyle": "'sql_standard'",
    "bytea_output": "'escape'",
    "standard_conforming_strings": "off",
    "row_security": "off",
    "synchronous_commit": "off",
    "plan_cache_mode": "force_custom_plan",
}
DEFAULTS: dict[str, dict[str, str]] = {
    "repeatable read": {"default_transaction_isolation": "'repeatable read'"},
    "serializable": {"default_transaction_isolation": "serializable"},
    "unsuitable": UNSUITABLE,
    "pgbouncer": {},
    "pgbouncer, unsuitable": {**UNSUITABLE, "default_transaction_isolation": "serializable"},
}
SUITABLE = "-c statement_timeout=0 -c lock_timeout=0 -c default_transaction_isolation=read\\ committed -c timezone=UTC"


@pytest.fixture(scope="session")
def unsuitable_databases(postgres_server: PostgresServer) -> Iterator[dict[str, PostgresDatabase]]:
    """Return the databases that tests have asked for so far, by the name of their defaults."""
    databases: dict[str, PostgresDatabase] = {}
    yield databases
    for database in databases.values():
        database.close()


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.postgres) for name in DEFAULTS])
def database(
    request: pytest.FixtureRequest, postgres_server: PostgresServer, unsuitable_databases: dict[str, PostgresDatabase]
) -> PostgresDatabase:
    name = request.param if request.param in DEFAULTS else "serializable"
    if name not in unsuitable_databases:
        url = postgres_server.create_database()
        with psycopg.connect(url, autocommit=True) as connection:
            for setting, value in DEFAULTS[name].items():
                connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET {setting} = {value}".encode())
        pooled = name.startswith("pgbouncer")
        used = request.getfixturevalue("bouncer").translate(url) if pooled else url
        direct = psycopg.connect(url, autocommit=True, options=SUITABLE)
        unsuitable_databases[name] = PostgresDatabase(used, is_pooled=pooled, connection=direct)
        asyncio.run(unsuitable_databases[name].store().migrate())
    database = unsuitable_databases[name]
    database.wipe()
    return database


async def test_every_statement_has_postinos_settings(harness: StoreHarness) -> None:
    driver = harness.store.driver
    assert isinstance(driver, Postgres)
    async with driver.connection() as connection:
        assert await connection.fetchval("SHOW transaction_isolation") == "read committed"
        assert await connection.fetchval("SHOW plan_cache_mode") == "force_generic_plan"
        assert await connection.fetchval("SHOW statement_timeout") == "5s"
        assert await connection.fetchval("SHOW synchronous_commit") == "on"


@pytest.mark.parametrize("database", ["pgbouncer"], indirect=True)
async def test_nothing_is_left_in_a_session_behind_the_pooler(harness: StoreHarness) -> None:
    assert isinstance(harness.store.driver, Postgres)
    assert harness.store.driver.is_pooled
    await harness.put()
    assert isinstance(harness.database, PostgresDatabase)
    other = await asyncpg.connect(harness.database.url, statement_cache_size=0)
    try:
        for name, default in (("enable_seqscan", "on"), ("statement_timeout", "0"), ("search_path", '"$user", public')):
            assert await other.fetchval(f"SHOW {name}") == default
        assert await other.fetchval("SELECT count(*) FROM pg_prepared_statements") == 0
        assert await other.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    finally:
        await other.close()


@pytest.mark.parametrize("database", ["pgbouncer"], indirect=True)
async def test_pooler_that_is_not_recognised_shows_in_its_errors(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def see_no_pooler(_: object) -> bool:
        return False

    monkeypatch.setattr("postino.stores.postgres.is_pooled", see_no_pooler)
    store = database.store()
    with pytest.raises(StoreUnreachable, match="unsupported startup parameter"):
        await store.queue_depths()
    assert await store.queue_depths() == []
    await store.close()


async def test_database_that_is_read_only_says_so_until_it_is_not(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    store = database.store()
    await store.migrate()
    await store.open()
    name = postgres_url.rpartition("/")[2]
    database.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    other = database.store()
    with pytest.raises(StoreUnreachable, match="is read-only"):
        await other.register_witness("it", 0)
    database.sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    await other.close()
    await other.register_witness("it", 0)
    for opened in (store, other):
        await opened.close()
    database.close()
