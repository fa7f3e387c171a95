"""Lists of posts: every filter finds its posts in one order, and no page reads more than its bound."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from postino.stores.operations import pagination, post_lists
from postino.values.job import State
from postino.values.outcome import Done, Reject
from postino.values.post import DayBounds, PostFilter, StoredPost
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import content, create, make_spec

NETWORKS, BRANDS, ACCOUNTS = ("mastodon", "bluesky"), ("rosso", "verde", None), ("anna", "bruno", "carla")


async def crowd(harness: StoreHarness, chance: random.Random, number: int = 60) -> list[StoredPost]:
    """Posts of all kinds, some ended in each way, some edited, moved and replayed."""
    for each in range(number):
        new = make_spec(
            chance.choice(ACCOUNTS),
            fingerprint=str(each),
            run_at=harness.clock.later(minutes=chance.randint(-3, 3)),
            brand=chance.choice(BRANDS),
            channel=chance.choice(NETWORKS),
        )
        await create(
            harness.store, new, new_content=content("{}", search_text=f"post {each} {'odd' if each % 2 else 'even'}")
        )
    for job in await harness.take(free=20):
        ending = chance.choice([Done(remote_id=str(job.id)), Reject("no"), None])
        if ending is not None:
            assert await harness.end(job, ending)
    posts = await harness.store.posts(PostFilter(limit=1000))
    waiting = [post for post in posts if post.job.state is State.PENDING]
    for post in waiting[:5]:
        await harness.store.cancel_job(post.job.id, ME)
    for post in waiting[5:10]:
        await harness.store.reschedule_job(post.job.id, harness.clock.later(hours=chance.randint(1, 5)), ME)
    for post in [post for post in posts if post.job.state is State.FAILED][:2]:
        await harness.store.replay_dead_letter(post.job.id, None, True, ME)
    return list(await harness.store.posts(PostFilter(limit=1000)))


def fits(post: StoredPost, wanted: PostFilter, words: dict[UUID, str]) -> bool:
    job = post.job
    return all(
        (
            not wanted.states or job.state in wanted.states,
            wanted.network in (None, job.channel),
            wanted.account in (None, job.account),
            wanted.brand in (None, job.brand),
            wanted.brands is None or job.brand in wanted.brands,
            wanted.from_at is None or job.scheduled_at >= wanted.from_at,
            wanted.to_at is None or job.scheduled_at < wanted.to_at,
            wanted.words is None or wanted.words in words[post.content_id],
        )
    )


def some_filter(chance: random.Random, now: datetime) -> dict[str, Any]:
    return {
        "states": tuple(chance.sample(list(State), chance.choice([0, 0, 1, 1, 2, 6]))),
        "network": chance.choice([None, None, *NETWORKS]),
        "account": chance.choice([None, None, None, *ACCOUNTS]),
        "brand": chance.choice([None, None, "rosso", "nobody"]),
        "brands": chance.choice([None, None, frozenset(["rosso"]), frozenset(["rosso", "verde"]), frozenset()]),
        "from_at": chance.choice([None, None, now]),
        "to_at": chance.choice([None, None, now + timedelta(hours=2)]),
        "words": chance.choice([None, None, "odd", "post 1"]),
    }


@pytest.mark.parametrize("seed", range(3))
async def test_every_filter_finds_its_posts_page_by_page(harness: StoreHarness, seed: int) -> None:
    chance = random.Random(seed)
    posts = await crowd(harness, chance)
    words = {
        UUID(str(content_id)): text
        for content_id, text in harness.database.sql("SELECT id, search_text FROM {contents}")
    }
    for _ in range(60):
        filter_ = PostFilter(**some_filter(chance, harness.clock()), limit=chance.randint(1, 30))

        def order(post: StoredPost, by_time: bool = filter_.by_time) -> Any:
            return (post.job.scheduled_at, post.job.id) if by_time else post.job.id

        right = sorted((post for post in posts if fits(post, filter_, words)), key=order, reverse=True)
        pages = await every_page(harness, filter_)
        assert [post.job.id for post in pages] == [post.job.id for post in right], filter_
        whole = await harness.store.posts(PostFilter(**{**fields(filter_), "limit": 1000}))
        assert [post.job.id for post in whole] == [post.job.id for post in right], filter_


def fields(value: PostFilter) -> dict[str, Any]:
    return {name: getattr(value, name) for name in PostFilter.__slots__}


async def every_page(harness: StoreHarness, filter_: PostFilter) -> Sequence[StoredPost]:
    results: list[StoredPost] = []
    while True:
        page = await harness.store.posts_page(filter_)
        assert len(page.posts) <= filter_.limit
        results += page.posts
        if page.next is None:
            return results
        filter_ = PostFilter(**{**fields(filter_), "before": page.next.id, "before_at": page.next.at})


async def test_columns_of_a_post_agree_with_its_job(harness: StoreHarness) -> None:
    await crowd(harness, random.Random(7))
    for post in await harness.store.posts(PostFilter(limit=1000)):
        ((phase, brand, at),) = harness.database.sql(
            f"SELECT phase, brand, scheduled_at FROM {{posts}} WHERE id = '{post.job.id}'"
        )
        at = at if isinstance(at, datetime) else datetime.fromisoformat(at)
        state = post.job.state
        assert phase == (state.value if state.is_final else "live")
        assert (brand, at) == (post.job.brand, post.job.scheduled_at)


async def test_page_reads_a_bounded_number_of_posts(harness: StoreHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post_lists, "MAX_SCANNED", 12)  # on four ways, one for each phase
    monkeypatch.setattr(post_lists, "MAX_SEARCHED", 12)
    (first,) = await create(harness.store, make_spec("anna"))
    for number in range(20):
        await create(harness.store, make_spec("bruno", fingerprint=str(number)))
    for item in (PostFilter(words="nowhere", limit=1), PostFilter(account="bruno", network="bluesky", limit=1)):
        page = await harness.store.posts_page(item)
        assert page.posts == []
        assert page.next is not None
        assert page.next.id > first.job.id
        assert await every_page(harness, item) == []
    page = await harness.store.posts_page(PostFilter(network="bluesky", limit=1))
    assert page.next is None  # by its own index there is nothing to walk over


@pytest.mark.parametrize(
    ("scanned", "fitting", "missing", "left", "further"),
    [
        (51, 0, 51, 1_000, 1_000),  # nothing so far: as far as one answer goes
        (51, 40, 11, 1_000, 102),
        (51, 5, 46, 1_000, 938),
        (51, 1, 50, 1_000, 1_000),
        (51, 20, 31, 0, 0),
    ],
)
def test_rare_matches_make_the_next_scan_longer(
    scanned: int, fitting: int, missing: int, left: int, further: int
) -> None:
    assert pagination.next_scan_size(scanned, fitting, missing, left) == further


async def test_the_calendar_has_the_first_posts_of_each_day_and_counts_them(harness: StoreHarness) -> None:
    day = harness.clock.later(days=1)
    days = [DayBounds(day + timedelta(days=number), day + timedelta(days=number + 1)) for number in range(3)]
    for number in range(5):
        at = day + timedelta(hours=5 - number)
        await create(harness.store, make_spec("anna", fingerprint=str(number), run_at=at, brand="rosso"))
    await create(harness.store, make_spec("bruno", run_at=day + timedelta(days=2), brand="verde"))
    await create(harness.store, make_spec("carla", run_at=day + timedelta(days=3)))
    result = await harness.store.calendar(days, None, 3)
    assert [shown.posts for shown in result] == [5, 0, 1]
    first = [entry.scheduled_at for entry in result[0].entries]
    assert first == [day + timedelta(hours=hours) for hours in (1, 2, 3)]
    assert [entry.account for entry in result[2].entries] == ["bruno"]
    only = await harness.store.calendar(days, frozenset(["verde", "blu"]), 3)
    assert [shown.posts for shown in only] == [0, 0, 1]
    assert [shown.posts for shown in await harness.store.calendar(days, frozenset(), 3)] == [0, 0, 0]


async def test_calendar_has_the_final_state_of_posts(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec("anna"))
    window = DayBounds(harness.clock.later(days=-1), harness.clock.later(days=1))

    async def state() -> State:
        (day,) = await harness.store.calendar([window], None, 5)
        return day.entries[0].state

    assert await state() is State.PENDING
    job = await harness.take_one()
    assert await state() is State.RUNNING
    await harness.end(job, Reject("no"))
    assert await state() is State.FAILED
    await harness.store.replay_dead_letter(made.job.id, None, True, ME)
    assert await state() is State.PENDING


async def test_publish_now_goes_first_and_can_ignore_blackouts(
    harness: StoreHarness,
) -> None:
    (made,) = await create(harness.store, make_spec("anna", run_at=harness.clock.later(hours=1)))
    hurried = await harness.store.publish_post_now(made.job.id, ME)
    assert (hurried.queue.label, hurried.ignore_blackouts, hurried.run_at) == ("high", False, harness.clock())
    assert (await harness.store.publish_post_now(made.job.id, ME, ignore_blackouts=True)).ignore_blackouts
    assert (await harness.store.publish_post_now(made.job.id, ME)).ignore_blackouts
    assert not (
        await harness.store.reschedule_post(made.job.id, harness.clock.later(hours=2), "key", ME)
    ).ignore_blackouts


async def test_cursor_of_a_limited_caller_is_no_post_of_another_brand(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan that stops early returns its last place as the cursor: it must not walk the posts of a foreign account."""
    monkeypatch.setattr(post_lists, "MAX_SCANNED", 4)
    for number in range(8):
        later = harness.clock.later(minutes=number)
        new = make_spec("theirs", fingerprint=str(number), run_at=later, brand="verde", channel="mastodon")
        await create(harness.store, new)
    every: list[dict[str, Any]] = [{}, {"from_at": harness.clock.later(days=-1)}, {"states": (State.PENDING,)}]
    for filters in every:
        limited = PostFilter(account="theirs", brands=frozenset(["rosso"]), limit=1, **filters)
        page = await harness.store.posts_page(limited)
        assert (page.posts, page.next) == ([], None)
