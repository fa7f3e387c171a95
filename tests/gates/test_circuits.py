"""One network fails entirely: it gets only probes, other networks are unaffected, and it recovers in time."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import pytest

from postino import State
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.post_shapes import get_shape
from tests.crash.publishing.program import LEASE
from tests.crash.publishing.verdict import judge
from tests.gates.call_log import LoggedCall, count_most_at_once, read_calls
from tests.gates.circuit_events import Opening, read_closings, read_openings
from tests.gates.worker_pool import (
    add_fault,
    open_accounts,
    post_to_all,
    remove_fault,
    run_workers,
    wait_until,
    wait_until_done,
)

DOWN, WELL = "bluesky", ("mastodon", "telegram")
SERVICE = f"{DOWN}@sandbox"
OPEN = 1.0  # seconds, at first
CIRCUITS = {"failure_threshold": 3, "open_timeout": OPEN, "max_open_timeout": 60.0}
GRACE = timedelta(seconds=0.6)  # for calls in flight, and until other processes know of the open circuit
A_SECOND = timedelta(seconds=1)
ACCOUNTS, POSTS = 8, 3
HELD = """
SELECT worker.pid FROM postino.jobs AS job JOIN postino.workers AS worker ON worker.id = job.claimed_by
WHERE job.channel = 'bluesky' AND job.state = 'running'
"""
ATTEMPTS = "SELECT coalesce(sum(attempts), 0) FROM postino.finished_jobs WHERE channel = 'bluesky'"


async def wait_for_opening(harness: PublishingHarness, times: int) -> Opening:
    """Wait until the circuit has opened this many times; return the last opening."""

    async def there() -> bool:
        return len(await asyncio.to_thread(read_openings, harness.sql, SERVICE)) >= times

    await wait_until(there)
    return read_openings(harness.sql, SERVICE)[times - 1]


def has_recovered(harness: PublishingHarness) -> bool:
    return bool(read_closings(harness.sql, SERVICE))


def list_probes(some: Sequence[LoggedCall], one: Opening, other: Opening) -> list[LoggedCall]:
    """Return the probes after an opening, up to the next one."""
    return [it for it in some if one.until_at <= it.began_at < other.until_at]


def count_published(oracle: Oracle, network: str) -> int:
    return len([one for one in oracle.list_live_posts() if one.network == network])


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["drop", "process_then_500"])
async def test_failing_network_gets_only_probes_and_others_publish(harness: PublishingHarness, fault: str) -> None:
    accounts = {network: await open_accounts(harness, network, ACCOUNTS) for network in (DOWN, *WELL)}
    fault_id = await add_fault(harness, DOWN, fault)
    for number in range(POSTS):
        await post_to_all(harness, [it for some in accounts.values() for it in some], f"during the outage {number}")
    async with run_workers(harness, 3, circuits=CIRCUITS) as pool:
        last = await wait_for_opening(harness, 3)
        await remove_fault(harness, fault_id)
        assert {count_published(harness.oracle, network) for network in WELL} == {ACCOUNTS * POSTS}, (
            "others did not wait"
        )
        await wait_until_done(harness)
        assert len(pool.processes) == 3

    calls = read_calls(harness.oracle, DOWN)
    opens = read_openings(harness.sql, SERVICE)
    assert len(opens) == 3
    for opening in opens:
        assert [it for it in calls if opening.at + GRACE < it.began_at < opening.until_at] == []
    for (one, other), lasts in zip(pairwise(opens), (1, 2), strict=True):
        assert len(list_probes(calls, one, other)) == 1, "one probe for each opening"
        assert other.at - one.until_at < A_SECOND, "the probe comes as soon as it may"
        assert (one.until_at - one.at).total_seconds() == pytest.approx(OPEN * lasts, abs=0.01)
    assert count_most_at_once(list_probes(calls, opens[0], opens[2])) == 1

    assert read_closings(harness.sql, SERVICE)[0] < last.until_at + A_SECOND
    succeeded = [it for it in calls if it.status == 200 and it.began_at > last.until_at]
    assert succeeded[0].began_at < last.until_at + A_SECOND
    [[attempts]] = harness.sql.ask(ATTEMPTS)
    failed = [it for it in calls if it.status != 200]
    assert attempts <= ACCOUNTS * POSTS + len(failed), "waiting spends no attempt"
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    assert {state for _, state in verdict.ends} == {State.COMPLETED}


@pytest.mark.crash
@pytest.mark.slow
async def test_killed_probe_does_not_keep_the_circuit_open(
    harness: PublishingHarness,
) -> None:
    accounts = await open_accounts(harness, DOWN, ACCOUNTS)
    fault_id = await add_fault(harness, DOWN, "drop")
    await post_to_all(harness, accounts, "probed")
    async with run_workers(harness, 3, circuits=CIRCUITS, patience=0.05) as pool:
        await wait_for_opening(harness, 1)
        slow = await add_fault(harness, DOWN, "slow", params={"seconds": 1.4})
        await remove_fault(harness, fault_id)
        probing: list[int] = []

        async def under_way() -> bool:
            probing[:] = [pid for [pid] in await asyncio.to_thread(harness.sql.ask, HELD)]
            return len(probing) == 1 and any(it.ended_at is None for it in read_calls(harness.oracle, DOWN))

        await wait_until(under_way)
        [prober] = [it for it in pool.processes if it.pid == probing[0]]
        await pool.kill(prober)
        assert not has_recovered(harness)
        killed_at = await remove_fault(harness, slow)
        await wait_until_done(harness)
    [closed_at, *_] = read_closings(harness.sql, SERVICE)
    assert closed_at - killed_at < timedelta(seconds=LEASE + 3)
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    assert {state for _, state in verdict.ends} == {State.COMPLETED}


@pytest.mark.crash
@pytest.mark.slow
async def test_open_circuit_stops_running_posts_before_their_next_call(
    harness: PublishingHarness,
) -> None:
    """Images that are already uploaded are not uploaded again when the posts continue."""
    plain, picture = get_shape(DOWN), get_shape(DOWN, "picture")
    fault_id = await add_fault(harness, DOWN, "drop", endpoint=plain.visible)
    slow = await add_fault(harness, DOWN, "slow", endpoint="uploadBlob", params={"seconds": 1.5})
    pictures = [await harness.post(picture, "half-way") for _ in range(4)]
    async with run_workers(harness, 2, circuits=CIRCUITS | {"open_timeout": 3.0}, patience=0.1):

        async def is_uploading() -> bool:
            return len([it for it in read_calls(harness.oracle, DOWN) if it.endpoint == "uploadBlob"]) == len(pictures)

        await wait_until(is_uploading)
        for _ in range(3):
            await harness.post(plain, "during the outage")
        opening = await wait_for_opening(harness, 1)
        await remove_fault(harness, fault_id)
        await remove_fault(harness, slow)
        await wait_until_done(harness)
    calls = read_calls(harness.oracle, DOWN)
    uploads = [it for it in calls if it.endpoint == "uploadBlob"]
    assert all(it.ended_at and opening.at < it.ended_at < opening.until_at for it in uploads)
    assert [it for it in calls if opening.at + GRACE < it.began_at < opening.until_at] == []
    assert len(uploads) == len(pictures)
    for posted in pictures:
        assert (await harness.app.store.job(posted.id)).attempts == 1, "waiting spends no attempt"
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    assert {state for _, state in verdict.ends} == {State.COMPLETED}
