"""Posts and blackouts: now is refused with the next free instant, a plan is kept and told when it really goes out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postino import Postino, State
from postino.publishing.blackouts import InBlackout
from postino.publishing.post_request import PostRequest
from postino.stores.records import JobFilter
from postino.values.content import Content
from postino.values.gate import Scope
from postino.values.post import PostFilter, StoredPost
from tests.engine.conftest import ended, working
from tests.publishing.tiny import Tiny, publishing

ANNA, BRUNO = "mastodon:anna", "bluesky:bruno"
SCOPES: list[dict[str, Any]] = [
    {"scope": "all"},
    {"scope": "channel", "channel": "mastodon"},
    {"scope": "brand", "brand": "rosso"},
    {"scope": "account", "account": ANNA},
]


@pytest.fixture
def network() -> Tiny:
    return Tiny()


@pytest.fixture
async def app(tmp_path: Path, network: Tiny) -> AsyncIterator[Postino]:
    async with publishing(tmp_path, network) as app:
        await app.accounts.add("mastodon", "anna", {"token": "old"}, base_url="https://there", brand="rosso")
        await app.accounts.add("bluesky", "bruno", {"token": "t"})
        yield app


def wish(text: str = "hello", *accounts: str, **said: Any) -> PostRequest:
    return PostRequest(content=Content(body=text), accounts=accounts or (ANNA,), **said)


async def write(app: Postino, wanted: PostRequest) -> StoredPost:
    (written,) = await app.posts.schedule(wanted)
    return written.post


async def shut(app: Postino, hours: int = 2, **said: Any) -> datetime:
    """A blackout that has begun, and the first instant after it."""
    now = datetime.now(UTC)
    ends_at = (now + timedelta(hours=hours)).replace(second=0, microsecond=0)
    told = {"start": f"{now - timedelta(minutes=5):%H:%M}", "end": f"{ends_at:%H:%M}", "timezone": "UTC"}
    await app.gate_control.add_blackout(told | (said or {"scope": "all"}))
    return ends_at


@pytest.mark.parametrize("said", SCOPES, ids=lambda said: said["scope"])
async def test_publishing_now_is_refused_with_the_window_and_the_next_free_instant(
    app: Postino, said: dict[str, Any]
) -> None:
    ends_at = await shut(app, **said)
    with pytest.raises(InBlackout, match="allow_blackout") as refused:
        await app.posts.schedule(wish())
    assert (refused.value.field, refused.value.free_at) == ("at", ends_at)
    for words in (ANNA, "every day", "Nothing was changed", f"{ends_at:%Y-%m-%dT%H:%M:%SZ}"):
        assert words in str(refused.value)
    assert not await app.store.jobs(JobFilter())
    assert not await app.store.posts(PostFilter())


@pytest.mark.parametrize("said", SCOPES[1:], ids=lambda said: said["scope"])
async def test_others_are_not_concerned(app: Postino, said: dict[str, Any]) -> None:
    await shut(app, **said)
    assert (await write(app, wish("hello", BRUNO))).job.state is State.PENDING


async def test_one_account_in_a_blackout_is_enough_and_the_instant_is_free_for_all(app: Postino) -> None:
    await shut(app, 1, scope="account", account=ANNA)
    later = await shut(app, 3, scope="channel", channel="bluesky")
    with pytest.raises(InBlackout) as refused:
        await app.posts.schedule(wish("hello", ANNA, BRUNO))
    assert refused.value.free_at == later
    assert not await app.store.jobs(JobFilter())


async def test_the_next_free_instant_is_in_no_other_blackout_either(app: Postino) -> None:
    ends_at = await shut(app, 1, scope="brand", brand="rosso")
    after = ends_at + timedelta(hours=1)
    told = {"start": f"{ends_at:%H:%M}", "end": f"{after:%H:%M}", "timezone": "UTC", "scope": "all"}
    await app.gate_control.add_blackout(told)
    with pytest.raises(InBlackout) as refused:
        await app.posts.schedule(wish())
    assert refused.value.free_at == after


async def test_where_nothing_is_ever_free_it_says_so(app: Postino) -> None:
    await app.gate_control.add_blackout({"scope": "all", "start": "00:00", "end": "00:00", "timezone": "UTC"})
    with pytest.raises(InBlackout, match="no free time within a year") as refused:
        await app.posts.schedule(wish())
    assert refused.value.free_at is None


@pytest.mark.parametrize("said", SCOPES, ids=lambda said: said["scope"])
async def test_who_wants_it_out_all_the_same_gets_it_out_and_nothing_else_goes(
    app: Postino, network: Tiny, said: dict[str, Any]
) -> None:
    waiting = await write(app, wish("planned", at=datetime.now(UTC)))
    await shut(app, **said)
    async with working(app):
        urgent = await write(app, wish("urgent", allow_blackout=True))
        assert (await ended(app, urgent.job)).state is State.COMPLETED
        assert (await app.store.job(waiting.job.id)).state is State.PENDING
    assert network.posts == ["urgent"]


async def test_a_pause_is_no_blackout_and_holds_what_is_allowed_in_one(app: Postino, network: Tiny) -> None:
    await shut(app)
    await app.pause(Scope.ACCOUNT, ANNA, reason="wait")
    async with working(app):
        held = await write(app, wish("urgent", allow_blackout=True))
        free = await write(app, wish("other", allow_blackout=True, key="k"))
        await app.resume(Scope.ACCOUNT, ANNA)
        await ended(app, held.job)
        await ended(app, free.job)
    assert sorted(network.posts) == ["other", "urgent"]


async def test_a_known_key_brings_the_known_post_in_a_blackout_too(app: Postino) -> None:
    first = await write(app, wish(key="k"))
    await shut(app)
    (again,) = await app.posts.schedule(wish(key="k"))
    assert (again.created, again.post.job.id) == (False, first.job.id)


async def test_a_plan_is_kept_and_told_when_it_really_goes_out(app: Postino) -> None:
    night = {"scope": "brand", "brand": "rosso", "start": "22:00", "end": "07:00", "timezone": "Europe/Rome"}
    await app.gate_control.add_blackout(night | {"reason": "people sleep"})
    at = datetime(2035, 6, 1, 21, tzinfo=UTC)
    post = await write(app, wish(at=at))
    assert post.job.run_at == at, "blackouts do not move what was asked for"
    [note] = await app.posts.describe_blackouts([post])
    assert "it goes out at 2035-06-02T05:00:00Z" in note
    assert "people sleep" in note
    assert await app.posts.describe_blackouts([await write(app, wish(at=at - timedelta(hours=2)))]) == []
    allowed = await write(app, wish("special", at=at, allow_blackout=True))
    assert (await app.posts.describe_blackouts([allowed]), allowed.job.ignore_blackouts) == ([], True)


async def test_a_plan_whose_last_time_lies_in_the_blackout_is_told_to_be_missed(app: Postino) -> None:
    at = datetime(2035, 6, 1, 12, tzinfo=UTC)
    await app.gate_control.add_blackout({"scope": "all", "start": "12:00", "end": "14:00", "timezone": "UTC"})
    [note] = await app.posts.describe_blackouts(
        [await write(app, wish(at=at, publish_until_at=at + timedelta(hours=1)))]
    )
    assert "it will be missed" in note


async def test_a_planned_post_is_not_published_now_in_a_blackout(app: Postino) -> None:
    at = datetime(2035, 6, 1, 12, tzinfo=UTC)
    post = await write(app, wish(at=at))
    ends_at = await shut(app, scope="account", account=ANNA)
    with pytest.raises(InBlackout, match="reschedule the post") as refused:
        await app.posts.check_can_publish_now(post.job.id)
    assert refused.value.free_at == ends_at
    for blackout in await app.gate_control.blackouts():
        await app.gate_control.remove_blackout(blackout.id)
    await app.posts.check_can_publish_now(post.job.id)


async def test_what_a_blackout_does_not_concern_is_left_to_other_refusals(app: Postino) -> None:
    at = datetime(2035, 6, 1, 12, tzinfo=UTC)
    cancelled, allowed = await write(app, wish(at=at)), await write(app, wish("other", at=at, allow_blackout=True))
    await app.cancel(cancelled.job.id)
    await shut(app)
    await app.posts.check_can_publish_now(cancelled.job.id)
    await app.posts.check_can_publish_now(allowed.job.id)
