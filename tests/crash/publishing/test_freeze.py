"""SIGSTOP in the visible call, past the lease; another worker takes over; SIGCONT: still live once."""

import asyncio
import signal
from typing import Any

import pytest

from postino import Job, State
from postino.values.ledger import ReceiptSource, Verdict
from tests.crash.freeze import freeze
from tests.crash.publishing.faults import Fault
from tests.crash.publishing.harness import IN_TIME, Posted, PublishingHarness
from tests.crash.publishing.post_shapes import NETWORKS, shape_for
from tests.crash.publishing.program import LEASE, SEND_WITHIN
from tests.crash.publishing.verdict import judge
from tests.crash.workers import Process

ANSWERED = 0.3  # seconds until the networks have done what they were asked, whether or not somebody waits
PATIENT = 0.2  # of the networks' time-outs: an answer that waited for a sleeper is read when it wakes up
BURIED = "SELECT count(*) FROM postino.workers WHERE pid = {pid}"


async def freeze_in_the_call(harness: PublishingHarness, *posts: Posted, **order: Any) -> Process:
    """A worker that sleeps while its visible calls are under way, past its lease, until others have buried it."""
    sleeper = await harness.start(**order)
    wanted = {posted.faults[0] for posted in posts}
    async with asyncio.timeout(IN_TIME):
        while not wanted <= await asyncio.to_thread(harness.oracle.struck):  # noqa: ASYNC110 - another process's calls
            await asyncio.sleep(0.02)
    await freeze(sleeper, harness.workers.url)
    await asyncio.sleep(LEASE)
    await harness.start(**order)
    async with asyncio.timeout(IN_TIME):
        while harness.sql.ask(BURIED.format(pid=sleeper.pid))[0][0]:  # noqa: ASYNC110 - another process buries it
            await asyncio.sleep(0.02)
    return sleeper


async def wake(harness: PublishingHarness, sleeper: Process) -> None:
    """Until it works again, under a new name."""
    sleeper.signal(signal.SIGCONT)
    async with asyncio.timeout(IN_TIME):
        while not harness.sql.ask(BURIED.format(pid=sleeper.pid))[0][0]:  # noqa: ASYNC110 - another process's row
            await asyncio.sleep(0.02)


async def now(harness: PublishingHarness, posted: Posted) -> Job:
    return await harness.app.store.job(posted.id)


@pytest.mark.crash
async def test_worker_frozen_in_the_visible_call_makes_no_second_post(
    harness: PublishingHarness,
) -> None:
    slow = {"seconds": ANSWERED}
    posts = [await harness.post(it, "frozen", Fault(it.visible, "slow", slow)) for it in map(shape_for, NETWORKS)]
    sleeper = await freeze_in_the_call(harness, *posts, patience=0.02)
    async with asyncio.timeout(IN_TIME):
        while await asyncio.to_thread(harness.moving):  # noqa: ASYNC110 - other processes end them
            await asyncio.sleep(0.05)
    await wake(harness, sleeper)
    await harness.settle_all()
    verdict = await judge(harness)
    assert (verdict.violations, verdict.asked) == ([], {})
    states = {posted.shape.network: (await now(harness, posted)).state for posted in posts}
    assert states == {"bluesky": State.COMPLETED, "mastodon": State.COMPLETED, "telegram": State.UNCERTAIN}


@pytest.mark.crash
async def test_late_response_read_by_a_frozen_worker_ends_the_doubt(
    harness: PublishingHarness,
) -> None:
    slow = {"seconds": ANSWERED}
    posts = [await harness.post(it, "woken", Fault(it.visible, "slow", slow)) for it in map(shape_for, NETWORKS)]
    sleeper = await freeze_in_the_call(harness, *posts, patience=PATIENT)
    assert {(await now(harness, posted)).state for posted in posts} == {State.UNCERTAIN}
    await wake(harness, sleeper)
    await harness.settle_all(workers=0)
    verdict = await judge(harness)
    assert (verdict.violations, verdict.asked) == ([], {})
    for posted in posts:
        assert (await now(harness, posted)).state is State.COMPLETED, posted.shape
        [fact] = (await harness.app.store.ledger(posted.id)).receipts
        assert (fact.verdict, fact.source) == (Verdict.ACCEPTED, ReceiptSource.CALL)


@pytest.mark.crash
@pytest.mark.parametrize(
    ("database_url", "over"),
    [("sqlite", "its time to send"), pytest.param("postgres", "its lease", marks=pytest.mark.postgres)],
    indirect=["database_url"],
)
async def test_worker_frozen_between_intent_and_send_sends_nothing_late(harness: PublishingHarness, over: str) -> None:
    """Signing in comes first; what was intended for one moment is not sent in another."""
    plain = shape_for("bluesky")
    posted = await harness.post(plain, "not begun", Fault("createSession", "slow", {"seconds": ANSWERED}))
    send_within = SEND_WITHIN if over == "its time to send" else 60.0
    sleeper = await freeze_in_the_call(harness, posted, patience=PATIENT, send_within=send_within)
    await wake(harness, sleeper)
    await harness.settle_all(workers=0)
    verdict = await judge(harness)
    assert (verdict.violations, verdict.asked) == ([], {})
    assert (await now(harness, posted)).state is State.COMPLETED
    first, *_ = (await harness.app.store.ledger(posted.id)).receipts
    assert (first.number, first.verdict) == (1, Verdict.REFUSED)
