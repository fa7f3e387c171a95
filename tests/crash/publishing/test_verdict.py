"""The verdict detects each kind of violation."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postino import Job, State
from postino.values.event import EventType
from postino.values.job import new_id
from tests.crash.publishing.faults import LOST_RESPONSE, Fault
from tests.crash.publishing.harness import AcceptedPost, PublishingHarness
from tests.crash.publishing.oracle import LivePost
from tests.crash.publishing.post_shapes import get_shape
from tests.crash.publishing.test_similar_posts import publish_by_hand
from tests.crash.publishing.verdict import (
    Evidence,
    find_contradictions,
    find_duplicates,
    find_missing_events,
    find_unrequested,
    find_wrong_ends,
    judge,
    place,
    read_evidence,
)

THREAD = get_shape("bluesky", "thread")
pytestmark = [pytest.mark.crash, pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]


@pytest.fixture
async def published_post(harness: PublishingHarness) -> AcceptedPost:
    """Publish a thread without faults."""
    posted = await harness.post(THREAD, "in peace")
    await harness.settle_all(workers=1)
    return posted


@pytest.fixture
async def job(harness: PublishingHarness, published_post: AcceptedPost) -> Job:
    return await harness.app.store.job(published_post.id)


@pytest.fixture
async def evidence(harness: PublishingHarness, published_post: AcceptedPost) -> Evidence:
    return await read_evidence(harness, [])


async def test_run_without_faults_has_no_violation(harness: PublishingHarness, published_post: AcceptedPost) -> None:
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    assert verdict.ends == {(THREAD.grade, State.COMPLETED): 1}


async def test_a_second_post_with_the_same_text_is_a_duplicate(
    harness: PublishingHarness, published_post: AcceptedPost
) -> None:
    publish_by_hand(harness.app, harness.oracle, published_post.account, published_post.parts[0])
    verdict = await judge(harness)
    assert len(verdict.duplicates) == 1
    assert str(published_post.id) in verdict.duplicates[0]


async def test_an_accepted_post_that_does_not_exist_is_lost(
    harness: PublishingHarness, published_post: AcceptedPost
) -> None:
    harness.posts.append(replace(published_post, id=new_id()))
    assert len((await judge(harness)).lost) == 1


async def test_an_uncertain_post_without_a_lookup_is_lost(harness: PublishingHarness) -> None:
    plain = get_shape("mastodon")
    await harness.post(plain, "never looked for", Fault(plain.visible, LOST_RESPONSE))
    worker = await harness.start(concurrency=1)
    while not [row for row in harness.sql.ask("SELECT state FROM postino.jobs") if row == ("uncertain",)]:
        await worker.wait(0.02)
    worker.kill()
    await worker.ended
    verdict = await judge(harness)
    assert len(verdict.lost) == 1
    assert len(verdict.left_to_person) == 1


async def test_store_and_network_are_compared(
    harness: PublishingHarness, published_post: AcceptedPost, job: Job, evidence: Evidence
) -> None:
    first, second = (place(published_post, part) for part in published_post.parts)
    nothing = replace(evidence, live={first: [], second: []})
    half = replace(evidence, live={first: evidence.live[first], second: []})
    stranger = replace(evidence.live[second][0], reply_to="another")
    torn = replace(evidence, live={first: evidence.live[first], second: [stranger]})
    assert len(list(find_wrong_ends(published_post, job, nothing))) == 2, "completed, and nothing is out there"
    assert len(list(find_wrong_ends(published_post, job, half))) == 1, "completed, and half of it is out there"
    assert list(find_contradictions(published_post, replace(job, remote_id="another"), evidence)), (
        "known under another id"
    )
    assert list(find_contradictions(published_post, job, replace(evidence, held={}))), "anybody might take it for his"
    assert list(find_contradictions(published_post, job, torn)), "parts that do not answer each other"
    for state in (State.PENDING, State.RUNNING, State.FAILED, State.CANCELLED):
        assert list(find_contradictions(published_post, replace(job, state=state), evidence)), f"out there, and {state}"
    failed = replace(job, state=State.FAILED)
    assert list(find_contradictions(published_post, failed, replace(half, held={}))), (
        "half of it is out there, and nobody knows"
    )
    assert not list(find_contradictions(published_post, failed, half)), "a thread that had to stop in the middle"


async def test_an_end_without_an_event_is_silent(published_post: AcceptedPost, job: Job, evidence: Evidence) -> None:
    for state in (State.FAILED, State.UNCERTAIN, State.PENDING):
        assert list(find_missing_events(published_post, replace(job, state=state), evidence)), (
            f"{state}, without an event"
        )
    evidence.events[published_post.id][EventType.COMPLETED] += 1
    assert list(find_missing_events(published_post, job, evidence)), "two events"


async def test_an_end_that_is_not_listed_is_lost(published_post: AcceptedPost, job: Job, evidence: Evidence) -> None:
    failed, uncertain = replace(job, state=State.FAILED), replace(job, state=State.UNCERTAIN, run_at=None)
    assert list(find_wrong_ends(published_post, failed, evidence)), "no dead letter"
    assert list(find_wrong_ends(published_post, uncertain, evidence)), "on no list"
    assert list(find_wrong_ends(published_post, replace(job, state=State.PENDING), evidence)), "never ended"
    assert not list(find_wrong_ends(published_post, failed, replace(evidence, letters={published_post.id})))
    assert not list(find_wrong_ends(published_post, uncertain, replace(evidence, listed={published_post.id})))


async def test_unrequested_and_duplicated_posts_are_detected(published_post: AcceptedPost, evidence: Evidence) -> None:
    unknown = LivePost(0, THREAD.network, published_post.account.handle, "another", "another")
    evidence.live[THREAD.network, published_post.account.handle, "another"].append(unknown)
    assert len(list(find_unrequested([published_post], evidence))) == 1
    evidence.events[published_post.id][EventType.DUPLICATED] += 1
    assert len(list(find_duplicates([published_post], evidence))) == 1


async def test_a_live_post_that_was_cancelled_is_detected(
    published_post: AcceptedPost, job: Job, evidence: Evidence
) -> None:
    posted = replace(published_post, cancelled=True)
    cancelled = replace(job, state=State.CANCELLED)
    nothing = replace(evidence, live={place(posted, part): [] for part in posted.parts})
    assert list(find_wrong_ends(posted, job, evidence)), "published although it was cancelled"
    assert list(find_contradictions(posted, cancelled, evidence)), "cancelled, and out there"
    assert list(find_wrong_ends(published_post, cancelled, nothing)), "nobody cancelled it"
    assert not list(find_wrong_ends(posted, cancelled, nothing))
    assert not list(find_contradictions(posted, cancelled, nothing))


async def test_a_post_published_before_its_time_is_detected(
    published_post: AcceptedPost, job: Job, evidence: Evidence
) -> None:
    published_at = datetime.fromisoformat(evidence.live[place(published_post, published_post.parts[0])][0].published_at)
    late = replace(published_post, due_at=published_at + timedelta(seconds=1))
    assert list(find_contradictions(late, job, evidence))
    assert not list(find_contradictions(replace(published_post, due_at=published_at), job, evidence))


async def test_only_the_last_accepted_text_may_be_live(published_post: AcceptedPost, evidence: Evidence) -> None:
    edited = replace(published_post, parts=("edited", "edited (2)"))
    assert len(list(find_unrequested([edited], evidence))) == 2, "the old text is out there"


async def test_text_that_a_restore_lost_may_be_live_instead_but_not_too(
    harness: PublishingHarness, published_post: AcceptedPost, evidence: Evidence
) -> None:
    then = replace(published_post, parts=("before", "before (2)"))
    harness.go_back([then])
    [posted] = harness.posts
    assert (posted.parts, posted.lost_texts) == (then.parts, (published_post.parts,))
    assert not list(find_unrequested([posted], evidence))
    assert not list(find_duplicates([posted], evidence))
    again = LivePost(0, THREAD.network, posted.account.handle, "another", "before")
    evidence.live[place(posted, "before")].append(again)
    assert len(list(find_duplicates([posted], evidence))) == 1, "both versions are out there"


async def test_post_that_a_restore_forgot_is_live_at_most_once(
    harness: PublishingHarness, published_post: AcceptedPost
) -> None:
    harness.go_back([])
    assert (harness.posts, [*harness.forgotten]) == ([], [published_post.id])
    assert (await judge(harness)).violations == []
    publish_by_hand(harness.app, harness.oracle, published_post.account, published_post.parts[0])
    assert len((await judge(harness)).duplicates) == 1
    harness.go_back([published_post])
    assert (harness.posts, harness.forgotten) == ([published_post], {}), "a newer backup knows it again"
