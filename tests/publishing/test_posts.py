"""One content to many accounts: checked first, all or none, known by its key, editable until something was sent."""

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
from postino.rules.limits import NetworkLimits
from postino.stores.records import AuditContext, JobFilter
from postino.values.content import Content, ContentOverride
from postino.values.post import PostFilter, StoredPost
from tests.publishing.tiny import Tiny, publishing

ANNA, BRUNO = "mastodon:anna", "bluesky:bruno"
ME = AuditContext("maria", "because")


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Postino]:
    async with publishing(tmp_path, Tiny()) as app:
        await app.accounts.add("mastodon", "anna", {"token": "t"}, base_url="https://there", brand="rosso")
        await app.accounts.add("bluesky", "bruno", {"token": "t"})
        yield app


def wish(text: str = "hello", *accounts: str, **said: Any) -> PostRequest:
    return PostRequest(content=Content(body=text), accounts=accounts or (ANNA,), **said)


def later(**units: float) -> datetime:
    return datetime.now(UTC) + timedelta(**units)


async def write(app: Postino, wanted: PostRequest) -> list[StoredPost]:
    return [written.post for written in await app.posts.schedule(wanted)]


async def nothing_is_queued(app: Postino) -> bool:
    return not await app.store.jobs(JobFilter()) and not await app.store.posts(PostFilter())


# Scheduling


async def test_now_is_urgent_and_a_plan_waits_for_its_time(app: Postino) -> None:
    at = later(hours=1)
    (now,) = await write(app, wish("now", user_id="u1"))
    (plan,) = await write(app, wish("plan", at=at))
    assert (now.job.queue, now.job.user_id, now.job.brand) == (Queue.HIGH, "u1", "rosso")
    assert (plan.job.queue, plan.job.scheduled_at, plan.job.run_at) == (Queue.DEFAULT, at, at)
    assert (now.job.channel, now.job.account) == ("mastodon", ANNA)


async def test_one_content_for_two_accounts_is_two_posts_each_in_its_networks_words(app: Postino) -> None:
    content = Content(body="everywhere", overrides={"bluesky": ContentOverride(body="here")})
    posts = await write(app, PostRequest(content=content, accounts=(ANNA, BRUNO, ANNA)))
    assert [json.loads(post.job.payload)["parts"] for post in posts] == [["everywhere"], ["here"]]
    assert len({post.content_id for post in posts}) == 1
    assert json.loads(posts[0].content)["body"] == "everywhere"


async def test_what_one_network_would_refuse_is_queued_for_none(app: Postino) -> None:
    with pytest.raises(InvalidPost, match=f"Nothing was queued. {BRUNO}: ") as refused:
        await app.posts.schedule(wish("x" * 400, ANNA, BRUNO))
    assert refused.value.field == "text"
    assert len(refused.value.previews) == 2
    assert await nothing_is_queued(app)


async def test_a_preview_shows_how_it_would_look_and_queues_nothing(app: Postino) -> None:
    previews = await app.post_validator.preview(wish("x" * 400, ANNA, BRUNO, key="k"))
    assert [(preview.account.id, bool(preview.problems)) for preview in previews] == [(ANNA, False), (BRUNO, True)]
    assert previews[0].rendered.parts == ("x" * 400,)
    assert await nothing_is_queued(app)
    (written,) = await app.posts.schedule(wish("other", key="k"))
    assert written.created, "no key was used"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"at": timedelta(minutes=-6)}, "at"),
        ({"publish_until_at": timedelta(seconds=-1)}, "publish_until"),
        ({"at": timedelta(hours=2), "publish_until_at": timedelta(hours=1)}, "publish_until"),
    ],
)
async def test_times_that_cannot_be_meant_are_refused(app: Postino, said: dict[str, timedelta], field: str) -> None:
    times = {name: datetime.now(UTC) + off for name, off in said.items()}
    with pytest.raises(WrongUse) as refused:
        await app.posts.schedule(wish("hello", **times))
    assert refused.value.field == field
    assert await nothing_is_queued(app)


