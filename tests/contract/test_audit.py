"""The audit trail: one unbroken chain, and a change to any line shows."""

from __future__ import annotations

import asyncio

import pytest

from postino.stores.records import AuditContext, AuditEntry
from postino.stores.store import Store
from postino.values.gate import Scope
from tests.audit_chain import find_broken_entry
from tests.contract.databases import Clock, Database
from tests.contract.harness import ME, StoreHarness


async def oldest_first(store: Store) -> list[AuditEntry]:
    return list(reversed(await store.audit(limit=1000)))


@pytest.fixture
async def trail(store: Store, clock: Clock) -> list[AuditEntry]:
    for number in range(5):
        await store.pause(Scope.BRAND, f"brand {number}", AuditContext("maria", "because è"))
        clock.turn(minutes=7)
    return await oldest_first(store)


async def test_an_untouched_trail_verifies(trail: list[AuditEntry]) -> None:
    assert [line.seq for line in trail] == [1, 2, 3, 4, 5]
    assert find_broken_entry(trail) is None


async def test_the_newest_lines_are_listed_first(store: Store, trail: list[AuditEntry]) -> None:
    assert list(await store.audit(limit=2)) == [trail[4], trail[3]]


@pytest.mark.parametrize(
    "change",
    ["actor = 'mario'", "action = 'gate.resumed'", "subject = 'brand:x'", "reason = ''", "detail = 'x'",
     "at = '2026-01-01T00:00:00.000000Z'", "hash = 'ff'"],
)  # fmt: skip
async def test_a_changed_line_is_found(store: Store, database: Database, trail: list[AuditEntry], change: str) -> None:
    database.sql(f"UPDATE {{audit}} SET {change} WHERE seq = 3")
    broken = find_broken_entry(await oldest_first(store))
    assert broken is not None
    assert broken.seq == 3


async def test_a_missing_line_is_found_by_the_one_after_it(
    store: Store, database: Database, trail: list[AuditEntry]
) -> None:
    database.sql("DELETE FROM {audit} WHERE seq = 2")
    broken = find_broken_entry(await oldest_first(store))
    assert broken is not None
    assert broken.seq == 3


async def test_words_cannot_move_from_one_field_to_the_next(
    store: Store, database: Database, trail: list[AuditEntry]
) -> None:
    database.sql("UPDATE {audit} SET reason = 'because', detail = ' è' WHERE seq = 5")
    assert find_broken_entry(await oldest_first(store)) is not None


async def test_many_hands_write_one_chain(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.another_store(), await harness.another_store()]
    await asyncio.gather(*(stores[turn % 3].pause(Scope.BRAND, str(turn), ME) for turn in range(30)))
    trail = await oldest_first(harness.store)
    assert [line.seq for line in trail] == list(range(1, 31))
    assert find_broken_entry(trail) is None


async def test_a_deed_that_is_refused_leaves_no_line(harness: StoreHarness) -> None:
    with pytest.raises(LookupError):
        await harness.store.resume(Scope.BRAND, "never paused", ME)
    assert await harness.store.audit() == []
    assert await harness.events() == []
