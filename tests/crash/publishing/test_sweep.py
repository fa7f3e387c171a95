"""kill -9 at every crash point of a publish, on every network and both stores: live once, never lost."""

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest

import pytest

from postino.values.provider import PromiseClass
from tests.crash.points import POINTS
from tests.crash.publishing.faults import visible_troubles
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.oracle import MEDIA_SECONDS, Oracle
from tests.crash.publishing.passages import IN_HAND, Passage, walk
from tests.crash.publishing.post_shapes import NETWORKS, SHAPES, shape_for, shapes_of
from tests.crash.publishing.sweep import Sweep

ALWAYS_PASSED = {point for point in POINTS if point.startswith(IN_HAND) and not point.startswith("lookup.")}
STARTED_ANEW = ("forget_step.before", "forget_step.after")
# Once the answer to a visible call was lost:
SENT_AGAIN = ("record_intents.before", "record_intents.after", "send.before", "send.after")
LOOKED_FOR = (
    "lookup.before",
    "lookup.after",
    "record_receipt.before",
    "record_receipt.after",
    "settle.before",
    "settle.after",
)
CAN_BE_ASKED = tuple(network for network in NETWORKS if shape_for(network).grade is not PromiseClass.D)
SPARE = 6  # a worker may have several posts in its hands when it dies


@pytest.mark.crash
async def test_publish_killed_at_any_point_is_live_once_or_uncertain(
    harness: PublishingHarness, chance: random.Random, everything: bool
) -> None:
    shapes = SHAPES if everything else [chance.choice(shapes_of(network)) for network in NETWORKS]
    stations = [station for shape in shapes for station in await walk(harness, shape)]
    sweep = Sweep(harness)
    for station in stations if everything else some_of(stations, chance):
        await sweep.kill(station.shape, station.crash)
    with pictures_never_ready(harness.oracle):
        for point in STARTED_ANEW:
            await sweep.kill(shape_for("mastodon", "picture"), point, picture_patience=0.3)
    assert sweep.reached == {*ALWAYS_PASSED, *STARTED_ANEW}
    await sweep.finish(picture_patience=0.5)
    await sweep.check()


@contextmanager
def pictures_never_ready(oracle: Oracle) -> Iterator[None]:
    """Those uploaded meanwhile: whoever waits for one starts anew with another at last."""
    oracle.change(mastodon_media_seconds=3600)
    yield
    oracle.change(mastodon_media_seconds=MEDIA_SECONDS)


def some_of(stations: list[Passage], chance: random.Random) -> list[Passage]:
    """Every point on the way of two posts, at some passage of it."""
    chosen: dict[str, dict[str, Passage]] = defaultdict(dict)
    for station in chance.sample(stations, len(stations)):
        if len(chosen[station.point]) < 2:
            chosen[station.point].setdefault(station.shape.network, station)
    return [station for networks in chosen.values() for station in networks.values()]


@pytest.mark.crash
async def test_worker_killed_during_a_lookup_leaves_it_to_the_next(
    harness: PublishingHarness, chance: random.Random, everything: bool
) -> None:
    sweep = Sweep(harness)
    for network in CAN_BE_ASKED if everything else [chance.choice(CAN_BE_ASKED)]:
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
async def test_worker_killed_after_a_fault_of_the_visible_call_leaves_the_doubt(
    harness: PublishingHarness, chance: random.Random, everything: bool
) -> None:
    deaths = [(trouble, point) for trouble in visible_troubles() for point in trouble.passed]
    if not everything:
        deaths = list({it.fault.name: (it, point) for it, point in chance.sample(deaths, len(deaths))}.values())
    sweep = Sweep(harness)
    for trouble, point in deaths:
        await sweep.kill(trouble.shape, point, *trouble.faults)
    await sweep.finish()
    await sweep.check()
