"""The outbox: every event once, in order, whatever order transactions commit in; one reader for each cursor."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, cast

import asyncpg
import pytest
import structlog

from postino.api.event_stream import EventStream, StreamedEvent, Subscriber
from postino.engine.event_monitor import EventMonitor
from postino.stores.operations import events
from postino.stores.postgres import Postgres
from postino.stores.store import Store
from postino.values.event import Cursor
from postino.values.gate import Scope
from postino.values.outcome import Done
from tests.contract.databases import PostgresDatabase, only_postgres
from tests.contract.harness import ME, StoreHarness

LATE_EVENT = """INSERT INTO postino.events (at, type, data) VALUES (now(), 'gate.paused', '{"name": "late"}')"""


async def read_on(store: Store, after: Cursor, names: list[str]) -> Cursor:
    """Reads as a listener does: everything after its cursor, which then stands behind the last one."""
    events = await store.events(after, 100)
    names += [event.data["name"] for event in events]
    return events[-1].cursor if events else after


async def test_events_come_in_the_order_they_happened_each_after_the_last(harness: StoreHarness) -> None:
    job = await harness.run(Done())
    events = await harness.events()
    assert [event.type for event in events] == ["job.claimed", "job.completed"]
    assert events[-1].job_id == job.id
    cursors = [event.cursor for event in events]
    assert cursors == sorted(set(cursors))
    assert await harness.events(cursors[0]) == events[1:]
    assert await harness.events(cursors[1]) == []


async def test_events_are_read_page_by_page_without_loss(harness: StoreHarness) -> None:
    for number in range(7):
        await harness.store.pause(Scope.BRAND, str(number), ME)
    names: list[str] = []
    cursor = Cursor()
    while page := await harness.store.events(cursor, 3):
        assert len(page) <= 3
        names += [event.data["name"] for event in page]
        cursor = page[-1].cursor
    assert names == [str(number) for number in range(7)]


async def test_concurrent_writers_lose_no_event_of_a_reader_that_never_waits(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    names: list[str] = []
    cursor = Cursor()
    writers = asyncio.gather(
        *(stores[turn % 3].pause(Scope.BRAND, str(turn), ME) for turn in range(40)), return_exceptions=True
    )
    while not writers.done():
        cursor = await read_on(harness.store, cursor, names)
    assert not [result for result in await writers if isinstance(result, BaseException)]
    await read_on(harness.store, cursor, names)
    assert sorted(names, key=int) == [str(turn) for turn in range(40)]


@only_postgres
@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
async def test_an_event_that_commits_late_is_read_late_but_not_lost(
    harness: StoreHarness, database: PostgresDatabase, ending: str
) -> None:
    late: Any = await asyncpg.connect(database.url)
    try:
        await late.execute("BEGIN")
        await late.execute(LATE_EVENT)
        await harness.store.pause(Scope.BRAND, "early", ME)
        names: list[str] = []
        cursor = await read_on(harness.store, Cursor(), names)
        assert names == []  # what commits behind the open transaction waits for it
        await late.execute(ending)
        cursor = await read_on(harness.store, cursor, names)
        assert names == (["late", "early"] if ending == "COMMIT" else ["early"])
        assert await read_on(harness.store, cursor, names) == cursor
    finally:
        await late.close()


@only_postgres
async def test_events_committed_before_an_open_transaction_are_read_at_once(
    harness: StoreHarness, database: PostgresDatabase
) -> None:
    await harness.store.pause(Scope.BRAND, "first", ME)
    late: Any = await asyncpg.connect(database.url)
    try:
        async with late.transaction():
            await late.execute(LATE_EVENT)
            names: list[str] = []
            cursor = await read_on(harness.store, Cursor(), names)
            assert names == ["first"]
        await read_on(harness.store, cursor, names)
        assert names == ["first", "late"]
    finally:
        await late.close()


async def test_cursor_is_leased_by_one_reader_at_a_time(harness: StoreHarness) -> None:
    assert await harness.store.lease_cursor("alerts", "w1", 5, from_start=True) == Cursor()
    assert await harness.store.lease_cursor("alerts", "w2", 5, from_start=True) is None
    assert await harness.store.lease_cursor("notices", "w2", 5, from_start=True) == Cursor()
    assert await harness.store.lease_cursor("alerts", "w1", 5, from_start=True) == Cursor()


async def test_new_listener_hears_events_from_its_registration_on(harness: StoreHarness) -> None:
    await harness.store.pause(Scope.BRAND, "before", ME)
    registered = await harness.store.lease_cursor("alerts", "w1", 0)
    assert registered is not None
    await harness.store.pause(Scope.BRAND, "after", ME)
    harness.clock.turn(seconds=1)
    assert await harness.store.lease_cursor("alerts", "w2", 5) == registered
    assert [event.data["name"] for event in await harness.events(registered)] == ["after"]


@only_postgres
async def test_new_listener_hears_events_that_were_written_but_not_committed(
    harness: StoreHarness, database: PostgresDatabase
) -> None:
    late: Any = await asyncpg.connect(database.url)
    await late.execute("BEGIN")
    await late.execute(LATE_EVENT)
    await harness.store.pause(Scope.BRAND, "meanwhile", ME)
    registered = await harness.store.lease_cursor("alerts", "w1", 5)
    await late.execute("COMMIT")
    await late.close()
    assert registered is not None
    assert "late" in [event.data["name"] for event in await harness.events(registered)]


async def test_cursor_is_free_when_its_lease_ends(harness: StoreHarness) -> None:
    await harness.store.lease_cursor("alerts", "w1", 5, from_start=True)
    harness.clock.turn(seconds=4.9)
    assert await harness.store.lease_cursor("alerts", "w2", 5, from_start=True) is None
    harness.clock.turn(seconds=0.2)
    assert await harness.store.lease_cursor("alerts", "w2", 5, from_start=True) == Cursor()
    assert await harness.store.lease_cursor("alerts", "w1", 5, from_start=True) is None


async def test_leasing_again_extends_the_lease(harness: StoreHarness) -> None:
    await harness.store.lease_cursor("alerts", "w1", 5, from_start=True)
    harness.clock.turn(seconds=4)
    await harness.store.lease_cursor("alerts", "w1", 5, from_start=True)
    harness.clock.turn(seconds=4)
    assert await harness.store.lease_cursor("alerts", "w2", 5, from_start=True) is None


async def test_a_cursor_is_moved_by_its_holder_only_and_stays_where_it_was_moved(harness: StoreHarness) -> None:
    await harness.store.pause(Scope.BRAND, "a", ME)
    await harness.store.pause(Scope.BRAND, "b", ME)
    first, second = await harness.events()
    await harness.store.lease_cursor("alerts", "w1", 5, from_start=True)
    assert await harness.store.move_cursor("alerts", "w1", first.cursor)
    assert not await harness.store.move_cursor("alerts", "w2", second.cursor)
    harness.clock.turn(seconds=6)
    assert await harness.store.lease_cursor("alerts", "w2", 5, from_start=True) == first.cursor
    assert not await harness.store.move_cursor("alerts", "w1", second.cursor)
    assert await harness.store.move_cursor("alerts", "w2", second.cursor)
    assert await harness.store.lease_cursor("alerts", "w2", 5, from_start=True) == second.cursor


async def test_concurrent_leases_of_a_cursor_have_one_winner(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    held = await asyncio.gather(
        *(stores[turn % 3].lease_cursor("alerts", f"w{turn}", 5, from_start=True) for turn in range(12))
    )
    assert len([cursor for cursor in held if cursor is not None]) == 1


async def test_cursor_of_another_database_starts_from_now(harness: StoreHarness) -> None:
    async def let_in() -> bool:
        return True

    await harness.store.pause(Scope.CHANNEL, "before", ME)
    stream, guest = EventStream(harness.store, poll_interval=0.01), Subscriber("anybody", let_in)
    ahead = Cursor(2**40, 2**40)
    async with aclosing(stream.listen(lambda value: value, ahead, guest, heartbeat=30)) as heard:
        [last] = await harness.events()
        assert await anext(heard) == last.cursor
        await harness.store.pause(Scope.CHANNEL, "after", ME)
        [value] = cast(Sequence[StreamedEvent], await anext(heard))
        assert value.event.data["name"] == "after"


async def test_nothing_delays_events_without_an_open_transaction(harness: StoreHarness) -> None:
    await harness.put()
    assert await harness.store.event_delay(0) is None


@only_postgres
async def test_open_transaction_of_another_database_is_named_as_the_delay(
    harness: StoreHarness, database: PostgresDatabase, postgres_url: str
) -> None:
    other: Any = await asyncpg.connect(postgres_url, server_settings={"application_name": "nightly report"})
    try:
        await other.execute("BEGIN; SELECT pg_current_xact_id()")
        await harness.store.pause(Scope.BRAND, "acme", ME)
        assert await harness.events() == []
        monitor = EventMonitor(harness.store, 60)
        with structlog.testing.capture_logs() as logs:
            monitor.update(await harness.store.event_delay(60))
            assert logs == []
            monitor.update(await harness.store.event_delay(0))
            monitor.update(await harness.store.event_delay(0))
            await other.execute("ROLLBACK")
            monitor.update(await harness.store.event_delay(0))
        assert [entry["event"] for entry in logs] == ["events.delayed", "events.recovered"]
        assert (logs[0]["process"], logs[0]["application"]) == (other.get_server_pid(), "nightly report")
        assert logs[0]["database"] == postgres_url.rpartition("/")[2]
        assert f"pg_terminate_backend({other.get_server_pid()})" in logs[0]["next"]
        assert len(await harness.events()) == 1
    finally:
        await other.close()


@only_postgres
async def test_role_without_privileges_sees_what_delays_events(
    harness: StoreHarness, database: PostgresDatabase, postgres_url: str
) -> None:
    """Such a role sees neither name nor age of others' transactions: the oldest event tells the age."""
    database.sql("DROP ROLE IF EXISTS plain")
    database.sql("CREATE ROLE plain LOGIN PASSWORD 'plain'")
    database.sql("GRANT USAGE ON SCHEMA postino TO plain; GRANT SELECT ON ALL TABLES IN SCHEMA postino TO plain")
    database.sql("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA postino TO plain")
    other: Any = await asyncpg.connect(postgres_url)
    plain = Store(Postgres(re.sub("//[^@]*@", "//plain:plain@", database.url)))
    try:
        await other.execute("BEGIN; SELECT pg_current_xact_id()")
        assert await plain.event_delay(0) is None
        await harness.store.pause(Scope.BRAND, "acme", ME)
        delay = await plain.event_delay(0)
        assert delay is not None
        assert (delay.pid, delay.application or None) == (other.get_server_pid(), None)
    finally:
        await other.close()
        await plain.close()
        database.sql("DROP OWNED BY plain; DROP ROLE plain")


