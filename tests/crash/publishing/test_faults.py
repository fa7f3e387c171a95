"""Every fault at every endpoint: published once, or uncertain where only a person can know."""

import asyncio
import random

import pytest

from postino import State
from postino.values.provider import PromiseClass
from tests.crash.publishing.faults import ASKED_ONCE, UNNAMED, UNUSED, FaultCase, list_fault_cases
from tests.crash.publishing.harness import AcceptedPost, PublishingHarness
from tests.crash.publishing.verdict import judge

AT_ONCE = 12  # more of them would slow down responses


async def meet(harness: PublishingHarness, fault_case: FaultCase) -> AcceptedPost:
    """Schedule a post that meets the fault of this case."""
    named = fault_case.fault.endpoint not in UNNAMED
    account = await harness.open_account(fault_case.shape.network, named=named)
    return await harness.post(fault_case.shape, str(fault_case), *fault_case.faults, account=account)


def choose_variants(every: list[FaultCase], chance: random.Random) -> list[FaultCase]:
    """Choose one variant of every fault at every endpoint."""
    chosen = {(it.shape.network, it.fault.endpoint, it.fault.name): it for it in chance.sample(every, len(every))}
    return sorted(chosen.values(), key=str)


@pytest.mark.crash
async def test_any_fault_at_any_endpoint_leaves_a_post_live_once_or_uncertain(
    harness: PublishingHarness, chance: random.Random, full_sweep: bool
) -> None:
    every = list_fault_cases() if full_sweep else choose_variants(list_fault_cases(), chance)
    waiting = [await harness.add_fault(it.shape.network, it.fault) for it in every if it.fault.endpoint in UNUSED]
    met = [(it, await meet(harness, it)) for it in every if it.fault.endpoint not in UNUSED]
    await harness.settle_all(concurrency=AT_ONCE)
    verdict = await judge(harness)
    assert verdict.violations == []
    assert verdict.left_to_person == {}, "no person has to decide where the network has a lookup"
    fired = await asyncio.to_thread(harness.oracle.list_fired_faults)
    assert fired.isdisjoint(waiting), "a publish calls endpoints that are listed as unused"
    # A worker remembers for a day what a server says about itself, so only the first lookups meet these faults.
    first = {posted.faults[0] for it, posted in met if it.fault.endpoint in ASKED_ONCE}
    assert not fired.isdisjoint(first)
    for fault_case, posted in met:
        assert posted.faults[0] in fired | first, f"{fault_case} was never met"
        visible = fault_case.fault.endpoint == fault_case.shape.visible
        if fault_case.shape.grade is PromiseClass.D and visible and fault_case.fault.loses_the_response:
            state = (await harness.app.store.job(posted.id)).state
            assert state is State.UNCERTAIN, f"{fault_case}: only a person can know whether it is live"
