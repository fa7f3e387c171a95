"""Who goes first, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.claim_order import (
    BrandTurn,
    ClaimSource,
    compute_brand_room,
    divide_share,
    divide_slots,
    find_next_due_time,
    list_open_sources,
    order_brands,
    order_queues,
)
from postino.rules.gates import ClosedGates
from postino.values.job import Queue

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
HIGH, DEFAULT, LOW = Queue


def head(channel: str, queue: Queue = DEFAULT, waited: float = 1, *, begun: bool = False) -> ClaimSource:
    return ClaimSource(channel, queue, NOW - timedelta(seconds=waited), started=begun)


def turn(brand: str, served: float | None = None, channel: str = "x") -> BrandTurn:
    return BrandTurn(channel, brand, None if served is None else NOW - timedelta(seconds=served))


@pytest.mark.parametrize(
    ("heads", "closed", "expected"),
    [
        ([], ClosedGates(), []),
        ([head("a", waited=0)], ClosedGates(), ["a"]),
        ([head("a", waited=-0.001)], ClosedGates(), []),
        ([head("a", waited=1), head("b", waited=3), head("c", waited=2)], ClosedGates(), ["b", "c", "a"]),
        ([head("a"), head("b")], ClosedGates(channels={"a": LATER}), ["b"]),
        ([head("a", HIGH), head("b", LOW)], ClosedGates(queues={"high": LATER}), ["b"]),
        ([head("a"), head("b")], ClosedGates(channels={"z": LATER}, brands={"a": LATER}), ["a", "b"]),
        ([head("a"), head("b")], ClosedGates(everything=LATER), []),
        (
            [head("a", begun=True), head("b", begun=True)],
            ClosedGates(everything=LATER, channels={"a": LATER}),
            ["a", "b"],
        ),
        ([head("a", begun=True)], ClosedGates(queues={"high": LATER, "default": LATER}), ["a"]),
        (
            [head("a", begun=True), head("b", begun=True)],
            ClosedGates(channels_closed_to_started=frozenset({"a"})),
            ["b"],
        ),
    ],
)
def test_open_lines_are_due_and_not_closed_the_longest_waiting_first(
    heads: list[ClaimSource], closed: ClosedGates, expected: list[str]
) -> None:
    assert [line.channel for line in list_open_sources(heads, closed, NOW)] == expected


@pytest.mark.parametrize(
    ("lines", "low_is_running", "expected"),
    [
        ([], False, []),
        ([head("a", LOW), head("b", HIGH), head("c")], False, [(HIGH, 9), (DEFAULT, 9), (LOW, 9)]),
        ([head("a", LOW, 59.9), head("b", HIGH)], False, [(HIGH, 9), (LOW, 9)]),
        ([head("a", LOW, 60), head("b", HIGH)], False, [(LOW, 1), (HIGH, 9), (LOW, 9)]),
        ([head("a", LOW, 60), head("b", HIGH)], True, [(HIGH, 9), (LOW, 9)]),
        ([head("a", LOW, 1), head("b", LOW, 61)], False, [(LOW, 1), (LOW, 9)]),
        ([head("a", DEFAULT, 600)], False, [(DEFAULT, 9)]),
    ],
)
def test_queues_take_turns_by_rank_and_low_gets_one_slot_after_a_minute(
    lines: list[ClaimSource], low_is_running: bool, expected: list[tuple[Queue, int]]
) -> None:
    assert order_queues(lines, 9, NOW, low_is_running) == expected


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
def test_lines_share_evenly_and_a_cap_passes_its_rest_on(
    left: int, channels: str, room: dict[str, int], expected: list[int]
) -> None:
    kept = dict(room)
    given = divide_slots(left, [head(channel) for channel in channels], room)
    assert given == expected
    assert sum(given) <= left
    assert room == kept


@pytest.mark.parametrize(
    ("heads", "closed", "expected"),
    [
        ([], ClosedGates(), None),
        ([head("a", waited=5)], ClosedGates(), None),
        ([head("a", waited=5), head("b", waited=-7), head("c", waited=-3)], ClosedGates(), 3),
        ([head("b", waited=-7), head("c", waited=-3)], ClosedGates(channels={"c": LATER}), 7),
        ([head("b", LOW, -7), head("c", HIGH, -3)], ClosedGates(queues={"high": LATER, "low": LATER}), 3600),
        ([head("a", waited=5)], ClosedGates(channels={"a": NOW + timedelta(seconds=2)}), 2),
        ([head("a", waited=5)], ClosedGates(channels={"a": NOW + timedelta(seconds=2)}, everything=LATER), 3600),
        ([head("a", waited=5, begun=True)], ClosedGates(everything=LATER), None),  # may go on at once
        (
            [head("a", waited=5, begun=True)],
            ClosedGates(channels={"a": NOW + timedelta(seconds=2)}, channels_closed_to_started=frozenset({"a"})),
            2,
        ),
    ],
)
def test_the_next_look_is_when_a_line_gets_both_due_and_open(
    heads: list[ClaimSource], closed: ClosedGates, expected: float | None
) -> None:
    due_at = None if expected is None else NOW + timedelta(seconds=expected)
    assert find_next_due_time(heads, closed, NOW) == due_at


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
def test_a_channels_share_is_divided_evenly_among_the_brands_whose_turn_it_is(
    share: int, brands: str, room: dict[str, int], expected: dict[str, int]
) -> None:
    given = divide_share(share, [turn(brand) for brand in brands], {("x", brand): most for brand, most in room.items()})
    assert {it.brand: most for it, most in given} == expected


@given(
    share=st.integers(0, 40),
    brands=st.sets(st.sampled_from("abcdef")),
    room=st.dictionaries(st.sampled_from("abcdef"), st.integers(-2, 12)),
)
def test_portions_give_all_there_is_room_for_and_nobody_more_than_another_could_have(
    share: int, brands: set[str], room: dict[str, int]
) -> None:
    waiting = [turn(brand) for brand in sorted(brands)]
    given = {
        it.brand: most for it, most in divide_share(share, waiting, {("x", it): most for it, most in room.items()})
    }
    most = {brand: max(0, room.get(brand, share)) for brand in brands}
    assert sum(given.values()) == min(share, sum(most.values()))
    assert all(0 < amount <= most[brand] for brand, amount in given.items())
    hungry = [given.get(brand, 0) for brand in brands if given.get(brand, 0) < most[brand]]
    assert not hungry or max(given.values(), default=0) <= min(hungry) + len(brands)


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
