"""The outbox: every event once, in order, whatever order transactions commit in; one reader for each cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, cast

import asyncpg
import pytest

from postino.api.event_stream import EventStream, StreamedEvent, Subscriber
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
    assert await harness.store.lease_cursor("alerts", "w1", 5) == Cursor()
    assert await harness.store.lease_cursor("alerts", "w2", 5) is None
    assert await harness.store.lease_cursor("notices", "w2", 5) == Cursor()
    assert await harness.store.lease_cursor("alerts", "w1", 5) == Cursor()


async def test_cursor_is_free_when_its_lease_ends(harness: StoreHarness) -> None:
    await harness.store.lease_cursor("alerts", "w1", 5)
    harness.clock.turn(seconds=4.9)
    assert await harness.store.lease_cursor("alerts", "w2", 5) is None
    harness.clock.turn(seconds=0.2)
    assert await harness.store.lease_cursor("alerts", "w2", 5) == Cursor()
    assert await harness.store.lease_cursor("alerts", "w1", 5) is None


async def test_leasing_again_extends_the_lease(harness: StoreHarness) -> None:
    await harness.store.lease_cursor("alerts", "w1", 5)
    harness.clock.turn(seconds=4)
    await harness.store.lease_cursor("alerts", "w1", 5)
    harness.clock.turn(seconds=4)
    assert await harness.store.lease_cursor("alerts", "w2", 5) is None


async def test_a_cursor_is_moved_by_its_holder_only_and_stays_where_it_was_moved(harness: StoreHarness) -> None:
    await harness.store.pause(Scope.BRAND, "a", ME)
    await harness.store.pause(Scope.BRAND, "b", ME)
    first, second = await harness.events()
    await harness.store.lease_cursor("alerts", "w1", 5)
    assert await harness.store.move_cursor("alerts", "w1", first.cursor)
    assert not await harness.store.move_cursor("alerts", "w2", second.cursor)
    harness.clock.turn(seconds=6)
    assert await harness.store.lease_cursor("alerts", "w2", 5) == first.cursor
    assert not await harness.store.move_cursor("alerts", "w1", second.cursor)
    assert await harness.store.move_cursor("alerts", "w2", second.cursor)
    assert await harness.store.lease_cursor("alerts", "w2", 5) == second.cursor


async def test_concurrent_leases_of_a_cursor_have_one_winner(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    held = await asyncio.gather(*(stores[turn % 3].lease_cursor("alerts", f"w{turn}", 5) for turn in range(12)))
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
