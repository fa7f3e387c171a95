"""Batches: many callers, few writes."""

import asyncio
from collections.abc import Sequence

import pytest

from postino.engine import batcher as batching
from postino.engine.batcher import Batcher
from postino.errors import StoreUnreachable


async def test_items_that_arrive_during_a_write_are_the_next_batch() -> None:
    written: list[list[int]] = []

    async def write(items: list[int]) -> Sequence[int]:
        written.append(items)
        await asyncio.sleep(0)
        return [item * 10 for item in items]

    batcher = Batcher(write, size=50)
    results = await asyncio.gather(*(batcher.put(number) for number in range(100)))
    assert results == [number * 10 for number in range(100)]
    assert [len(items) for items in written] == [50, 50]


async def test_bad_item_fails_alone() -> None:
    async def write(items: list[int]) -> Sequence[int]:
        if 13 in items:
            raise ValueError("unlucky")
        return items

    batcher = Batcher(write, size=100)
    results = await asyncio.gather(*(batcher.put(number) for number in range(40)), return_exceptions=True)
    assert [number for number, result in enumerate(results) if isinstance(result, ValueError)] == [13]
    assert [result for result in results if isinstance(result, int)] == [n for n in range(40) if n != 13]


async def test_blocked_item_does_not_delay_later_items() -> None:
    release = asyncio.Event()

    async def write(items: list[str]) -> Sequence[str]:
        if "blocked" in items:
            if len(items) > 1:
                raise ValueError("blocked")
            await release.wait()
        return items

    batcher = Batcher(write, size=100)
    blocked, other = asyncio.create_task(batcher.put("blocked")), asyncio.create_task(batcher.put("other"))
    assert await other == "other"
    assert await batcher.put("later") == "later"
    release.set()
    assert await blocked == "blocked"


async def test_unreachable_store_fails_the_whole_batch_without_splitting() -> None:
    calls = 0

    async def write(items: list[int]) -> Sequence[int]:
        nonlocal calls
        calls += 1
        raise StoreUnreachable("gone")

    batcher = Batcher(write, size=100)
    results = await asyncio.gather(*(batcher.put(number) for number in range(10)), return_exceptions=True)
    assert calls == 1
    assert all(isinstance(result, StoreUnreachable) for result in results)


async def test_cancelled_caller_does_not_affect_others() -> None:
    async def write(items: list[int]) -> Sequence[int]:
        await asyncio.sleep(0.01)
        return items

    batcher = Batcher(write, size=100)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await batcher.put(1)
    assert await batcher.put(2) == 2
    await batcher.flush()


async def test_item_that_waits_alone_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "OVERDUE", 0.01)
    release = asyncio.Event()

    async def write(items: list[str]) -> Sequence[str]:
        if "held" in items:
            await release.wait()
        return items

    batcher = Batcher(write, size=100)
    held = asyncio.create_task(batcher.put("held"))
    await asyncio.sleep(0)
    assert await asyncio.gather(*map(batcher.put, "abc")) == ["a", "b", "c"]
    release.set()
    assert await held == "held"


async def test_halves_of_a_failed_batch_are_written_with_rewrite() -> None:
    tries: list[tuple[list[int], str]] = []

    async def write(items: list[int]) -> Sequence[int]:
        tries.append((items, "first"))
        if len(items) > 1:
            raise ValueError("held")
        return items

    async def rewrite(items: list[int]) -> Sequence[int]:
        tries.append((items, "again"))
        return items

    batcher = Batcher(write, size=100, rewrite=rewrite)
    assert await asyncio.gather(*map(batcher.put, (1, 2))) == [1, 2]
    assert tries == [([1, 2], "first"), ([1], "again"), ([2], "again")]
