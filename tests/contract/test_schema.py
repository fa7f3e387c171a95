"""Migrations, and what the database itself refuses if a rule fails."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from postino.errors import Conflict, SchemaMismatch, StoreError, StoreUnreachable
from postino.stores import postgres, sqlite
from postino.stores.migrations import Migration, check_complete, find_missing, load_migrations
from postino.stores.sqlite import Sqlite
from postino.values.gate import Scope
from postino.values.job import Job, State
from postino.values.outcome import Reject
from postino.values.service import get_service
from tests.contract.databases import Database, SqliteDatabase, only_sqlite
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import create, make_spec

KNOWN = (Migration(1, "0001_one", "one"), Migration(2, "0002_two", "two"))
FIRST, SECOND = (migration.checksum for migration in KNOWN)


async def test_fresh_database_is_migrated_once(empty_database: Database) -> None:
    store = empty_database.store()
    names = [migration.name for migration in load_migrations(empty_database.dialect)]
    assert names[0] == "0001_initial"
    assert await store.migrate() == names
    assert await store.migrate() == []
    await store.open()
    assert await store.queue_depths() == []
    await store.close()


async def test_new_migrations_are_applied_in_order_to_an_existing_database(
    empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load_migrations(empty_database.dialect)
    store = empty_database.store()
    await store.migrate()
    table = "postino.extra" if empty_database.dialect == "postgres" else "postino_extra"
    newer = (
        Migration(98, "0098_create", f"CREATE TABLE {table} (id int)"),
        Migration(99, "0099_fill", f"INSERT INTO {table} (id) VALUES (7)"),
    )
    for driver in (postgres, sqlite):
        monkeypatch.setattr(driver, "load_migrations", lambda _: (*known, *newer))
    assert await store.migrate() == ["0098_create", "0099_fill"]
    assert await store.migrate() == []
    assert empty_database.sql(f"SELECT id FROM {table}") == [(7,)]
    numbers = [(migration.number,) for migration in (*known, *newer)]
    assert empty_database.sql("SELECT number FROM {migrations} ORDER BY number") == numbers


async def test_upgraded_database_knows_when_its_recent_posts_ended(
    empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load_migrations(empty_database.dialect)
    for driver in (postgres, sqlite):
        monkeypatch.setattr(driver, "load_migrations", lambda _: known[:1])
    store = empty_database.store()
    await store.migrate()
    spec, _ = make_spec(fingerprint="hello", guard=True)
    at = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    empty_database.sql(
        "INSERT INTO {posts} (id, content_id, network, account, fingerprint, scheduled_at, phase, created_at)"
        f" VALUES ('{spec.id}', '{spec.id}', 'mastodon', 'anna', 'hello', '{at}', 'completed', '{at}')"
    )
    empty_database.sql(
        "INSERT INTO {finished_jobs} (id, type, channel, queue, state, idempotency_key, payload, scheduled_at,"
        " attempts, generation, rescues, deferrals, may_be_live, created_at, finished_at) VALUES"
        f" ('{spec.id}', 'postino.post', 'mastodon', 1, 'completed', 'k', 'null', '{at}', 1, 1, 0, 0, false,"
        f" '{at}', '{at}')"
    )
    for driver in (postgres, sqlite):
        monkeypatch.setattr(driver, "load_migrations", lambda _: known)
    await store.migrate()
    await store.open()
    with pytest.raises(Conflict, match=f"post {spec.id}"):
        await create(store, make_spec(fingerprint="hello", guard=True))
    await store.close()


async def test_upgraded_accounts_have_the_services_of_new_ones(
    empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load_migrations(empty_database.dialect)
    before = [migration for migration in known if migration.name < "0011_services"]
    for driver in (postgres, sqlite):
        monkeypatch.setattr(driver, "load_migrations", lambda _: before)
    store = empty_database.store()
    await store.migrate()
    urls = (
        "https://Example.social", "https://example.social:8443", "http://example.social", "http://example.social:8080/",
        "https://user:secret@example.social", "http://user:secret@example.social", "sandbox:/mastodon",
    )  # fmt: skip
    for number, url in enumerate(urls):
        empty_database.sql(
            "INSERT INTO {accounts} (id, network, handle, base_url, sealed, created_at)"
            f" VALUES ('a{number}', 'mastodon', 'a', '{url}', '', '2026-11-16T08:00:00.000000Z')"
        )
    for driver in (postgres, sqlite):
        monkeypatch.setattr(driver, "load_migrations", lambda _: known)
    await store.migrate()
    stored = empty_database.sql("SELECT base_url, service FROM {accounts} ORDER BY id")
    assert dict(map(tuple, stored)) == {url: get_service("mastodon", url) for url in urls}


async def test_concurrent_migrations_apply_each_once(empty_database: Database) -> None:
    stores = [empty_database.store() for _ in range(6)]
    applied = await asyncio.gather(*(store.migrate() for store in stores))
    names = [migration.name for migration in load_migrations(empty_database.dialect)]
    assert sorted(name for each in applied for name in each) == names


async def test_unmigrated_database_is_refused_with_advice(empty_database: Database) -> None:
    empty_database.sql("SELECT 1")
    with pytest.raises(StoreError, match="`postino migrate`"):
        await empty_database.store().open()


async def test_partly_migrated_database_is_refused_with_advice(database: Database) -> None:
    applied = database.sql("SELECT number, name, checksum FROM {migrations}")
    database.sql("DELETE FROM {migrations}")
    try:
        with pytest.raises(SchemaMismatch, match=r"has 0 of \d+ migrations\. Run `postino migrate` first"):
            await database.store().open()
    finally:
        for number, name, checksum in applied:
            database.sql(
                f"INSERT INTO {{migrations}} (number, name, checksum) VALUES ({number}, '{name}', '{checksum}')"
            )


async def test_newer_schema_is_refused(database: Database) -> None:
    database.sql("INSERT INTO {migrations} (number, name, checksum) VALUES (99, '0099_future', 'x')")
    try:
        for act in (database.store().open, database.store().migrate):
            with pytest.raises(SchemaMismatch, match=r"version 99, newer than this program.* Upgrade Postino"):
                await act()
    finally:
        database.sql("DELETE FROM {migrations} WHERE number = 99")


async def test_migration_changed_after_it_was_applied_is_refused(database: Database) -> None:
    ((checksum,),) = database.sql("SELECT checksum FROM {migrations} WHERE number = 1")
    database.sql("UPDATE {migrations} SET checksum = 'x' WHERE number = 1")
    try:
        for act in (database.store().open, database.store().migrate):
            with pytest.raises(SchemaMismatch, match="0001_initial was changed after it was applied"):
                await act()
    finally:
        database.sql(f"UPDATE {{migrations}} SET checksum = '{checksum}' WHERE number = 1")


@only_sqlite
async def test_opening_does_not_create_a_database(database: SqliteDatabase) -> None:
    path = database.path.with_name("elsewhere.db")
    with pytest.raises(StoreUnreachable, match=r"There is no database at .*elsewhere\.db"):
        await Sqlite(path).open()
    assert not path.exists()


@pytest.mark.parametrize(
    ("applied", "expected"),
    [({}, [1, 2]), ({1: FIRST}, [2]), ({2: SECOND}, [1]), ({1: FIRST, 2: SECOND}, [])],
)
def test_missing_migrations_are_found_in_order(applied: dict[int, str], expected: list[int]) -> None:
    assert [migration.number for migration in find_missing(KNOWN, applied)] == expected


def test_incomplete_schema_is_refused() -> None:
    check_complete(KNOWN, {1: FIRST, 2: SECOND})
    with pytest.raises(SchemaMismatch, match="has 1 of 2 migrations"):
        check_complete(KNOWN, {1: FIRST})


@pytest.mark.parametrize(
    "change",
    [
        "run_at = NULL",
        "state = 'running'",
        "state = 'running', token = id, claimed_by = 'w1'",
        "state = 'running', token = id, claimed_at = created_at",
        "state = 'running', claimed_by = 'w1', claimed_at = created_at",
        "token = id",
        "claimed_by = 'w1'",
        "claimed_at = created_at",
        "state = 'uncertain', token = id",
        "state = 'completed'",
        "state = 'asleep'",
        "queue = 3",
        "attempts = -1",
        "payload = NULL",
        "max_attempts = 0",
        "time_limit = 0",
    ],
)
async def test_database_refuses_a_job_that_could_never_run(harness: StoreHarness, due_job: Job, change: str) -> None:
    with pytest.raises(harness.database.refusal):
        harness.database.sql(f"UPDATE {{jobs}} SET {change}")
    assert await harness.store.job(due_job.id) == due_job


async def test_database_accepts_an_uncertain_job_that_waits_for_a_person(harness: StoreHarness, due_job: Job) -> None:
    harness.database.sql("UPDATE {jobs} SET state = 'uncertain', run_at = NULL")
    assert await harness.state(due_job) is State.UNCERTAIN


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE {finished_jobs} SET state = 'pending'",
        "UPDATE {dead_letters} SET cause = 'bad luck'",
        "UPDATE {dead_letters} SET resolution = 'replayed'",
        "UPDATE {dead_letters} SET resolved_at = died_at",
        "UPDATE {dead_letters} SET resolution = 'forgotten', resolved_at = died_at",
        "INSERT INTO {idempotency_keys} SELECT * FROM {idempotency_keys}",
        "UPDATE {gates} SET scope = 'moon'",
        "UPDATE {gates} SET kind = 'mood'",
        "UPDATE {caps} SET cap = -1",
        "UPDATE {caps} SET default_cap = -1",
        "INSERT INTO {audit} SELECT * FROM {audit}",
    ],
)
async def test_database_refuses_states_that_rules_never_write(harness: StoreHarness, change: str) -> None:
    await harness.run(Reject("no"), key="k")
    await harness.store.set_cap("reports", 1, ME)
    await harness.store.pause(Scope.QUEUE, "low", ME)
    with pytest.raises(harness.database.refusal):
        harness.database.sql(change)
