"""The order of claims: queues, channels and brands, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.claim_order import (
    BrandTurn,
    ClaimSource,
    compute_brand_limit,
    compute_brand_room,
    divide_share,
    divide_slots,
    find_next_due_time,
    list_full_brands,
    list_open_sources,
    order_brands,
    order_queues,
)
from postino.rules.gates import ClosedGates
from postino.values.job import Queue

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
HIGH, DEFAULT, LOW = Queue


def source(channel: str, queue: Queue = DEFAULT, waited: float = 1, *, started: bool = False) -> ClaimSource:
    return ClaimSource(channel, queue, NOW - timedelta(seconds=waited), started=started)


def turn(brand: str, served: float | None = None, channel: str = "x") -> BrandTurn:
    return BrandTurn(channel, brand, None if served is None else NOW - timedelta(seconds=served))


@pytest.mark.parametrize(
    ("sources", "closed", "expected"),
    [
        ([], ClosedGates(), []),
        ([source("a", waited=0)], ClosedGates(), ["a"]),
        ([source("a", waited=-0.001)], ClosedGates(), []),
        ([source("a", waited=1), source("b", waited=3), source("c", waited=2)], ClosedGates(), ["b", "c", "a"]),
        ([source("a"), source("b")], ClosedGates(channels={"a": LATER}), ["b"]),
        ([source("a", HIGH), source("b", LOW)], ClosedGates(queues={"high": LATER}), ["b"]),
        ([source("a"), source("b")], ClosedGates(channels={"z": LATER}, brands={"a": LATER}), ["a", "b"]),
        ([source("a"), source("b")], ClosedGates(everything=LATER), []),
        (
            [source("a", started=True), source("b", started=True)],
            ClosedGates(everything=LATER, channels={"a": LATER}),
            ["a", "b"],
        ),
        ([source("a", started=True)], ClosedGates(queues={"high": LATER, "default": LATER}), ["a"]),
        (
            [source("a", started=True), source("b", started=True)],
            ClosedGates(channels_closed_to_started=frozenset({"a"})),
            ["b"],
        ),
    ],
)
def test_open_sources_are_due_and_not_gated_longest_waiting_first(
    sources: list[ClaimSource], closed: ClosedGates, expected: list[str]
) -> None:
    assert [line.channel for line in list_open_sources(sources, closed, NOW)] == expected


@pytest.mark.parametrize(
    ("sources", "low_is_running", "expected"),
    [
        ([], False, []),
        ([source("a", LOW), source("b", HIGH), source("c")], False, [(HIGH, 9), (DEFAULT, 9), (LOW, 9)]),
        ([source("a", LOW, 59.9), source("b", HIGH)], False, [(HIGH, 9), (LOW, 9)]),
        ([source("a", LOW, 60), source("b", HIGH)], False, [(LOW, 1), (HIGH, 9), (LOW, 9)]),
        ([source("a", LOW, 60), source("b", HIGH)], True, [(HIGH, 9), (LOW, 9)]),
        ([source("a", LOW, 1), source("b", LOW, 61)], False, [(LOW, 1), (LOW, 9)]),
        ([source("a", DEFAULT, 600)], False, [(DEFAULT, 9)]),
    ],
)
def test_queues_go_by_priority_and_low_gets_one_slot_after_a_minute(
    sources: list[ClaimSource], low_is_running: bool, expected: list[tuple[Queue, int]]
) -> None:
    assert order_queues(sources, 9, NOW, low_is_running) == expected


@pytest.mark.parametrize(
    ("left", "channels", "room", "expected"),
    [
        (0, "ab", {}, [0, 0]),
        (6, "ab", {}, [3, 3]),
        (7, "abc", {}, [3, 2, 2]),
        (1, "abc", {}, [1, 0, 0]),
        (6, "ab", {"a": 1}, [1, 5]),
        (6, "ab", {"b": 1}, [3, 1]),
        (6, "ab", {"a": 0}, [0, 6]),
        (6, "ab", {"a": -2}, [0, 6]),
        (9, "aab", {"a": 4}, [3, 1, 5]),
        (6, "", {}, []),
    ],
)
def test_sources_share_slots_evenly_and_a_cap_passes_its_rest_on(
    left: int, channels: str, room: dict[str, int], expected: list[int]
) -> None:
    before = dict(room)
    slots = divide_slots(left, [source(channel) for channel in channels], room)
    assert slots == expected
    assert sum(slots) <= left
    assert room == before


@pytest.mark.parametrize(
    ("sources", "closed", "expected"),
    [
        ([], ClosedGates(), None),
        ([source("a", waited=5)], ClosedGates(), None),
        ([source("a", waited=5), source("b", waited=-7), source("c", waited=-3)], ClosedGates(), 3),
        ([source("b", waited=-7), source("c", waited=-3)], ClosedGates(channels={"c": LATER}), 7),
        ([source("b", LOW, -7), source("c", HIGH, -3)], ClosedGates(queues={"high": LATER, "low": LATER}), 3600),
        ([source("a", waited=5)], ClosedGates(channels={"a": NOW + timedelta(seconds=2)}), 2),
        ([source("a", waited=5)], ClosedGates(channels={"a": NOW + timedelta(seconds=2)}, everything=LATER), 3600),
        ([source("a", waited=5, started=True)], ClosedGates(everything=LATER), None),  # may go on at once
        (
            [source("a", waited=5, started=True)],
            ClosedGates(channels={"a": NOW + timedelta(seconds=2)}, channels_closed_to_started=frozenset({"a"})),
            2,
        ),
    ],
)
def test_the_next_due_time_is_when_a_source_is_both_due_and_open(
    sources: list[ClaimSource], closed: ClosedGates, expected: float | None
) -> None:
    due_at = None if expected is None else NOW + timedelta(seconds=expected)
    assert find_next_due_time(sources, closed, NOW) == due_at


@pytest.mark.parametrize(
    ("ready", "closed", "expected"),
    [
        ([], ClosedGates(), []),
        ([turn("a", 1), turn("b", 9), turn("c")], ClosedGates(), ["c", "b", "a"]),
        ([turn("b"), turn("a"), turn("")], ClosedGates(), ["", "a", "b"]),
        ([turn("", 1), turn("a", 2)], ClosedGates(), ["a", ""]),
        ([turn("a"), turn("b")], ClosedGates(brands={"a": LATER}), ["b"]),
    ],
)
def test_the_brand_served_least_recently_goes_first(
    ready: list[BrandTurn], closed: ClosedGates, expected: list[str]
) -> None:
    assert [it.brand for it in order_brands(ready, closed)] == expected


@pytest.mark.parametrize(
    ("share", "brands", "room", "expected"),
    [
        (0, "ab", {}, {}),
        (1, "ab", {}, {"a": 1}),
        (2, "abc", {}, {"a": 1, "b": 1}),
        (7, "abc", {}, {"a": 3, "b": 2, "c": 2}),
        (5, "a", {}, {"a": 5}),
        (5, "a", {"a": 4}, {"a": 4}),
        (6, "ab", {"a": 1}, {"a": 1, "b": 5}),
        (6, "ab", {"a": 0, "b": 0}, {}),
        (6, "ab", {"a": -3, "b": 2}, {"b": 2}),
        (6, "", {}, {}),
    ],
)
def test_the_share_of_a_channel_is_divided_evenly_among_brands(
    share: int, brands: str, room: dict[str, int], expected: dict[str, int]
) -> None:
    shares = divide_share(
        share, [turn(brand) for brand in brands], {("x", brand): most for brand, most in room.items()}
    )
    assert {it.brand: most for it, most in shares} == expected


@given(
    share=st.integers(0, 40),
    brands=st.sets(st.sampled_from("abcdef")),
    room=st.dictionaries(st.sampled_from("abcdef"), st.integers(-2, 12)),
)
def test_brand_shares_use_all_slots_and_stay_fair(share: int, brands: set[str], room: dict[str, int]) -> None:
    waiting = [turn(brand) for brand in sorted(brands)]
    shares = {
        it.brand: most for it, most in divide_share(share, waiting, {("x", it): most for it, most in room.items()})
    }
    most = {brand: max(0, room.get(brand, share)) for brand in brands}
    assert sum(shares.values()) == min(share, sum(most.values()))
    assert all(0 < amount <= most[brand] for brand, amount in shares.items())
    hungry = [shares.get(brand, 0) for brand in brands if shares.get(brand, 0) < most[brand]]
    assert not hungry or max(shares.values(), default=0) <= min(hungry) + len(brands)


@pytest.mark.parametrize(
    ("cap", "running", "brand", "expected"),
    [
        (50, 0, "a", 49),
        (50, 49, "a", 0),
        (50, 50, "a", -1),
        (2, 0, "a", 1),
        (1, 0, "a", 1),
        (1, 1, "a", 0),
        (50, 0, "", None),
        (None, 0, "a", None),
    ],
)
def test_a_brand_leaves_one_slot_of_a_capped_channel_to_the_others(
    cap: int | None, running: int, brand: str, expected: int | None
) -> None:
    room = compute_brand_room({} if cap is None else {"x": cap}, {("x", brand): running}, [turn(brand)])
    assert room.get(("x", brand)) == expected


@pytest.mark.parametrize(("cap", "first", "all_in_all"), [(1, 1, 1), (2, 1, 1), (3, 1, 2), (50, 25, 49)])
def test_a_brand_gets_half_the_slots_for_what_goes_first(cap: int, first: int, all_in_all: int) -> None:
    assert compute_brand_limit(cap, is_first=True) == first
    assert compute_brand_limit(cap, is_first=False) == all_in_all


def test_full_brands_are_those_at_the_limit_of_their_channel() -> None:
    running = {("x", "acme"): 2, ("x", "bolt"): 1, ("x", ""): 9, ("y", "acme"): 9}
    assert list_full_brands({"x": 2}, running) == {"x": ["acme"]}
