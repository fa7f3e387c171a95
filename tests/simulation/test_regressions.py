"""Bugs that the simulation found, as short histories."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postino.values.gate import Scope
from postino.values.job import Queue
from tests.simulation.store_machine import Place, StoreMachine
from tests.simulation.stores import Clock, StoresUnderTest, open_stores

ANNA: Place = ("film", ("anna", "rosso"), Queue.DEFAULT)
BRUNO: Place = ("film", ("bruno", None), Queue.DEFAULT)
ROSSO: Place = ("film", (None, "rosso"), Queue.DEFAULT)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[StoresUnderTest]:
    with open_stores(Clock(), tmp_path / "found.db") as world:
        yield world


def make_machine(world: StoresUnderTest, *places: Place) -> StoreMachine:
    life = StoreMachine(world)
    life.places = list(places)
    for place in range(len(places)):
        life.enqueue_one(place)
    return life


def test_lane_with_a_cancelled_head_wastes_no_slot(world: StoresUnderTest) -> None:
    life = make_machine(world, ANNA, BRUNO)
    life.look()
    life.cancel(0, True)
    life.claim_one("w1")
    assert len(life.list_held()) == 1


def test_slots_that_one_source_cannot_fill_go_to_others_of_its_rank(world: StoresUnderTest) -> None:
    high: Place = ("foto", (None, None), Queue.HIGH)
    life = make_machine(
        world, ("film", (None, None), Queue.HIGH), high, high, high, ("film", (None, None), Queue.DEFAULT)
    )
    life.claim("w1", 4, False)
    assert {job.queue for job in life.list_held()} == {Queue.HIGH}


def test_lane_in_both_poll_and_hints_is_claimed_once(world: StoresUnderTest) -> None:
    life = make_machine(world, ANNA, BRUNO)
    life.look()
    life.places = [ROSSO]
    life.enqueue_one(0)
    life.claim("w1", 3, False)
    assert len(life.list_held()) == 3


def test_slots_held_for_a_paused_brand_go_to_the_others(world: StoresUnderTest) -> None:
    life = make_machine(world, ROSSO, ("foto", ("bruno", None), Queue.DEFAULT), ("film", (None, None), Queue.LOW))
    life.pause((Scope.BRAND, "rosso"))
    life.claim("w1", 2, False)
    assert len(life.list_held()) == 2


def test_only_a_pause_can_be_resumed(world: StoresUnderTest) -> None:
    life = StoreMachine(world)
    life.cap("film", 1)
    life.resume((Scope.CHANNEL, "film"), False, 0)
