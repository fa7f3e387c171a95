"""Who goes first, as tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from postino.job import Queue
from postino.rules.gates import Closed
from postino.rules.order import Head, next_due, open_lines, shares, turns

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
HIGH, DEFAULT, LOW = Queue


def head(channel: str, queue: Queue = DEFAULT, waited: float = 1, *, lanes: bool = False) -> Head:
    return Head(channel, queue, NOW - timedelta(seconds=waited), lanes)


@pytest.mark.parametrize(
    ("heads", "closed", "expected"),
    [
        ([], Closed(), []),
        ([head("a", waited=0)], Closed(), ["a"]),
        ([head("a", waited=-0.001)], Closed(), []),
        ([head("a", waited=1), head("b", waited=3), head("c", waited=2)], Closed(), ["b", "c", "a"]),
        ([head("a"), head("b")], Closed(channels=frozenset({"a"})), ["b"]),
        ([head("a", HIGH), head("b", LOW)], Closed(queues=frozenset({"high"})), ["b"]),
        ([head("a"), head("b")], Closed(channels=frozenset({"z"}), brands=frozenset({"a"})), ["a", "b"]),
    ],
)
def test_open_lines_are_due_and_not_closed_the_longest_waiting_first(
    heads: list[Head], closed: Closed, expected: list[str]
) -> None:
    assert [line.channel for line in open_lines(heads, closed, NOW)] == expected


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
    lines: list[Head], low_is_running: bool, expected: list[tuple[Queue, int]]
) -> None:
    assert turns(lines, 9, NOW, low_is_running) == expected


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
    given = shares(left, [head(channel) for channel in channels], room)
    assert given == expected
    assert sum(given) <= left
    assert room == kept


@pytest.mark.parametrize(
    ("heads", "closed", "expected"),
    [
        ([], Closed(), None),
        ([head("a", waited=5)], Closed(), None),
        ([head("a", waited=5), head("b", waited=-7), head("c", waited=-3)], Closed(), 3),
        ([head("b", waited=-7), head("c", waited=-3)], Closed(channels=frozenset({"c"})), 7),
        ([head("b", LOW, -7), head("c", HIGH, -3)], Closed(queues=frozenset({"high", "low"})), None),
    ],
)
def test_the_next_look_is_at_the_first_open_line_not_due_yet(
    heads: list[Head], closed: Closed, expected: float | None
) -> None:
    due_at = None if expected is None else NOW + timedelta(seconds=expected)
    assert next_due(heads, closed, NOW) == due_at
