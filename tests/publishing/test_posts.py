"""Posts are validated first, created all or none, found by their key, and editable until a request was sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postino import Postino, Queue, State
from postino.errors import Conflict, NotFound, WrongUse
from postino.publishing.contents import load_content
from postino.publishing.post_builder import build_posts
from postino.publishing.post_request import PostRequest
from postino.publishing.post_validation import InvalidPost
from postino.rules.content_limits import NetworkLimits
from postino.stores.records import AuditContext, JobFilter
from postino.values.content import Content, ContentOverride
from postino.values.post import PostFilter, StoredPost
from tests.publishing.fake_network import FakeNetwork, open_app

ANNA, BRUNO = "mastodon:anna", "bluesky:bruno"
ME = AuditContext("maria", "because")


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Postino]:
    async with open_app(tmp_path, FakeNetwork()) as app:
        await app.accounts.add("mastodon", "anna", {"token": "t"}, base_url="https://there", brand="rosso")
        await app.accounts.add("bluesky", "bruno", {"token": "t"})
        yield app


def make_request(text: str = "hello", *accounts: str, **options: Any) -> PostRequest:
    return PostRequest(content=Content(body=text), accounts=accounts or (ANNA,), **options)


def later(**units: float) -> datetime:
    return datetime.now(UTC) + timedelta(**units)


async def create_posts(app: Postino, request: PostRequest) -> list[StoredPost]:
    return [written.post for written in await app.posts.schedule(request)]


async def has_no_jobs(app: Postino) -> bool:
    return not await app.store.jobs(JobFilter()) and not await app.store.posts(PostFilter())


# Scheduling


async def test_publish_now_is_high_priority_and_a_scheduled_post_waits(app: Postino) -> None:
    at = later(hours=1)
    (now,) = await create_posts(app, make_request("now", user_id="u1"))
    (plan,) = await create_posts(app, make_request("plan", at=at))
    assert (now.job.queue, now.job.user_id, now.job.brand) == (Queue.HIGH, "u1", "rosso")
    assert (plan.job.queue, plan.job.scheduled_at, plan.job.run_at) == (Queue.DEFAULT, at, at)
    assert (now.job.channel, now.job.account) == ("mastodon", ANNA)


async def test_one_content_becomes_a_post_per_account_with_network_overrides(app: Postino) -> None:
    content = Content(body="everywhere", overrides={"bluesky": ContentOverride(body="here")})
    posts = await create_posts(app, PostRequest(content=content, accounts=(ANNA, BRUNO, ANNA)))
    assert [json.loads(post.job.payload)["parts"] for post in posts] == [["everywhere"], ["here"]]
    assert len({post.content_id for post in posts}) == 1
    assert json.loads(posts[0].content)["body"] == "everywhere"


async def test_content_invalid_for_one_network_is_queued_for_none(app: Postino) -> None:
    with pytest.raises(InvalidPost, match=f"Nothing was queued. {BRUNO}: ") as refused:
        await app.posts.schedule(make_request("x" * 400, ANNA, BRUNO))
    assert refused.value.field == "text"
    assert len(refused.value.previews) == 2
    assert await has_no_jobs(app)


async def test_preview_renders_each_account_and_queues_nothing(app: Postino) -> None:
    previews = await app.post_validator.preview(make_request("x" * 400, ANNA, BRUNO, key="k"))
    assert [(preview.account.id, bool(preview.problems)) for preview in previews] == [(ANNA, False), (BRUNO, True)]
    assert previews[0].rendered.parts == ("x" * 400,)
    assert await has_no_jobs(app)
    (written,) = await app.posts.schedule(make_request("other", key="k"))
    assert written.created, "no key was used"


@pytest.mark.parametrize(
    ("offsets", "field"),
    [
        ({"at": timedelta(minutes=-6)}, "at"),
        ({"publish_until_at": timedelta(seconds=-1)}, "publish_until"),
        ({"at": timedelta(hours=2), "publish_until_at": timedelta(hours=1)}, "publish_until"),
    ],
)
async def test_invalid_times_are_refused_by_field(app: Postino, offsets: dict[str, timedelta], field: str) -> None:
    times = {name: datetime.now(UTC) + off for name, off in offsets.items()}
    with pytest.raises(WrongUse) as refused:
        await app.posts.schedule(make_request("hello", **times))
    assert refused.value.field == field
    assert await has_no_jobs(app)


async def test_time_within_tolerance_is_published_now(app: Postino) -> None:
    at = later(minutes=-4)
    (post,) = await create_posts(app, make_request(at=at))
    assert post.job.scheduled_at == at
    assert post.job.run_at is not None
    assert post.job.run_at > at


async def test_accounts_must_exist_on_a_supported_network(app: Postino) -> None:
    await app.accounts.add("pinterest", "carla", {"token": "t"}, base_url="https://there")
    with pytest.raises(NotFound, match="Account mastodon:nobody does not exist"):
        await app.posts.schedule(make_request("hello", ANNA, "mastodon:nobody"))
    with pytest.raises(WrongUse, match="does not publish to Pinterest yet"):
        await app.posts.schedule(make_request("hello", ANNA, "pinterest:carla"))
    with pytest.raises(WrongUse, match="at least one account"):
        await app.posts.schedule(PostRequest(content=Content(body="hello"), accounts=()))
    assert await has_no_jobs(app)


# Known already


async def test_same_content_account_and_time_is_one_post(app: Postino) -> None:
    at = later(hours=1)
    (first,) = await app.posts.schedule(make_request(at=at))
    (again,) = await app.posts.schedule(make_request(at=at))
    assert (first.created, again.created, again.post) == (True, False, first.post)


@pytest.mark.parametrize("other", [{"text": "other"}, {"at": timedelta(hours=2)}, {"allow_duplicate": True}])
async def test_other_content_or_time_is_another_post(app: Postino, other: dict[str, Any]) -> None:
    base = datetime.now(UTC)
    await app.posts.schedule(make_request(at=base + timedelta(hours=1)))
    text, off = other.pop("text", "hello"), other.pop("at", timedelta(hours=1))
    (second,) = await app.posts.schedule(make_request(text, at=base + off, **other))
    assert second.created


async def test_callers_idempotency_key_takes_precedence(app: Postino) -> None:
    (first,) = await app.posts.schedule(make_request("hello", key="k"))
    again = await app.posts.schedule(make_request("other", ANNA, BRUNO, key="k", at=later(hours=1)))
    assert [written.created for written in again] == [False, True], "a key is one for each account"
    assert again[0].post == first.post


async def test_duplicate_publish_now_is_refused_unless_allowed(app: Postino) -> None:
    (first,) = await create_posts(app, make_request())
    with pytest.raises(Conflict, match=str(first.job.id)):
        await app.posts.schedule(make_request("hello", BRUNO, ANNA))
    assert len(await app.store.posts(PostFilter())) == 1
    for request in (make_request(allow_duplicate=True), make_request(key="k"), make_request("hello", BRUNO)):
        (written,) = await app.posts.schedule(request)
        assert written.created


# Editing


async def test_edited_post_is_validated_and_found_by_both_keys(app: Postino) -> None:
    at, until = later(hours=1), later(hours=2)
    (post,) = await create_posts(app, make_request("old", at=at, publish_until_at=until, user_id="u1"))
    edited = await app.posts.edit(post.job.id, Content(body="new"), ME)
    assert (json.loads(edited.content)["body"], edited.version, edited.publish_until_at) == ("new", 2, until)
    letter = json.loads(edited.job.payload)
    assert (letter["parts"], datetime.fromisoformat(letter["publish_until_at"])) == (["new"], until)
    for text in ("old", "new"):
        (known,) = await app.posts.schedule(make_request(text, at=at))
        assert (known.created, known.post.job.id) == (False, post.job.id)


async def test_edit_can_change_publish_until(app: Postino) -> None:
    (post,) = await create_posts(app, make_request(at=later(hours=1), publish_until_at=later(hours=2)))
    until = later(hours=3)
    edited = await app.posts.edit(post.job.id, Content(body="new"), ME, publish_until_at=until)
    assert edited.publish_until_at == until
    assert datetime.fromisoformat(json.loads(edited.job.payload)["publish_until_at"]) == until


async def test_invalid_edit_changes_nothing(app: Postino) -> None:
    (post,) = await create_posts(app, make_request("hello", BRUNO))
    with pytest.raises(InvalidPost):
        await app.posts.edit(post.job.id, Content(body="x" * 400), ME)
    assert await app.posts.get(post.job.id) == post


async def test_edit_that_equals_another_post_is_refused(app: Postino) -> None:
    at = later(hours=1)
    (first,) = await create_posts(app, make_request("one", at=at))
    (second,) = await create_posts(app, make_request("two", at=at))
    with pytest.raises(Conflict, match=f"the same as post {first.job.id}"):
        await app.posts.edit(second.job.id, Content(body="one"), ME)
    assert await app.posts.get(second.job.id) == second


async def test_edit_of_a_cancelled_post_or_plain_job_is_refused(app: Postino) -> None:
    (post,) = await create_posts(app, make_request(at=later(hours=1)))
    await app.cancel(post.job.id)
    with pytest.raises(Conflict, match="cancelled"):
        await app.posts.edit(post.job.id, Content(body="new"), ME)
    job = await app.enqueue("other")
    with pytest.raises(NotFound, match="does not exist"):
        await app.posts.edit(job.id, Content(body="new"), ME)
    assert (await app.posts.get(post.job.id)).job.state is State.CANCELLED


async def test_posts_are_listed_by_filter(app: Postino) -> None:
    anna, bruno = await create_posts(app, make_request("hello", ANNA, BRUNO))
    assert await app.posts.list(PostFilter()) == [bruno, anna]
    assert await app.posts.list(PostFilter(account=ANNA)) == [anna]


# Rescheduling


async def test_rescheduled_post_is_found_by_old_and_new_time(app: Postino) -> None:
    soon, then = later(hours=1), later(hours=2)
    (post,) = await create_posts(app, make_request("plan", at=soon))
    moved = await app.posts.reschedule(post.job.id, then, ME)
    assert (moved.job.scheduled_at, moved.job.run_at) == (then, then)
    for at in (soon, then):
        (same,) = await app.posts.schedule(make_request("plan", at=at))
        assert (same.post.job.id, same.created) == (post.job.id, False)


async def test_reschedule_onto_an_equal_post_is_refused(app: Postino) -> None:
    soon, then = later(hours=1), later(hours=2)
    (post,) = await create_posts(app, make_request("plan", at=soon))
    await create_posts(app, make_request("plan", at=then))
    with pytest.raises(Conflict, match="was not rescheduled: it would be the same as post"):
        await app.posts.reschedule(post.job.id, then, ME)
    assert (await app.posts.get(post.job.id)).job.scheduled_at == soon


async def test_reschedule_past_publish_until_is_refused(app: Postino) -> None:
    (post,) = await create_posts(app, make_request("plan", at=later(hours=1), publish_until_at=later(hours=2)))
    with pytest.raises(WrongUse, match="publish_until"):
        await app.posts.reschedule(post.job.id, later(hours=3), ME)


# Many at once


class CountingLimits(dict[str, NetworkLimits]):
    """Counts lookups."""

    looked = 0

    def __getitem__(self, network: str) -> NetworkLimits:
        self.looked += 1
        return super().__getitem__(network)


async def test_content_is_rendered_once_per_network(app: Postino) -> None:
    (anna,), (bruno,) = await app.store.accounts_by_id([ANNA]), await app.store.accounts_by_id([BRUNO])
    many = [*(replace(anna, id=f"mastodon:anna{number}") for number in range(50)), bruno]
    app.post_validator.limits = counted = CountingLimits(app.post_validator.limits)
    previews = await app.post_validator.preview(make_request("x" * 400, *(account.id for account in many)), many)
    assert [preview.account for preview in previews] == many
    assert [bool(preview.problems) for preview in previews] == [False] * 50 + [True]
    assert counted.looked == 2
    payloads = [job.payload for _, job in build_posts(make_request(), previews)]
    assert len({id(payload) for payload in payloads}) == 2


async def test_content_of_related_posts_is_parsed_once(app: Postino) -> None:
    posts = await create_posts(app, make_request("hello", ANNA, BRUNO))
    first, second = (load_content(post.content) for post in posts)
    assert first is second


async def test_other_tasks_run_between_concurrent_previews(app: Postino) -> None:
    anna = await app.store.account(ANNA)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await asyncio.gather(*(app.post_validator.preview(make_request(str(number)), [anna]) for number in range(40)))
    beside.cancel()
    assert turns >= 40