async def test_a_time_just_passed_is_now(app: Postino) -> None:
    at = later(minutes=-4)
    (post,) = await write(app, wish(at=at))
    assert post.job.scheduled_at == at
    assert post.job.run_at is not None
    assert post.job.run_at > at


async def test_accounts_must_be_known_and_of_a_network_postino_publishes_to(app: Postino) -> None:
    await app.accounts.add("pinterest", "carla", {"token": "t"}, base_url="https://there")
    with pytest.raises(NotFound, match="There is no account mastodon:nobody"):
        await app.posts.schedule(wish("hello", ANNA, "mastodon:nobody"))
    with pytest.raises(WrongUse, match="does not publish to Pinterest yet"):
        await app.posts.schedule(wish("hello", ANNA, "pinterest:carla"))
    with pytest.raises(WrongUse, match="at least one account"):
        await app.posts.schedule(PostRequest(content=Content(body="hello"), accounts=()))
    assert await nothing_is_queued(app)


# Known already


async def test_the_same_plan_is_the_same_post(app: Postino) -> None:
    at = later(hours=1)
    (first,) = await app.posts.schedule(wish(at=at))
    (again,) = await app.posts.schedule(wish(at=at))
    assert (first.created, again.created, again.post) == (True, False, first.post)


@pytest.mark.parametrize("other", [{"text": "other"}, {"at": timedelta(hours=2)}, {"allow_duplicate": True}])
async def test_another_plan_is_another_post(app: Postino, other: dict[str, Any]) -> None:
    base = datetime.now(UTC)
    await app.posts.schedule(wish(at=base + timedelta(hours=1)))
    text, off = other.pop("text", "hello"), other.pop("at", timedelta(hours=1))
    (second,) = await app.posts.schedule(wish(text, at=base + off, **other))
    assert second.created


async def test_a_callers_own_key_goes_before_everything(app: Postino) -> None:
    (first,) = await app.posts.schedule(wish("hello", key="k"))
    again = await app.posts.schedule(wish("other", ANNA, BRUNO, key="k", at=later(hours=1)))
    assert [written.created for written in again] == [False, True], "a key is one for each account"
    assert again[0].post == first.post


async def test_a_second_click_is_refused_unless_it_is_meant(app: Postino) -> None:
    (first,) = await write(app, wish())
    with pytest.raises(Conflict, match=str(first.job.id)):
        await app.posts.schedule(wish("hello", BRUNO, ANNA))
    assert len(await app.store.posts(PostFilter())) == 1
    for meant in (wish(allow_duplicate=True), wish(key="k"), wish("hello", BRUNO)):
        (written,) = await app.posts.schedule(meant)
        assert written.created


# Editing


async def test_an_edit_is_checked_rendered_and_known_by_its_key(app: Postino) -> None:
    at, until = later(hours=1), later(hours=2)
    (post,) = await write(app, wish("old", at=at, publish_until_at=until, user_id="u1"))
    edited = await app.posts.edit(post.job.id, Content(body="new"), ME)
    assert (json.loads(edited.content)["body"], edited.version, edited.publish_until_at) == ("new", 2, until)
    letter = json.loads(edited.job.payload)
    assert (letter["parts"], datetime.fromisoformat(letter["publish_until_at"])) == (["new"], until)
    for text in ("old", "new"):
        (known,) = await app.posts.schedule(wish(text, at=at))
        assert (known.created, known.post.job.id) == (False, post.job.id)


async def test_an_edit_can_move_the_time_after_which_it_is_missed(app: Postino) -> None:
    (post,) = await write(app, wish(at=later(hours=1), publish_until_at=later(hours=2)))
    until = later(hours=3)
    edited = await app.posts.edit(post.job.id, Content(body="new"), ME, publish_until_at=until)
    assert edited.publish_until_at == until
    assert datetime.fromisoformat(json.loads(edited.job.payload)["publish_until_at"]) == until


async def test_an_edit_its_network_would_refuse_changes_nothing(app: Postino) -> None:
    (post,) = await write(app, wish("hello", BRUNO))
    with pytest.raises(InvalidPost):
        await app.posts.edit(post.job.id, Content(body="x" * 400), ME)
    assert await app.posts.get(post.job.id) == post


