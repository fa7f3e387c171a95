"""When a worker is taken for dead by another, on a virtual clock."""

from typing import Any, cast

from postino.engine.rescue import Rescuer


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def observer(clock: Clock) -> Rescuer:
    return Rescuer(cast(Any, None), lease=20, monotonic=clock)


def test_worker_without_heartbeats_for_a_lease_is_dead() -> None:
    clock = Clock()
    observing = observer(clock)
    dead = []
    for _ in range(6):
        dead.append(observing.find_dead({"w": 7}))
        clock.now += 5
    assert dead == [{}, {}, {}, {}, {}, {"w": 7}]


def test_worker_that_sends_heartbeats_is_alive() -> None:
    clock = Clock()
    observing = observer(clock)
    for beat in range(20):
        assert observing.find_dead({"w": beat // 4}) == {}
        clock.now += 5


def test_outage_time_does_not_count_against_workers() -> None:
    clock = Clock()
    observing = observer(clock)
    assert observing.find_dead({"w": 7}) == {}
    clock.now += 3600  # the store was away for an hour, and this observer is the first to be back
    assert observing.find_dead({"w": 7}) == {}
    for _ in range(4):
        clock.now += 5
        assert observing.find_dead({"w": 7}) == {}
    clock.now += 5
    assert observing.find_dead({"w": 7}) == {"w": 7}


def test_observer_with_slow_polls_finds_dead_workers() -> None:
    clock = Clock()
    observing = observer(clock)
    dead = []
    for _ in range(5):
        dead.append(observing.find_dead({"w": 7}))
        clock.now += 12  # more than half a lease: slower than a healthy worker polls
    assert dead == [{}, {}, {}, {}, {"w": 7}]
