"""Bulk work uses at most half of the time, and one turn never overlaps another."""

from __future__ import annotations

import asyncio

import pytest

from postino.publishing.half_time import HalfTime

ADA = "ada"


class Clock:
    """A clock that only `pass_time` turns; it notes each call."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    async def pass_time(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


async def test_next_turn_waits_as_long_as_the_last_one_took() -> None:
    clock = Clock()
    half_time = HalfTime(lambda: clock.now, clock.pass_time)
    for seconds in (2.0, 0.5, 1.0):
        async with half_time.turn(ADA):
            clock.now += seconds
    assert clock.slept == [2.0, 0.5]  # the first turn begins at once, and nothing waits after the last


async def test_turn_after_a_pause_begins_at_once() -> None:
    clock = Clock()
    half_time = HalfTime(lambda: clock.now, clock.pass_time)
    async with half_time.turn(ADA):
        clock.now += 2.0
    clock.now += 2.0
    async with half_time.turn(ADA):
        pass
    assert clock.slept == []


async def test_failed_turn_also_delays_the_next_one() -> None:
    clock = Clock()
    half_time = HalfTime(lambda: clock.now, clock.pass_time)

    async def fail() -> None:
        async with half_time.turn(ADA):
            clock.now += 3.0
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        await fail()
    async with half_time.turn(ADA):
        pass
    assert clock.slept == [3.0]


async def test_turns_never_overlap() -> None:
    half_time = HalfTime()
    running = most = 0

    async def work() -> None:
        nonlocal running, most
        async with half_time.turn(ADA):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(work() for _ in range(20)))
    assert most == 1


async def test_many_requests_of_one_caller_do_not_hold_up_another() -> None:
    clock, order = Clock(), list[str]()
    half_time = HalfTime(lambda: clock.now, clock.pass_time)

    async def work(caller: str) -> None:
        async with half_time.turn(caller):
            order.append(caller)
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(work("attacker")) for _ in range(20)]
    await asyncio.sleep(0)
    tasks += [asyncio.create_task(work("victim")) for _ in range(3)]
    await asyncio.gather(*tasks)
    assert order[:7] == ["attacker", "victim", "attacker", "victim", "attacker", "victim", "attacker"]
    assert not half_time.lines


async def test_caller_who_gives_up_leaves_the_line() -> None:
    half_time = HalfTime()
    async with half_time.turn(ADA):
        waiting = asyncio.create_task(half_time.turn(ADA).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    assert not half_time.lines
