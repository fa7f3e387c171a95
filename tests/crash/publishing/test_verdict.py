"""Each kind of violation is made here, and the verdict must notice it."""

from dataclasses import replace

import pytest

from postino import Job, State
from postino.values.event import EventType
from postino.values.job import new_id
from tests.crash.publishing.faults import LOST_ANSWER, Fault
from tests.crash.publishing.harness import Posted, PublishingHarness
from tests.crash.publishing.oracle import Seen
from tests.crash.publishing.post_shapes import shape_for
from tests.crash.publishing.test_similar_posts import say_by_hand
from tests.crash.publishing.verdict import (
    Evidence,
    badly_ended,
    contradictions,
    gather,
    judge,
    place,
    too_many,
    unasked_for,
    untold,
)

THREAD = shape_for("bluesky", "thread")
pytestmark = [pytest.mark.crash, pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]


@pytest.fixture
async def done(harness: PublishingHarness) -> Posted:
    """A thread that was published in the ordinary way."""
    posted = await harness.post(THREAD, "in peace")
    await harness.settle_all(workers=1)
    return posted


@pytest.fixture
async def job(harness: PublishingHarness, done: Posted) -> Job:
    return await harness.app.store.job(done.id)


@pytest.fixture
async def evidence(harness: PublishingHarness, done: Posted) -> Evidence:
    return await gather(harness, [])


async def test_run_without_faults_has_no_violation(harness: PublishingHarness, done: Posted) -> None:
    verdict = await judge(harness)
    assert (verdict.violations, verdict.asked) == ([], {})
    assert verdict.ends == {(THREAD.grade, State.COMPLETED): 1}


async def test_a_second_post_that_says_the_same_is_a_duplicate(harness: PublishingHarness, done: Posted) -> None:
    say_by_hand(harness.app, harness.oracle, done.account, done.parts[0])
    verdict = await judge(harness)
    assert len(verdict.duplicates) == 1
    assert str(done.id) in verdict.duplicates[0]


async def test_a_post_that_was_accepted_and_is_not_there_is_lost(harness: PublishingHarness, done: Posted) -> None:
    harness.posts.append(replace(done, id=new_id()))
    assert len((await judge(harness)).lost) == 1


async def test_a_post_whose_answer_was_lost_and_for_whom_nobody_looks_is_lost(harness: PublishingHarness) -> None:
    plain = shape_for("mastodon")
    await harness.post(plain, "never looked for", Fault(plain.visible, LOST_ANSWER))
    worker = await harness.start(concurrency=1)
    while not [row for row in harness.sql.ask("SELECT state FROM postino.jobs") if row == ("uncertain",)]:
        await worker.wait(0.02)
    worker.kill()
    await worker.ended
    verdict = await judge(harness)
    assert len(verdict.lost) == 1
    assert len(verdict.asked) == 1


async def test_store_and_network_are_compared(
    harness: PublishingHarness, done: Posted, job: Job, evidence: Evidence
) -> None:
    first, second = (place(done, part) for part in done.parts)
    nothing = replace(evidence, seen={first: [], second: []})
    half = replace(evidence, seen={first: evidence.seen[first], second: []})
    stranger = replace(evidence.seen[second][0], reply_to="another")
    torn = replace(evidence, seen={first: evidence.seen[first], second: [stranger]})
    assert len(list(badly_ended(done, job, nothing))) == 2, "completed, and nothing is out there"
    assert len(list(badly_ended(done, job, half))) == 1, "completed, and half of it is out there"
    assert list(contradictions(done, replace(job, remote_id="another"), evidence)), "known under another id"
    assert list(contradictions(done, job, replace(evidence, held={}))), "anybody might take it for his"
    assert list(contradictions(done, job, torn)), "parts that do not answer each other"
    for state in (State.PENDING, State.RUNNING, State.FAILED, State.CANCELLED):
        assert list(contradictions(done, replace(job, state=state), evidence)), f"out there, and {state}"
    failed = replace(job, state=State.FAILED)
    assert list(contradictions(done, failed, replace(half, held={}))), "half of it is out there, and nobody knows"
    assert not list(contradictions(done, failed, half)), "a thread that had to stop in the middle"


async def test_an_end_that_nobody_hears_of_is_silent(done: Posted, job: Job, evidence: Evidence) -> None:
    for state in (State.FAILED, State.UNCERTAIN, State.PENDING):
        assert list(untold(done, replace(job, state=state), evidence)), f"{state}, and not told"
    evidence.told[done.id][EventType.COMPLETED] += 1
    assert list(untold(done, job, evidence)), "told twice"


async def test_an_end_that_nobody_can_find_is_a_loss(done: Posted, job: Job, evidence: Evidence) -> None:
    failed, uncertain = replace(job, state=State.FAILED), replace(job, state=State.UNCERTAIN, run_at=None)
    assert list(badly_ended(done, failed, evidence)), "no dead letter"
    assert list(badly_ended(done, uncertain, evidence)), "on no list"
    assert list(badly_ended(done, replace(job, state=State.PENDING), evidence)), "never ended"
    assert not list(badly_ended(done, failed, replace(evidence, letters={done.id})))
    assert not list(badly_ended(done, uncertain, replace(evidence, listed={done.id})))


async def test_unrequested_and_duplicated_posts_are_noticed(done: Posted, evidence: Evidence) -> None:
    unknown = Seen(0, THREAD.network, done.account.handle, "another", "another")
    evidence.seen[THREAD.network, done.account.handle, "another"].append(unknown)
    assert len(list(unasked_for([done], evidence))) == 1
    evidence.told[done.id][EventType.DUPLICATED] += 1
    assert len(list(too_many([done], evidence))) == 1