AHEAD = 2**40  # transactions that another cluster has counted, and this one has not


def move_to_another_cluster(database: PostgresDatabase) -> None:
    """Leave the transaction ids of another cluster in events and cursors, as a restored dump does."""
    for table in ("events", "cursors"):
        database.sql(f"UPDATE {{{table}}} SET xid = (xid::text::bigint + {AHEAD})::text::xid8 WHERE xid > '0'")


async def read_all(store: Store, listener: str) -> list[str]:
    """Read like a relay until nothing more comes, and return the names of the events."""
    names: list[str] = []
    while True:
        cursor = await store.lease_cursor(listener, "w1", 5, from_start=True)
        assert cursor is not None
        after = await read_on(store, cursor, names)
        if after == cursor:
            return names
        assert await store.move_cursor(listener, "w1", after)


@only_postgres
@pytest.mark.parametrize("rebase_batch", [1, 10_000])
async def test_listeners_lose_no_event_after_a_dump_into_another_cluster(
    harness: StoreHarness, database: PostgresDatabase, rebase_batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "REBASE_BATCH", rebase_batch)
    store = harness.store
    for name in ("a", "b", "c"):
        await store.pause(Scope.BRAND, name, ME)
    first, *_ = await harness.events()
    assert await read_all(store, "up to date") == ["a", "b", "c"]
    await store.lease_cursor("behind", "w1", 5, from_start=True)
    await store.move_cursor("behind", "w1", first.cursor)
    move_to_another_cluster(database)
    await store.pause(Scope.BRAND, "d", ME)
    assert await read_all(store, "behind") == ["b", "c", "d"]
    assert await read_all(store, "up to date") == ["d"]
    assert await read_all(store, "new") == ["a", "b", "c", "d"]
    await store.pause(Scope.BRAND, "e", ME)
    assert [await read_all(store, name) for name in ("behind", "up to date", "new")] == [["e"], ["e"], ["e"]]


