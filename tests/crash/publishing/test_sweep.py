"""kill -9 at every crash point that a publish passes, on every network and both stores: out there once, never lost."""

import random
from itertools import zip_longest

import pytest

from postino.engine.crashpoints import POINTS
from postino.provider import Grade
from tests.crash.publishing.faults import visible_troubles
from tests.crash.publishing.office import Office
from tests.crash.publishing.shapes import NETWORKS, SHAPES, shape_for
from tests.crash.publishing.stations import IN_HAND, walk
from tests.crash.publishing.sweep import Sweep, some_of

ALWAYS_PASSED = {point for point in POINTS if point.startswith(IN_HAND) and not point.startswith("look.")}
# Once the answer to a visible call was lost:
SENT_AGAIN = ("intend.before", "intend.after", "send.before", "send.after")
LOOKED_FOR = ("look.before", "look.after", "note.before", "note.after", "settle.before", "settle.after")
CAN_BE_ASKED = tuple(network for network in NETWORKS if shape_for(network).grade is not Grade.D)
SPARE = 6  # a worker may have several posts in its hands when it dies


@pytest.mark.crash
async def test_a_publish_killed_at_any_point_of_its_way_is_out_once_or_in_doubt_for_all_to_see(
    office: Office, chance: random.Random, everything: bool
) -> None:
    stations = [station for shape in SHAPES for station in await walk(office, shape)]
    chosen = stations if everything else some_of(stations, chance)
    sweep = Sweep(office)
    for station in chosen:
        await sweep.kill(station.shape, station.crash)
    assert {(it.shape.network, it.point) for it in chosen} == {(on, it) for on in NETWORKS for it in ALWAYS_PASSED}
    await sweep.finish()
    await sweep.check()


@pytest.mark.crash
async def test_a_worker_killed_while_it_looks_for_a_post_whose_answer_was_lost_leaves_it_to_the_next(
    office: Office, chance: random.Random, everything: bool
) -> None:
    sweep = Sweep(office)
    for network in CAN_BE_ASKED:
        lost = [it for it in visible_troubles() if it.shape.network == network and it.fault.loses_the_answer]
        absent, there = [it for it in lost if not it.fault.done], [it for it in lost if it.fault.done]
        if everything:
            for again, looked in zip_longest(SENT_AGAIN, LOOKED_FOR, fillvalue=SENT_AGAIN[0]):
                groups = [(absent, [again] * len(absent)), ([*there, *there], [looked] * len(there))]
                await sweep.kill_while_looking(groups)
        else:
            some_absent = chance.choices(absent, k=len(SENT_AGAIN))
            some_there = chance.choices(there, k=len(LOOKED_FOR) + SPARE)
            await sweep.kill_while_looking([(some_absent, SENT_AGAIN), (some_there, LOOKED_FOR)])
    assert sweep.reached == {*SENT_AGAIN, *LOOKED_FOR}
    await sweep.finish()
    await sweep.check()


@pytest.mark.crash
async def test_a_worker_killed_after_any_fault_of_the_visible_call_leaves_the_doubt_to_the_next(
    office: Office, chance: random.Random, everything: bool
) -> None:
    deaths = [(trouble, point) for trouble in visible_troubles() for point in trouble.passed]
    if not everything:
        kinds = {(it.shape.network, it.fault.name): (it, point) for it, point in chance.sample(deaths, len(deaths))}
        deaths = list(kinds.values())
    sweep = Sweep(office)
    for trouble, point in deaths:
        await sweep.kill(trouble.shape, point, *trouble.faults)
    await sweep.finish()
    await sweep.check()
