"""Fairness: however much one brand has to publish, another brand's post takes the next free slot."""

import asyncio

import pytest

from tests.crash.publishing.harness import PublishingHarness
from tests.gates.call_log import read_calls
from tests.gates.worker_pool import add_fault, open_accounts, post_to_all, run_workers, wait_until

NETWORK, CAP = "mastodon", 5
ACCOUNTS, EACH = 50, 40


@pytest.mark.slow
async def test_post_behind_a_large_backlog_of_another_brand_is_next(harness: PublishingHarness) -> None:
    many = await open_accounts(harness, NETWORK, ACCOUNTS, brand="large")
    [single] = await open_accounts(harness, NETWORK, 1, brand="small")
    await add_fault(harness, NETWORK, "slow", params={"seconds": {"min": 0.1, "max": 0.2}})
    for number in range(EACH):
        await post_to_all(harness, many, f"one of many {number}")

    async def busy() -> bool:
        return len(await asyncio.to_thread(read_calls, harness.oracle, NETWORK)) > 3 * CAP

    async def others_went_on() -> bool:
        calls = await asyncio.to_thread(read_calls, harness.oracle, NETWORK)
        positions = [place for place, it in enumerate(calls) if it.account == single.handle]
        return bool(positions) and len(calls) > positions[0] + CAP

    async with run_workers(harness, 2, cap=CAP, patience=0.1):
        await wait_until(busy)
        accepted_at = await post_to_all(harness, [single], "the only one")
        await wait_until(others_went_on)
    calls = read_calls(harness.oracle, NETWORK)
    [its] = [it for it in calls if it.account == single.handle]
    ahead = [it for it in calls if accepted_at <= it.began_at < its.began_at]
    assert len(ahead) <= CAP