async def test_an_edit_into_another_post_is_refused(app: Postino) -> None:
    at = later(hours=1)
    (first,) = await write(app, wish("one", at=at))
    (second,) = await write(app, wish("two", at=at))
    with pytest.raises(Conflict, match=f"the same as post {first.job.id}"):
        await app.posts.edit(second.job.id, Content(body="one"), ME)
    assert await app.posts.get(second.job.id) == second


async def test_an_edit_of_what_is_published_cancelled_or_no_post_is_refused(app: Postino) -> None:
    (post,) = await write(app, wish(at=later(hours=1)))
    await app.cancel(post.job.id)
    with pytest.raises(Conflict, match="cancelled"):
        await app.posts.edit(post.job.id, Content(body="new"), ME)
    job = await app.enqueue("other")
    with pytest.raises(NotFound, match="There is no post"):
        await app.posts.edit(job.id, Content(body="new"), ME)
    assert (await app.posts.get(post.job.id)).job.state is State.CANCELLED


async def test_posts_are_listed_by_what_one_asks_for(app: Postino) -> None:
    anna, bruno = await write(app, wish("hello", ANNA, BRUNO))
    assert await app.posts.list(PostFilter()) == [bruno, anna]
    assert await app.posts.list(PostFilter(account=ANNA)) == [anna]


# Rescheduling


async def test_the_plan_that_a_post_is_moved_to_is_its_own(app: Postino) -> None:
    soon, then = later(hours=1), later(hours=2)
    (post,) = await write(app, wish("plan", at=soon))
    moved = await app.posts.reschedule(post.job.id, then, ME)
    assert (moved.job.scheduled_at, moved.job.run_at) == (then, then)
    for at in (soon, then):
        (same,) = await app.posts.schedule(wish("plan", at=at))
        assert (same.post.job.id, same.created) == (post.job.id, False)


async def test_a_post_is_not_moved_onto_another(app: Postino) -> None:
    soon, then = later(hours=1), later(hours=2)
    (post,) = await write(app, wish("plan", at=soon))
    await write(app, wish("plan", at=then))
    with pytest.raises(Conflict, match="was not rescheduled: it would be the same as post"):
        await app.posts.reschedule(post.job.id, then, ME)
    assert (await app.posts.get(post.job.id)).job.scheduled_at == soon


async def test_a_post_is_not_moved_past_the_time_it_was_to_be_out_by(app: Postino) -> None:
    (post,) = await write(app, wish("plan", at=later(hours=1), publish_until_at=later(hours=2)))
    with pytest.raises(WrongUse, match="publish_until"):
        await app.posts.reschedule(post.job.id, later(hours=3), ME)


# Many at once


class Counted(dict[str, NetworkLimits]):
    """How often somebody looked."""

    looked = 0

    def __getitem__(self, network: str) -> NetworkLimits:
        self.looked += 1
        return super().__getitem__(network)


async def test_what_accounts_of_one_network_have_in_common_is_looked_at_once(app: Postino) -> None:
    (anna,), (bruno,) = await app.store.accounts_by_id([ANNA]), await app.store.accounts_by_id([BRUNO])
    many = [*(replace(anna, id=f"mastodon:anna{number}") for number in range(50)), bruno]
    app.post_validator.limits = counted = Counted(app.post_validator.limits)
    previews = await app.post_validator.preview(wish("x" * 400, *(account.id for account in many)), many)
    assert [preview.account for preview in previews] == many
    assert [bool(preview.problems) for preview in previews] == [False] * 50 + [True]
    assert counted.looked == 2
    payloads = [job.payload for _, job in build_posts(wish(), previews)]
    assert len({id(payload) for payload in payloads}) == 2


async def test_contents_of_posts_that_belong_together_are_read_once(app: Postino) -> None:
    posts = await write(app, wish("hello", ANNA, BRUNO))
    first, second = (load_content(post.content) for post in posts)
    assert first is second


async def test_others_have_their_turn_between_many_that_come_together(app: Postino) -> None:
    anna = await app.store.account(ANNA)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await asyncio.gather(*(app.post_validator.preview(wish(str(number)), [anna]) for number in range(40)))
    beside.cancel()
    assert turns >= 40
