"""kill -9 around a publish: the caller, the worker that takes over, and a worker that is stopping."""

import asyncio
import signal
from typing import Any

import pytest

from postino.values.post import PostFilter
from tests.crash.publishing.faults import Fault
from tests.crash.publishing.harness import FOR_EVER, IN_TIME, AcceptedPost, PublishingHarness
from tests.crash.publishing.post_shapes import NETWORKS, SHAPES, get_shape
from tests.crash.publishing.sweep import Sweep

TAKEN_OVER = ("rescue.before", "rescue.after", "mark_suspect.before", "mark_suspect.after")
ON_THE_WAY_OUT = ("unregister_worker.before", "unregister_worker.after")
TOO_MANY = ("start_cooldown.before", "start_cooldown.after")
OUT_OF_REACH = ("release_quota.before", "release_quota.after", "record_response.before", "record_response.after")
TAKING_LONG = ("extend_deadline.before", "extend_deadline.after")
ASKED_FOR = ("create_posts.before", "create_posts.after")
TWICE = (1, 2)  # a caller schedules with a key, then without one
IN_THE_THICK_OF_IT = "record_receipt.before:4"
SLOW = 0.8  # seconds: longer than the drain time here, shorter than the timeout of a response
PATIENT = 0.03
NOBODY = "http://127.0.0.1:9"  # where nobody listens


@pytest.mark.crash
async def test_posts_are_rescued_although_their_rescuers_die_too(
    harness: PublishingHarness,
) -> None:
    sweep = Sweep(harness)
    for shape in SHAPES:
        await harness.post(shape, IN_THE_THICK_OF_IT)
    await sweep.kill_all_at(IN_THE_THICK_OF_IT, lease=FOR_EVER)
    for crash in TAKEN_OVER:
        await sweep.kill_all_at(crash, concurrency=1)
    await sweep.finish()
    await sweep.check()


@pytest.mark.crash
async def test_worker_killed_while_it_stops_leaves_its_posts_to_the_next(
    harness: PublishingHarness,
) -> None:
    sweep = Sweep(harness)
    slow = {"seconds": SLOW}
    for crash in ON_THE_WAY_OUT:
        posts = [await harness.post(it, crash, Fault(it.visible, "slow", slow)) for it in map(get_shape, NETWORKS)]
        picture = get_shape("bluesky", "picture")
        posts.append(await harness.post(picture, crash, Fault("uploadBlob", "slow", slow)))
        victim = await harness.start(crash=crash, drain=0.1, lease=FOR_EVER, patience=PATIENT)
        await wait_until_under_way(harness, posts)
        victim.signal(signal.SIGTERM)
        await harness.expect_death(victim, crash)
    await sweep.finish()
    await sweep.check()


@pytest.mark.crash
async def test_worker_killed_while_it_extends_a_deadline_leaves_its_post_to_the_next(
    harness: PublishingHarness,
) -> None:
    sweep, picture = Sweep(harness), get_shape("bluesky", "picture")
    for crash in TAKING_LONG:
        await sweep.kill(picture, crash, Fault("uploadBlob", "slow", {"seconds": 0.5}), time_limit=0.2)
    await sweep.finish()
    await sweep.check()


@pytest.mark.crash
async def test_worker_killed_on_rate_limit_or_outage_leaves_its_post_to_the_next(
    harness: PublishingHarness,
) -> None:
    sweep = Sweep(harness)
    for crash in TOO_MANY:
        for shape in map(get_shape, NETWORKS):
            await harness.post(shape, crash, Fault(shape.visible, "rate_limited", {"seconds": 1}))
        await sweep.kill_all_at(crash, lease=FOR_EVER)
    for crash in OUT_OF_REACH:
        await harness.post(get_shape("telegram"), crash)
        await sweep.kill_all_at(crash, lease=FOR_EVER, sandbox=NOBODY)
    await sweep.finish()
    await sweep.check()


async def wait_until_under_way(harness: PublishingHarness, posts: list[AcceptedPost]) -> None:
    expected = {fault for posted in posts for fault in posted.faults}
    async with asyncio.timeout(IN_TIME):
        while not expected <= await asyncio.to_thread(harness.oracle.list_fired_faults):  # noqa: ASYNC110 - another process's calls
            await asyncio.sleep(0.02)


@pytest.mark.crash
async def test_caller_killed_while_posts_are_created_can_repeat_the_call(
    harness: PublishingHarness,
) -> None:
    for crash in [f"{point}:{time}" for point in ASKED_FOR for time in TWICE]:
        accounts = [await harness.open_account(network) for network in NETWORKS]
        order: dict[str, Any] = {"wants": crash, "accounts": [account.id for account in accounts]}
        await harness.expect_death(await harness.start(crash=crash, **order), crash)
        assert await (await harness.start(**order)).wait(IN_TIME) == 0
        for account in accounts:
            written = await harness.app.posts.list(PostFilter(account=account.id))
            assert len(written) == 2, f"{crash}: one with a key, one without"
            for post in written:
                harness.add_existing(post, account, crash)
    sweep = Sweep(harness)
    await sweep.finish()
    await sweep.check()
