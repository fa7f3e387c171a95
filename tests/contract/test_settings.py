"""The blackout windows and caps of the settings are one document, which only an explicit write replaces."""

from __future__ import annotations

import asyncio
from datetime import time
from uuid import NAMESPACE_OID, uuid5

from postino.rules.blackout import Blackout
from postino.rules.stored_settings import render_settings
from postino.values.gate import Scope
from tests.contract.harness import ME, StoreHarness

NIGHT, LUNCH = (
    Blackout(id=uuid5(NAMESPACE_OID, name), scope=Scope.ALL, name="", start=start, end=end, timezone="UTC")
    for name, start, end in [("night", time(22), time(7)), ("lunch", time(12), time(13))]
)
FIRST = render_settings({"reports": 2, "exports": 1}, [NIGHT])
SECOND = render_settings({"reports": 5}, [LUNCH])


async def read_limits(harness: StoreHarness) -> tuple[dict[str, int], list[Blackout]]:
    sources, _ = await harness.store.gate_sources()
    return dict(sources.caps), [*sources.blackouts]


async def test_first_starter_stores_its_settings_and_later_ones_change_nothing(harness: StoreHarness) -> None:
    assert await harness.store.settings() is None
    first = await harness.store.write_settings(FIRST, "one", only_first=True)
    assert (first.version, first.content, first.written_by, first.written_at, first.is_new) == (
        1, FIRST, "one", harness.clock(), True,
    )  # fmt: skip
    harness.clock.turn(hours=1)
    second = await harness.store.write_settings(SECOND, "two", only_first=True)
    assert (second.version, second.written_by, second.is_new) == (1, "one", False)
    assert second == await harness.store.settings()
    assert await read_limits(harness) == ({"reports": 2, "exports": 1}, [NIGHT])


async def test_explicit_write_replaces_caps_and_blackouts_as_a_new_version(harness: StoreHarness) -> None:
    await harness.store.write_settings(FIRST, "one")
    mine = await harness.store.add_blackout(
        Blackout(id=uuid5(NAMESPACE_OID, "mine"), scope=Scope.ALL, name="", start=time(1), end=time(2), timezone="UTC"),
        ME,
    )
    second = await harness.store.write_settings(SECOND, "two")
    assert (second.version, second.written_by, second.is_new) == (2, "two", True)
    caps, blackouts = await read_limits(harness)
    assert caps == {"reports": 5}
    assert {blackout.id for blackout in blackouts} == {LUNCH.id, mine.id}


async def test_same_settings_keep_their_version_and_restore_a_removed_blackout(harness: StoreHarness) -> None:
    await harness.store.write_settings(FIRST, "one")
    await harness.store.remove_blackout(NIGHT.id, ME)
    again = await harness.store.write_settings(FIRST, "two")
    assert (again.version, again.written_by, again.is_new) == (1, "one", False)
    assert await read_limits(harness) == ({"reports": 2, "exports": 1}, [NIGHT])


async def test_concurrent_first_starters_have_one_winner(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store()]
    documents = {f"worker {number}": (FIRST, SECOND)[number % 2] for number in range(6)}
    tries = [
        stores[number % 2].write_settings(document, worker, only_first=True)
        for number, (worker, document) in enumerate(documents.items())
    ]
    written = await asyncio.gather(*tries)
    [winner] = [one for one in written if one.is_new]
    assert {(one.version, one.written_by, one.content) for one in written} == {
        (1, winner.written_by, documents[winner.written_by])
    }
