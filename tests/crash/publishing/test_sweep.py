"""kill -9 at every crash point of a publish, on every network and both stores: live once, never lost."""

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest

import pytest

from postino.values.provider import PromiseClass
from tests.crash.points import POINTS
from tests.crash.publishing.faults import list_visible_fault_cases
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.oracle import MEDIA_SECONDS, Oracle
from tests.crash.publishing.passages import IN_HAND, Passage, walk
from tests.crash.publishing.post_shapes import NETWORKS, SHAPES, get_shape, list_shapes
from tests.crash.publishing.sweep import Sweep

ALWAYS_PASSED = {point for point in POINTS if point.startswith(IN_HAND) and not point.startswith("lookup.")}
STARTED_ANEW = ("forget_step.before", "forget_step.after")
# After the response to a visible call was lost:
SENT_AGAIN = ("record_intents.before", "record_intents.after", "send.before", "send.after")
LOOKED_FOR = (
    "lookup.before",
    "lookup.after",
    "record_receipt.before",
    "record_receipt.after",
    "settle.before",
    "settle.after",
)
CAN_BE_ASKED = tuple(network for network in NETWORKS if get_shape(network).grade is not PromiseClass.D)
SPARE = 6  # a worker may have claimed several posts when it dies


@pytest.mark.crash
async def test_publish_killed_at_any_point_is_live_once_or_uncertain(
    harness: PublishingHarness, chance: random.Random, full_sweep: bool
) -> None:
    shapes = SHAPES if full_sweep else [chance.choice(list_shapes(network)) for network in NETWORKS]
    passages = [passage for shape in shapes for passage in await walk(harness, shape)]
    sweep = Sweep(harness)
    for passage in passages if full_sweep else choose_passages(passages, chance):
        await sweep.kill(passage.shape, passage.crash)
    with pictures_never_ready(harness.oracle):
        for point in STARTED_ANEW:
            await sweep.kill(get_shape("mastodon", "picture"), point, picture_patience=0.3)
    assert sweep.reached == {*ALWAYS_PASSED, *STARTED_ANEW}
    await sweep.finish(picture_patience=0.5)
    await sweep.check()


@contextmanager
def pictures_never_ready(oracle: Oracle) -> Iterator[None]:
    """Keep uploaded images unready, so that a worker uploads another one in the end."""
    oracle.change(mastodon_media_seconds=3600)
    yield
    oracle.change(mastodon_media_seconds=MEDIA_SECONDS)


def choose_passages(passages: list[Passage], chance: random.Random) -> list[Passage]:
    """Choose a passage of every crash point for two posts."""
    chosen: dict[str, dict[str, Passage]] = defaultdict(dict)
    for passage in chance.sample(passages, len(passages)):
        if len(chosen[passage.point]) < 2:
            chosen[passage.point].setdefault(passage.shape.network, passage)
    return [passage for networks in chosen.values() for passage in networks.values()]


@pytest.mark.crash
async def test_worker_killed_during_a_lookup_leaves_it_to_the_next(
    harness: PublishingHarness, chance: random.Random, full_sweep: bool
) -> None:
    sweep = Sweep(harness)
    for network in CAN_BE_ASKED if full_sweep else [chance.choice(CAN_BE_ASKED)]:
        lost = [it for it in list_visible_fault_cases() if it.shape.network == network and it.fault.loses_the_response]
        absent, there = [it for it in lost if not it.fault.is_processed], [it for it in lost if it.fault.is_processed]
        if full_sweep:
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
    harness: PublishingHarness, chance: random.Random, full_sweep: bool
) -> None:
    deaths = [(fault_case, point) for fault_case in list_visible_fault_cases() for point in fault_case.passed_points]
    if not full_sweep:
        deaths = list({it.fault.name: (it, point) for it, point in chance.sample(deaths, len(deaths))}.values())
    sweep = Sweep(harness)
    for fault_case, point in deaths:
        await sweep.kill(fault_case.shape, point, *fault_case.faults)
    await sweep.finish()
    await sweep.check()
