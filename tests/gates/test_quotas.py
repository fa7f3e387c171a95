"""Quotas are reserved before each call, over all workers, and kept when workers die."""

import asyncio
import random
import socket
from datetime import timedelta

import pytest

from postino import State
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.program import SEND_WITHIN
from tests.crash.publishing.verdict import judge
from tests.gates.call_log import VISIBLE, read_calls
from tests.gates.worker_pool import open_accounts, post_to_all, run_workers, wait_until, wait_until_done

NETWORK = "mastodon"
MOST, SECONDS = 3, 4.0
PERIOD = timedelta(seconds=SECONDS - SEND_WITHIN)  # a call may leave a little after it was reserved
SPENT = "SELECT count(*) FROM postino.quota_usage"
TRIED = "SELECT count(*) FROM postino.attempts"


@pytest.mark.crash
@pytest.mark.slow
async def test_quota_is_never_exceeded_although_workers_die(harness: PublishingHarness, chance: random.Random) -> None:
    accounts = await open_accounts(harness, NETWORK, 2)
    for number in range(2 * MOST + 1):
        await post_to_all(harness, accounts, f"one of a few {number}")
    async with run_workers(harness, 2, quota=(MOST, SECONDS)) as pool:
        await pool.kill_randomly(4, (0.5, 1.5), chance)
        await wait_until_done(harness)
    for account in accounts:
        visible = [it for it in read_calls(harness.oracle, NETWORK, account.handle) if it.endpoint in VISIBLE]
        assert len(visible) >= 2 * MOST + 1
        for first, beyond in zip(visible, visible[MOST:], strict=False):
            assert beyond.began_at - first.began_at > PERIOD
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    assert {state for _, state in verdict.ends} == {State.COMPLETED}


@pytest.mark.slow
async def test_unsent_call_releases_its_quota(harness: PublishingHarness) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nothing listens
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}"
        [account] = await open_accounts(harness, NETWORK, 1)
        await harness.app.accounts.add(
            NETWORK, account.handle, {"access_token": "any"}, base_url=nowhere, remote_id="1"
        )
        await post_to_all(harness, [account], "never left")

        async def has_tried() -> bool:
            [[times]] = await asyncio.to_thread(harness.sql.ask, TRIED)
            return bool(times > MOST)

        async with run_workers(harness, 1, quota=(MOST, 3600.0)):
            await wait_until(has_tried)
    assert harness.sql.ask(SPENT) == [(0,)]