@only_postgres
@pytest.mark.parametrize("rebase_batch", [1, 10_000])
@pytest.mark.parametrize("passed", range(5))
async def test_listeners_lose_and_repeat_no_event_if_the_cluster_has_passed_some_of_them(
    harness: StoreHarness, database: PostgresDatabase, rebase_batch: int, passed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other databases of the cluster count transactions, too: some ids of the dump are behind, the others ahead."""
    monkeypatch.setattr(events, "REBASE_BATCH", rebase_batch)
    store, names = harness.store, ["a", "b", "c", "d", "e"]
    for name in names:
        await store.pause(Scope.BRAND, name, ME)
    positions = [event.cursor for event in await harness.events()]
    listeners = {f"after {name}": number + 1 for number, name in enumerate(names)}
    for listener, received in listeners.items():
        await store.lease_cursor(listener, "w1", 5, from_start=True)
        await store.move_cursor(listener, "w1", positions[received - 1])
    for table in ("events", "cursors"):
        ahead = f"UPDATE {{{table}}} SET xid = (xid::text::bigint + {AHEAD})::text::xid8"
        database.sql(f"{ahead} WHERE seq > {positions[passed - 1].seq if passed else 0}")
    await store.pause(Scope.BRAND, "f", ME)
    for listener, received in listeners.items():
        assert await read_all(store, listener) == [*names[received:], "f"], listener
    assert await read_all(store, "new") == [*names, "f"]
    await store.pause(Scope.BRAND, "g", ME)
    assert [await read_all(store, listener) for listener in (*listeners, "new")] == [["g"]] * 6


@only_postgres
async def test_relay_that_read_before_a_rebase_does_not_move_past_it(
    harness: StoreHarness, database: PostgresDatabase
) -> None:
    for name in ("a", "b", "c"):
        await harness.store.pause(Scope.BRAND, name, ME)
    first, _, third = [event.cursor for event in await harness.events()]
    await harness.store.lease_cursor("slow", "w1", 5, from_start=True)
    database.sql(f"UPDATE {{events}} SET xid = (xid::text::bigint + {AHEAD})::text::xid8 WHERE seq = {third.seq}")
    other = await harness.open_another_store()
    assert await read_all(other, "fast") == ["a", "b", "c"]
    assert not await harness.store.move_cursor("slow", "w1", first)
    assert await read_all(harness.store, "slow") == ["a", "b", "c"]


@only_postgres
async def test_events_that_committed_out_of_order_survive_another_cluster(
    harness: StoreHarness, database: PostgresDatabase
) -> None:
    late: Any = await asyncpg.connect(database.url)
    await late.execute("BEGIN")
    await late.execute("SELECT nextval('postino.events_seq')")
    await harness.store.pause(Scope.BRAND, "early", ME)
    assert await read_all(harness.store, "alerts") == ["early"]
    await late.execute(LATE_EVENT.replace("(at,", "(seq, at,").replace("(now(),", "(lastval(), now(),"))
    await late.execute("COMMIT")  # its number is lower than that of the event before it
    await late.close()
    move_to_another_cluster(database)
    assert await read_all(harness.store, "alerts") == ["late", "early"]


@only_postgres
async def test_relays_that_rebase_at_once_lose_no_event(
    harness: StoreHarness, database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "REBASE_BATCH", 3)
    for number in range(20):
        await harness.store.pause(Scope.BRAND, str(number), ME)
    listeners = [f"listener {number}" for number in range(4)]
    for listener, event in zip(listeners, await harness.events(), strict=False):
        await harness.store.lease_cursor(listener, "w1", 5, from_start=True)
        await harness.store.move_cursor(listener, "w1", event.cursor)
    move_to_another_cluster(database)
    stores = [harness.store, await harness.open_another_store()] * 2
    heard = await asyncio.gather(*(read_until_heard(*one) for one in zip(stores, listeners, strict=True)))
    for number, names in enumerate(heard):
        assert set(names) >= {str(later) for later in range(number + 1, 20)}


async def read_until_heard(store: Store, listener: str) -> list[str]:
    """Read until the last event came; while another process rebases, nothing comes."""
    names: list[str] = []
    async with asyncio.timeout(10):
        while "19" not in names:
            names += await read_all(store, listener)
    return names
