"""Figures: finished posts, brands, error groups, quota usage, the last event."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from postino.rules.quota import QuotaUse
from postino.rules.retry import Exponential, RetryPolicy
from postino.rules.settlement import COMPLETED, settle_job
from postino.rules.stats import summarize
from postino.stores.records import AuditContext, DeadLetterFilter, JobFilter, QuotaUsageFilter, SettledJob
from postino.values.event import Cursor
from postino.values.job import Job, State
from postino.values.outcome import Reject
from postino.values.post import POST
from tests.contract.harness import StoreHarness

ME = AuditContext("me")
POLICY = RetryPolicy(3, Exponential(60))


async def end(
    harness: StoreHarness, brand: str | None = None, *, error: str | None = None, channel: str = "bluesky"
) -> Job:
    """Create a post of a brand and end it, with an error if one is given."""
    await harness.put(type=POST, channel=channel, brand=brand, account=f"{channel}:{brand}")
    [job] = await harness.take()
    settlement = COMPLETED if error is None else settle_job(job, Reject(error), POLICY, harness.clock(), 0)
    assert await harness.store.settle([SettledJob(job, settlement)]) == {job.id}
    return job


async def test_finished_posts_are_listed_with_their_delay(harness: StoreHarness) -> None:
    since = harness.clock()
    await end(harness, "acme")
    await harness.put(type=POST, channel="mastodon", account="mastodon:b", brand="other")
    harness.clock.turn(seconds=90)
    [late] = await harness.take()
    await harness.store.settle([SettledJob(late, COMPLETED)])
    await end(harness, "acme", error="no")
    result = await harness.store.finished_posts(since, 100)
    assert [(one.network, one.state, round(one.late_by)) for one in result] == [
        ("bluesky", State.FAILED, 0), ("mastodon", State.COMPLETED, 90), ("bluesky", State.COMPLETED, 0),
    ]  # fmt: skip
    assert summarize(result, timedelta(minutes=2)).on_time_rate == 0.5
    assert len(await harness.store.finished_posts(since, 2)) == 2
    assert [one.network for one in await harness.store.finished_posts(since, 100, network="mastodon")] == ["mastodon"]
    assert len(await harness.store.finished_posts(since, 100, brands=["acme"])) == 2
    assert await harness.store.finished_posts(since, 100, brands=[]) == []
    assert await harness.store.finished_posts(harness.clock.later(hours=1), 100) == []


async def test_brands_are_those_of_unfinished_and_finished_jobs(harness: StoreHarness) -> None:
    assert list(await harness.store.brands()) == []
    await end(harness, "beta")
    await end(harness, "beta", error="no")
    await harness.put(type=POST, channel="bluesky", account="bluesky:alpha", brand="alpha")
    await harness.put(channel="reports")
    assert list(await harness.store.brands()) == ["alpha", "beta"]
    counted = await harness.store.brand_counts(["alpha", "beta", "gamma"], 100)
    assert {(one.brand, one.state): one.posts for one in counted} == {
        ("alpha", State.PENDING): 1, ("beta", State.COMPLETED): 1, ("beta", State.FAILED): 1,
    }  # fmt: skip
    assert sum(one.posts for one in await harness.store.brand_counts(["beta"], 1)) == 1


async def test_dead_letters_with_one_error_are_one_group(harness: StoreHarness) -> None:
    first = await end(harness, "acme", error="Post 12 is too long.")
    harness.clock.turn(hours=1)
    second = await end(harness, "other", error="Post 13 is too long.")
    await end(harness, "acme", error="The picture is gone.", channel="mastodon")
    long, gone = await harness.store.error_groups(100)
    assert (long.letters, long.error, long.example, long.cause) == (2, "Post … is too long.", second.id, "permanent")
    assert long.last_at - long.first_at == timedelta(hours=1)
    assert (gone.letters, gone.channel) == (1, "mastodon")
    [mine] = [one for one in await harness.store.error_groups(100, ["acme"]) if one.channel == "bluesky"]
    assert (mine.letters, mine.example) == (1, first.id)
    await harness.store.discard_dead_letter(second.id, ME)
    assert {one.letters for one in await harness.store.error_groups(100)} == {1}
    assert len(await harness.store.error_groups(1)) == 1


async def test_dead_letters_and_jobs_are_filtered_by_brands(harness: StoreHarness) -> None:
    mine, other = await end(harness, "acme", error="no"), await end(harness, "other", error="no")
    nobodys = await harness.put(channel="reports")
    letters = await harness.store.dead_letters(DeadLetterFilter(brands=("acme",)))
    assert [letter.job.id for letter in letters] == [mine.id]
    [letter] = await harness.store.dead_letters(DeadLetterFilter(account="bluesky:other"))
    assert letter.job.id == other.id

    async def list_job_ids(**wanted: object) -> list[object]:
        return [job.id for job in await harness.store.jobs(replace(JobFilter(), **wanted))]  # type: ignore[arg-type]

    assert await list_job_ids() == [nobodys.id, other.id, mine.id]
    assert await list_job_ids(brands=("acme",)) == [mine.id]
    assert await list_job_ids(brands=("acme", "other", "acme")) == [other.id, mine.id]
    assert await list_job_ids(brands=("acme", "other"), limit=1) == [other.id]
    assert await list_job_ids(brands=("acme", "other"), before=other.id) == [mine.id]
    assert await list_job_ids(brands=("other",), states=(State.FAILED,)) == [other.id]
    assert await list_job_ids(brands=()) == []


async def test_replay_can_be_scheduled(harness: StoreHarness) -> None:
    job = await end(harness, "acme", error="no")
    later = harness.clock.later(minutes=5)
    replayed = await harness.store.replay_dead_letter(job.id, None, True, ME, run_at=later)
    assert replayed.run_at == later
    assert await harness.take() == []
    harness.clock.turn(minutes=5)
    assert [taken.id for taken in await harness.take()] == [job.id]


async def test_usage_is_read_for_each_quota(harness: StoreHarness) -> None:
    at = harness.clock().isoformat()
    harness.database.sql(
        "INSERT INTO {quota_usage} (job_id, step, number, channel, account, quota, cost, at) VALUES"
        f" ('00000000-0000-0000-0000-000000000001', 'post', 1, 'instagram', 'a', 'posts', 3, '{at}')"
    )
    wanted = QuotaUsageFilter(channel="instagram", quota="posts", account="a", since_at=harness.clock.later(hours=-1))
    result = await harness.store.quota_usage([wanted, replace(wanted, account="b")])
    assert [list(one) for one in result] == [[QuotaUse(harness.clock(), 3)], []]


async def test_last_event_is_the_end_of_the_events(harness: StoreHarness) -> None:
    assert await harness.store.last_event() == Cursor()
    job = await end(harness, "acme")
    [*_, last] = await harness.store.events(Cursor(), 100)
    assert await harness.store.last_event() == last.cursor
    assert await harness.store.events(last.cursor, 100) == []
    nobodys = await harness.put(channel="reports")
    assert await harness.store.brands_by_job([job.id, nobodys.id]) == {job.id: "acme", nobodys.id: None}


@pytest.mark.parametrize("brands", [None, ["acme"]])
async def test_empty_store_has_no_finished_posts(harness: StoreHarness, brands: list[str] | None) -> None:
    now = await harness.store.now()
    assert now == harness.clock()
    assert await harness.store.finished_posts(now, 10, brands=brands) == []
    assert await harness.store.error_groups(10, brands) == []
