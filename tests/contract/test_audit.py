"""The audit trail is one unbroken hash chain, and a change to any entry is found."""

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


async def test_untouched_audit_trail_verifies(trail: list[AuditEntry]) -> None:
    assert [line.seq for line in trail] == [1, 2, 3, 4, 5]
    assert find_broken_entry(trail) is None


async def test_newest_audit_entries_are_listed_first(store: Store, trail: list[AuditEntry]) -> None:
    assert list(await store.audit(limit=2)) == [trail[4], trail[3]]


@pytest.mark.parametrize(
    "change",
    ["actor = 'mario'", "action = 'gate.resumed'", "subject = 'brand:x'", "reason = ''", "detail = 'x'",
     "at = '2026-01-01T00:00:00.000000Z'", "hash = 'ff'"],
)  # fmt: skip
async def test_changed_audit_entry_is_found(
    store: Store, database: Database, trail: list[AuditEntry], change: str
) -> None:
    database.sql(f"UPDATE {{audit}} SET {change} WHERE seq = 3")
    broken = find_broken_entry(await oldest_first(store))
    assert broken is not None
    assert broken.seq == 3


async def test_missing_audit_entry_is_found_by_the_next_one(
    store: Store, database: Database, trail: list[AuditEntry]
) -> None:
    database.sql("DELETE FROM {audit} WHERE seq = 2")
    broken = find_broken_entry(await oldest_first(store))
    assert broken is not None
    assert broken.seq == 3


async def test_text_cannot_move_between_audit_fields_unnoticed(
    store: Store, database: Database, trail: list[AuditEntry]
) -> None:
    database.sql("UPDATE {audit} SET reason = 'because', detail = ' è' WHERE seq = 5")
    assert find_broken_entry(await oldest_first(store)) is not None


async def test_concurrent_actions_write_one_audit_chain(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    await asyncio.gather(*(stores[turn % 3].pause(Scope.BRAND, str(turn), ME) for turn in range(30)))
    trail = await oldest_first(harness.store)
    assert [line.seq for line in trail] == list(range(1, 31))
    assert find_broken_entry(trail) is None


async def test_refused_action_leaves_no_audit_entry(harness: StoreHarness) -> None:
    with pytest.raises(LookupError):
        await harness.store.resume(Scope.BRAND, "never paused", ME)
    assert await harness.store.audit() == []
    assert await harness.events() == []
