"""Caps hold at every instant although workers die, and no slot is lost with them."""

import random

import pytest

from postino import State
from tests.crash.publishing.chaos import excuse
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.verdict import judge
from tests.gates.call_log import count_most_at_once, read_calls, read_peaks
from tests.gates.worker_pool import add_fault, open_accounts, post_to_all, run_workers, wait_until_done

NETWORKS = ("bluesky", "mastodon")  # networks with a lookup
CAP, ACCOUNTS = 5, 10
SLOW = {"seconds": {"min": 0.1, "max": 0.4}}
PATIENCE = 0.05  # of half a minute: longer than the slowest answer on a busy machine
ROUNDS = 8
KILLS, EVERY = 10, (0.1, 0.5)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize(
    ("database_url", "workers"),
    [("sqlite", 3), pytest.param("postgres", 8, marks=pytest.mark.postgres)],
    indirect=["database_url"],
)
async def test_caps_hold_and_recover_when_workers_are_killed(
    harness: PublishingHarness, workers: int, chance: random.Random
) -> None:
    accounts = [account for network in NETWORKS for account in await open_accounts(harness, network, ACCOUNTS)]
    for network in NETWORKS:
        await add_fault(harness, network, "slow", params=SLOW)
    for number in range(ROUNDS):
        await post_to_all(harness, accounts, f"in chaos {number}")
    async with run_workers(harness, workers, cap=CAP, patience=PATIENCE) as pool:
        await pool.kill_randomly(KILLS, EVERY, chance)
        await wait_until_done(harness)
        in_peace_at = await post_to_all(harness, accounts, "in peace")
        await wait_until_done(harness)
    by_account, by_network = read_peaks(harness.oracle)
    assert len(by_account) >= len(accounts)
    assert max(by_account.values()) == 1
    assert max(by_network.values()) == CAP
    for network in NETWORKS:
        assert (
            count_most_at_once([it for it in read_calls(harness.oracle, network) if it.began_at > in_peace_at]) == CAP
        )
    verdict = await judge(harness)
    jobs = [await harness.app.store.job(posted.id) for posted in harness.posts]
    unasked = [
        job for job in verdict.left_to_person.values() if excuse(job, await harness.app.store.ledger(job.id)) is None
    ]
    assert (verdict.violations, unasked) == ([], [])
    assert {job.state for job in jobs if job.id not in verdict.left_to_person} == {State.COMPLETED}
