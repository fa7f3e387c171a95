"""kill -9 at every crash point that a publish passes, on every network and both stores: out there once, never lost."""

import random

import pytest

from postino.engine.crashpoints import POINTS
from tests.crash.publishing.faults import visible_troubles
from tests.crash.publishing.office import Office
from tests.crash.publishing.shapes import NETWORKS, SHAPES
from tests.crash.publishing.stations import IN_HAND, walk
from tests.crash.publishing.sweep import Sweep, some_of

# Once the answer to a visible call was lost.
SENT_AGAIN = ("intend.before", "intend.after", "send.before", "send.after")
LOOKED_FOR = ("look.before", "look.after", "note.before", "note.after", "settle.before", "settle.after")
SPARE = 3  # a worker may have two posts in its hands when it dies
AFTER_SENDING = ("perform.after", "settle.before", "settle.after")  # passed whatever the network answers
ALWAYS_PASSED = {point for point in POINTS if point.startswith(IN_HAND) and not point.startswith("look.")}


@pytest.mark.crash
async def test_a_publish_killed_at_any_point_of_its_way_is_out_once_or_in_doubt_for_all_to_see(
    office: Office, chance: random.Random
) -> None:
    stations = [station for shape in SHAPES for station in await walk(office, shape)]
    chosen = some_of(stations, chance)
    sweep = Sweep(office)
    for station in chosen:
        await sweep.kill_at(station)
    assert {(it.shape.network, it.point) for it in chosen} == {(on, it) for on in NETWORKS for it in ALWAYS_PASSED}
    await sweep.finish()
    await sweep.check()


@pytest.mark.crash
async def test_a_worker_killed_while_it_looks_for_a_post_whose_answer_was_lost_leaves_it_to_the_next(
    office: Office, chance: random.Random
) -> None:
    sweep = Sweep(office)
    for network in ("bluesky", "mastodon"):
        lost = [it for it in visible_troubles() if it.shape.network == network and it.fault.loses_the_answer]
        absent = chance.choices([it for it in lost if not it.fault.done], k=len(SENT_AGAIN))
        there = chance.choices([it for it in lost if it.fault.done], k=len(LOOKED_FOR) + SPARE)
        await sweep.kill_while_looking([(absent, SENT_AGAIN), (there, LOOKED_FOR)])
    await sweep.finish()
    await sweep.check()


@pytest.mark.crash
async def test_a_worker_killed_after_any_fault_of_the_visible_call_leaves_the_doubt_to_the_next(
    office: Office, chance: random.Random
) -> None:
    sweep = Sweep(office)
    troubles = visible_troubles()
    for network, name in dict.fromkeys((it.shape.network, it.fault.name) for it in troubles):
        trouble = chance.choice([it for it in troubles if (it.shape.network, it.fault.name) == (network, name)])
        await sweep.kill(trouble.shape, chance.choice(AFTER_SENDING), *trouble.faults)
    await sweep.finish()
    await sweep.check()
