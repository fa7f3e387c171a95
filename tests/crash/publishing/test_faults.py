"""Every fault at every endpoint: published once, or uncertain where only a person can know."""

import asyncio
import random

import pytest

from postino import State
from postino.values.provider import PromiseClass
from tests.crash.publishing.faults import UNNAMED, UNUSED, Trouble, troubles
from tests.crash.publishing.harness import Posted, PublishingHarness
from tests.crash.publishing.verdict import judge

AT_ONCE = 12  # more of them would make answers late by themselves


async def meet(harness: PublishingHarness, trouble: Trouble) -> Posted:
    """A post of an account to which this happens."""
    named = trouble.fault.endpoint not in UNNAMED
    account = await harness.open_account(trouble.shape.network, named=named)
    return await harness.post(trouble.shape, str(trouble), *trouble.faults, account=account)


def some_of(every: list[Trouble], chance: random.Random) -> list[Trouble]:
    """Every fault at every endpoint once, in some variant."""
    chosen = {(it.shape.network, it.fault.endpoint, it.fault.name): it for it in chance.sample(every, len(every))}
    return sorted(chosen.values(), key=str)


@pytest.mark.crash
async def test_any_fault_at_any_endpoint_leaves_a_post_live_once_or_uncertain(
    harness: PublishingHarness, chance: random.Random, everything: bool
) -> None:
    every = troubles() if everything else some_of(troubles(), chance)
    waiting = [await harness.lay(it.shape.network, it.fault) for it in every if it.fault.endpoint in UNUSED]
    met = [(it, await meet(harness, it)) for it in every if it.fault.endpoint not in UNUSED]
    await harness.settle_all(concurrency=AT_ONCE)
    verdict = await judge(harness)
    assert verdict.violations == []
    assert verdict.asked == {}, "where a network can be asked, no person has to be"
    struck = await asyncio.to_thread(harness.oracle.struck)
    assert struck.isdisjoint(waiting), "a publish calls more endpoints than were thought of"
    for trouble, posted in met:
        assert posted.faults[0] in struck, f"{trouble} was never met"
        visible = trouble.fault.endpoint == trouble.shape.visible
        if trouble.shape.grade is PromiseClass.D and visible and trouble.fault.loses_the_answer:
            state = (await harness.app.store.job(posted.id)).state
            assert state is State.UNCERTAIN, f"{trouble}: nobody can know whether it is out there"
