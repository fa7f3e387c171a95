"""SIGSTOP in the visible call, past the lease; another worker takes over; SIGCONT: still live once."""

import asyncio
import signal
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from postino import Job, State
from postino.values.ledger import ReceiptSource, Verdict
from tests.crash.freeze import freeze
from tests.crash.publishing.faults import Fault
from tests.crash.publishing.harness import IN_TIME, AcceptedPost, PublishingHarness
from tests.crash.publishing.post_shapes import NETWORKS, Shape, get_shape
from tests.crash.publishing.program import SEND_WITHIN
from tests.crash.publishing.verdict import judge
from tests.crash.workers import Process

ANSWERED = 0.3  # seconds until the networks have processed a call, whether or not the caller waits
SLOWER = (1, 2, 4, 8)  # times that, where a busy machine does not freeze the worker in time
HURRIED = 0.02  # of the networks' timeouts: a frozen worker gives up the call when it wakes up
PATIENT = 0.2  # of the networks' timeouts: a frozen worker reads the waiting response when it wakes up
BURIED = "SELECT count(*) FROM postino.workers WHERE pid = {pid}"

VISIBLE = {shape: shape.visible for shape in map(get_shape, NETWORKS)}


async def freeze_in_the_call(
    harness: PublishingHarness, endpoints: Mapping[Shape, str], *, patience: float, **order: Any
) -> tuple[list[AcceptedPost], Process]:
    """Freeze a worker while it waits for a response for each post, until its jobs are rescued."""
    for slower in SLOWER:
        slow = {"seconds": ANSWERED * slower}
        posts = [await harness.post(it, "frozen", Fault(called, "slow", slow)) for it, called in endpoints.items()]
        sleeper = await harness.start(patience=patience * slower, **order)
        await wait_until_called(harness, posts)
        await freeze(sleeper, harness.workers.url)
        if await are_waiting(harness, posts):
            break
        sleeper.signal(signal.SIGCONT)
        await harness.stop(sleeper)
    else:
        raise AssertionError("the responses always came before the worker was frozen")
    await harness.start(patience=patience * slower, **order)
    async with asyncio.timeout(IN_TIME):
        while harness.sql.ask(BURIED.format(pid=sleeper.pid))[0][0]:  # noqa: ASYNC110 - another process removes it
            await asyncio.sleep(0.02)
    return posts, sleeper


async def wait_until_called(harness: PublishingHarness, posts: Sequence[AcceptedPost]) -> None:
    expected = {posted.faults[0] for posted in posts}
    async with asyncio.timeout(IN_TIME):
        while not expected <= await asyncio.to_thread(harness.oracle.list_fired_faults):  # noqa: ASYNC110 - another process's calls
            await asyncio.sleep(0.02)


async def are_waiting(harness: PublishingHarness, posts: Sequence[AcceptedPost]) -> bool:
    """Return whether every post still waits for the response to its call."""
    for posted in posts:
        if (await now(harness, posted)).state is not State.RUNNING:
            return False
        if (await harness.app.store.ledger(posted.id)).receipts:
            return False
    return True


async def wake(harness: PublishingHarness, sleeper: Process) -> None:
    """Wake a frozen worker and wait until it works again, as a new worker."""
    sleeper.signal(signal.SIGCONT)
    async with asyncio.timeout(IN_TIME):
        while not harness.sql.ask(BURIED.format(pid=sleeper.pid))[0][0]:  # noqa: ASYNC110 - another process's row
            await asyncio.sleep(0.02)


async def now(harness: PublishingHarness, posted: AcceptedPost) -> Job:
    return await harness.app.store.job(posted.id)


@pytest.mark.crash
async def test_worker_frozen_in_the_visible_call_makes_no_second_post(
    harness: PublishingHarness,
) -> None:
    posts, sleeper = await freeze_in_the_call(harness, VISIBLE, patience=HURRIED)
    async with asyncio.timeout(IN_TIME):
        while await asyncio.to_thread(harness.count_moving):  # noqa: ASYNC110 - other processes end them
            await asyncio.sleep(0.05)
    await wake(harness, sleeper)
    await harness.settle_all()
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    states = {posted.shape.network: (await now(harness, posted)).state for posted in posts}
    assert states == {"bluesky": State.COMPLETED, "mastodon": State.COMPLETED, "telegram": State.UNCERTAIN}


@pytest.mark.crash
async def test_late_response_read_by_a_frozen_worker_ends_the_doubt(
    harness: PublishingHarness,
) -> None:
    posts, sleeper = await freeze_in_the_call(harness, VISIBLE, patience=PATIENT)
    assert {(await now(harness, posted)).state for posted in posts} == {State.UNCERTAIN}
    await wake(harness, sleeper)
    await harness.settle_all(workers=0)
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    for posted in posts:
        assert (await now(harness, posted)).state is State.COMPLETED, posted.shape
        [entry] = (await harness.app.store.ledger(posted.id)).receipts
        assert (entry.verdict, entry.source) == (Verdict.ACCEPTED, ReceiptSource.CALL)


@pytest.mark.crash
@pytest.mark.parametrize(
    ("database_url", "over"),
    [("sqlite", "its time to send"), pytest.param("postgres", "its lease", marks=pytest.mark.postgres)],
    indirect=["database_url"],
)
async def test_worker_frozen_between_intent_and_send_sends_nothing_late(harness: PublishingHarness, over: str) -> None:
    """The worker freezes during sign-in; its intent expires before the call is sent."""
    sign_in = {get_shape("bluesky"): "createSession"}
    send_within = SEND_WITHIN if over == "its time to send" else 60.0
    [posted], sleeper = await freeze_in_the_call(harness, sign_in, patience=PATIENT, send_within=send_within)
    await wake(harness, sleeper)
    await harness.settle_all(workers=0)
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    assert (await now(harness, posted)).state is State.COMPLETED
    first, *_ = (await harness.app.store.ledger(posted.id)).receipts
    assert (first.number, first.verdict) == (1, Verdict.REFUSED)
