"""Checked files of imports: how many are kept, and when they are read."""

from __future__ import annotations

from dataclasses import replace

from postino.stores.operations.imports import MAX_CHECKED
from postino.values.imports import Import
from postino.values.job import new_id
from tests.contract.harness import StoreHarness


def make_import(caller: str, number: int) -> Import:
    token = f"{number:064}"
    return Import(
        id=new_id(), caller=caller, author=caller, token=token, file=b"x", timezone=None, rows=1, problems="{}"
    )


async def test_newest_checked_files_of_a_caller_are_kept(harness: StoreHarness) -> None:
    store = harness.store
    await store.save_import(make_import("other", 0))
    saved = await store.save_import(make_import("ada", 1))
    await store.finish_import(saved.id, "{}")
    for number in range(2, MAX_CHECKED + 5):
        harness.clock.turn(seconds=1)
        await store.save_import(make_import("ada", number))
    harness.clock.turn(seconds=1)
    await store.save_import(make_import("ada", MAX_CHECKED + 4))  # the same file again pushes none out
    kept = [number for number in range(MAX_CHECKED + 5) if await store.import_by_token("ada", f"{number:064}")]
    assert kept == [1, *range(5, MAX_CHECKED + 5)]
    assert await store.import_by_token("other", "0" * 64) is not None


async def test_progress_of_an_import_is_read_without_its_file(harness: StoreHarness) -> None:
    saved = await harness.store.save_import(make_import("ada", 1))
    assert saved.file == b"x"
    assert await harness.store.import_by_id(saved.id) == replace(saved, file=b"")
    assert await harness.store.import_by_token("ada", saved.token) == saved
