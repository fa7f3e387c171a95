"""No call is early: neither before a post's time nor before the end of a rate limit; others do not wait."""

import asyncio
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from postino import State
from postino.values.post import StoredAccount
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.post_shapes import NETWORKS
from tests.crash.publishing.verdict import judge
from tests.gates.call_log import LoggedCall, find_early_calls, instant, read_calls
from tests.gates.worker_pool import (
    WorkerPool,
    add_fault,
    open_accounts,
    post_to_all,
    run_workers,
    wait_until,
    wait_until_done,
)

COOL = 5  # seconds
WAYS = ("seconds", "http_date", "reset")
WORKERS = 3
COOLED = "SELECT count(*) FROM postino.events WHERE type = 'gate.cooldown_started'"
LEFT = "SELECT count(*) FROM postino.jobs WHERE account IN ({accounts})"


def list_refused_calls(harness: PublishingHarness) -> list[LoggedCall]:
    return [it for it in read_calls(harness.oracle) if it.status == 429 and it.ended_at is not None]


def list_publish_times(harness: PublishingHarness, accounts: Sequence[StoredAccount]) -> list[datetime]:
    """Return when the posts of these accounts became visible."""
    handles = {(account.network, account.handle) for account in accounts}
    published = harness.oracle.ask("published?all=1")["data"]
    return [datetime.fromisoformat(it["published_at"]) for it in published if (it["network"], it["account"]) in handles]


async def replace_all_workers(
    harness: PublishingHarness, pool: WorkerPool, untouched: Sequence[StoredAccount]
) -> datetime:
    """Wait for the posts of the other accounts and for the cooldowns, then replace all workers."""
    account_ids = ", ".join(f"'{account.id}'" for account in untouched)

    async def are_published() -> bool:
        return (await asyncio.to_thread(harness.sql.ask, LEFT.format(accounts=account_ids))) == [(0,)]

    async def are_stored() -> bool:
        """Return whether every cooldown is stored: a worker that dies before that takes it with it."""
        refused = len(list_refused_calls(harness))
        [[stored]] = await asyncio.to_thread(harness.sql.ask, COOLED)
        return int(stored) >= refused

    await wait_until(are_published)
    await wait_until(are_stored)
    for worker in pool.processes.copy():
        await pool.kill(worker)
    died_at = datetime.now(UTC)
    await pool.start_workers(WORKERS)
    return died_at


async def check_all_published(harness: PublishingHarness) -> None:
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    assert {state for _, state in verdict.ends} == {State.COMPLETED}


@pytest.mark.crash
@pytest.mark.slow
async def test_cooldown_of_an_account_survives_the_death_of_all_workers(
    harness: PublishingHarness,
) -> None:
    limited, untouched = [], []
    for network in NETWORKS:
        for way in WAYS:
            [account, neighbour] = await open_accounts(harness, network, 2)
            await add_fault(harness, network, "rate_limited", account=account.handle, times=1, params={way: COOL})
            limited.append(account)
            untouched.append(neighbour)
    for number in range(2):
        await post_to_all(harness, [*limited, *untouched], f"cooled {number}")
    async with run_workers(harness, WORKERS) as pool:
        died_at = await replace_all_workers(harness, pool, untouched)
        refused_calls = list_refused_calls(harness)
        await wait_until_done(harness)
    assert {(it.network, it.account) for it in refused_calls} == {(it.network, it.handle) for it in limited}
    until_at = min(it.retry_after_at for it in refused_calls if it.retry_after_at)
    assert died_at < until_at, "they died in the middle"
    assert max(list_publish_times(harness, untouched)) < until_at, "neighbours did not wait"
    assert list(find_early_calls(read_calls(harness.oracle))) == []
    assert len(list_refused_calls(harness)) == len(limited), "no account got a second 429"
    await check_all_published(harness)


@pytest.mark.crash
@pytest.mark.slow
async def test_cooldown_of_a_network_does_not_affect_other_networks(
    harness: PublishingHarness,
) -> None:
    limited = [*await open_accounts(harness, "bluesky", 3), *await open_accounts(harness, "telegram", 3)]
    untouched = await open_accounts(harness, "mastodon", 3)
    for network, way in (("bluesky", "http_date"), ("telegram", "seconds")):
        await add_fault(harness, network, "rate_limited", times=1, params={way: COOL, "everyone": True})
    for number in range(2):
        await post_to_all(harness, [*limited, *untouched], f"cooled {number}")
    async with run_workers(harness, WORKERS) as pool:
        died_at = await replace_all_workers(harness, pool, untouched)
        refused_calls = list_refused_calls(harness)
        await wait_until_done(harness)
    until_at = min(it.retry_after_at for it in refused_calls if it.retry_after_at)
    assert died_at < until_at, "they died in the middle"
    assert max(list_publish_times(harness, untouched)) < until_at, "neighbours did not wait"
    assert min(list_publish_times(harness, limited)) >= until_at
    assert list(find_early_calls(read_calls(harness.oracle))) == []
    assert len(list_refused_calls(harness)) <= len(limited), "no account got a second 429"
    await check_all_published(harness)


@pytest.mark.crash
@pytest.mark.slow
async def test_no_post_is_published_early_although_workers_die(
    harness: PublishingHarness, chance: random.Random
) -> None:
    accounts = [it for network in ("bluesky", "mastodon") for it in await open_accounts(harness, network, 5)]
    now = datetime.now(UTC)
    due = [now + timedelta(seconds=chance.uniform(1, 5)) for _ in range(20)]
    for number, at in enumerate(due):
        await post_to_all(harness, [chance.choice(accounts)], f"at its time {number}", at=at)
    async with run_workers(harness, WORKERS) as pool:
        await pool.kill_randomly(6, (0.4, 0.8), chance)
        await wait_until_done(harness)
    published = {it["text"]: instant(it["published_at"]) for it in harness.oracle.ask("published?all=1")["data"]}
    for posted, at in zip(harness.posts, due, strict=True):
        published_at = published[posted.parts[0]]
        assert published_at is not None
        assert published_at >= at, posted
    await check_all_published(harness)
