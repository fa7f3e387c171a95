"""Blackouts refuse to publish now and delay scheduled posts."""

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
from tests.engine.conftest import run_worker, wait_for_end
from tests.publishing.fake_network import FakeNetwork, open_app

ANNA, BRUNO = "mastodon:anna", "bluesky:bruno"
SCOPES: list[dict[str, Any]] = [
    {"scope": "all"},
    {"scope": "channel", "channel": "mastodon"},
    {"scope": "brand", "brand": "rosso"},
    {"scope": "account", "account": ANNA},
]


@pytest.fixture
def network() -> FakeNetwork:
    return FakeNetwork()


@pytest.fixture
async def app(tmp_path: Path, network: FakeNetwork) -> AsyncIterator[Postino]:
    async with open_app(tmp_path, network) as app:
        await app.accounts.add("mastodon", "anna", {"token": "old"}, base_url="https://there", brand="rosso")
        await app.accounts.add("bluesky", "bruno", {"token": "t"})
        yield app


def make_request(text: str = "hello", *accounts: str, **options: Any) -> PostRequest:
    return PostRequest(content=Content(body=text), accounts=accounts or (ANNA,), **options)


async def create_post(app: Postino, request: PostRequest) -> StoredPost:
    (written,) = await app.posts.schedule(request)
    return written.post


async def add_blackout(app: Postino, hours: int = 2, **scope: Any) -> datetime:
    """Add a blackout that has begun; return its end."""
    now = datetime.now(UTC)
    ends_at = (now + timedelta(hours=hours)).replace(second=0, microsecond=0)
    window = {"start": f"{now - timedelta(minutes=5):%H:%M}", "end": f"{ends_at:%H:%M}", "timezone": "UTC"}
    await app.gate_control.add_blackout(window | (scope or {"scope": "all"}))
    return ends_at


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope["scope"])
async def test_publish_now_in_a_blackout_is_refused_with_the_next_free_time(
    app: Postino, scope: dict[str, Any]
) -> None:
    ends_at = await add_blackout(app, **scope)
    with pytest.raises(InBlackout, match="allow_blackout") as refused:
        await app.posts.schedule(make_request())
    assert (refused.value.field, refused.value.free_at) == ("at", ends_at)
    for words in (ANNA, "every day", "Nothing was changed", f"{ends_at:%Y-%m-%dT%H:%M:%SZ}"):
        assert words in str(refused.value)
    assert not await app.store.jobs(JobFilter())
    assert not await app.store.posts(PostFilter())


@pytest.mark.parametrize("scope", SCOPES[1:], ids=lambda scope: scope["scope"])
async def test_blackout_does_not_hold_other_accounts(app: Postino, scope: dict[str, Any]) -> None:
    await add_blackout(app, **scope)
    assert (await create_post(app, make_request("hello", BRUNO))).job.state is State.PENDING


async def test_free_time_of_several_accounts_is_free_for_all(app: Postino) -> None:
    await add_blackout(app, 1, scope="account", account=ANNA)
    later = await add_blackout(app, 3, scope="channel", channel="bluesky")
    with pytest.raises(InBlackout) as refused:
        await app.posts.schedule(make_request("hello", ANNA, BRUNO))
    assert refused.value.free_at == later
    assert not await app.store.jobs(JobFilter())


async def test_free_time_is_in_no_other_blackout(app: Postino) -> None:
    ends_at = await add_blackout(app, 1, scope="brand", brand="rosso")
    after = ends_at + timedelta(hours=1)
    window = {"start": f"{ends_at:%H:%M}", "end": f"{after:%H:%M}", "timezone": "UTC", "scope": "all"}
    await app.gate_control.add_blackout(window)
    with pytest.raises(InBlackout) as refused:
        await app.posts.schedule(make_request())
    assert refused.value.free_at == after


async def test_refusal_says_if_there_is_no_free_time(app: Postino) -> None:
    await app.gate_control.add_blackout({"scope": "all", "start": "00:00", "end": "00:00", "timezone": "UTC"})
    with pytest.raises(InBlackout, match="no free time within a year") as refused:
        await app.posts.schedule(make_request())
    assert refused.value.free_at is None


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope["scope"])
async def test_allow_blackout_publishes_this_post_only(
    app: Postino, network: FakeNetwork, scope: dict[str, Any]
) -> None:
    waiting = await create_post(app, make_request("planned", at=datetime.now(UTC)))
    await add_blackout(app, **scope)
    async with run_worker(app):
        urgent = await create_post(app, make_request("urgent", allow_blackout=True))
        assert (await wait_for_end(app, urgent.job)).state is State.COMPLETED
        assert (await app.store.job(waiting.job.id)).state is State.PENDING
    assert network.posts == ["urgent"]


async def test_pause_holds_a_post_that_ignores_blackouts(app: Postino, network: FakeNetwork) -> None:
    await add_blackout(app)
    await app.pause(Scope.ACCOUNT, ANNA, reason="wait")
    async with run_worker(app):
        held = await create_post(app, make_request("urgent", allow_blackout=True))
        free = await create_post(app, make_request("other", allow_blackout=True, key="k"))
        await app.resume(Scope.ACCOUNT, ANNA)
        await wait_for_end(app, held.job)
        await wait_for_end(app, free.job)
    assert sorted(network.posts) == ["other", "urgent"]


async def test_known_key_returns_the_known_post_in_a_blackout(app: Postino) -> None:
    first = await create_post(app, make_request(key="k"))
    await add_blackout(app)
    (again,) = await app.posts.schedule(make_request(key="k"))
    assert (again.created, again.post.job.id) == (False, first.job.id)


async def test_scheduled_post_keeps_its_time_and_notes_the_delay(app: Postino) -> None:
    night = {"scope": "brand", "brand": "rosso", "start": "22:00", "end": "07:00", "timezone": "Europe/Rome"}
    await app.gate_control.add_blackout(night | {"reason": "people sleep"})
    at = datetime(2035, 6, 1, 21, tzinfo=UTC)
    post = await create_post(app, make_request(at=at))
    assert post.job.run_at == at, "blackouts do not move what was asked for"
    [note] = await app.posts.describe_blackouts([post])
    assert "the post goes out at 2035-06-02T05:00:00Z" in note
    assert "people sleep" in note
    assert await app.posts.describe_blackouts([await create_post(app, make_request(at=at - timedelta(hours=2)))]) == []
    allowed = await create_post(app, make_request("special", at=at, allow_blackout=True))
    assert (await app.posts.describe_blackouts([allowed]), allowed.job.ignore_blackouts) == ([], True)


async def test_note_says_if_a_blackout_makes_a_post_miss_publish_until(app: Postino) -> None:
    at = datetime(2035, 6, 1, 12, tzinfo=UTC)
    await app.gate_control.add_blackout({"scope": "all", "start": "12:00", "end": "14:00", "timezone": "UTC"})
    [note] = await app.posts.describe_blackouts(
        [await create_post(app, make_request(at=at, publish_until_at=at + timedelta(hours=1)))]
    )
    assert "it will be missed" in note


async def test_scheduled_post_cannot_be_published_now_in_a_blackout(app: Postino) -> None:
    at = datetime(2035, 6, 1, 12, tzinfo=UTC)
    post = await create_post(app, make_request(at=at))
    ends_at = await add_blackout(app, scope="account", account=ANNA)
    with pytest.raises(InBlackout, match="reschedule the post") as refused:
        await app.posts.check_can_publish_now(post.job.id)
    assert refused.value.free_at == ends_at
    for blackout in await app.gate_control.blackouts():
        await app.gate_control.remove_blackout(blackout.id)
    await app.posts.check_can_publish_now(post.job.id)


async def test_cancelled_or_exempt_posts_are_not_refused_for_a_blackout(app: Postino) -> None:
    at = datetime(2035, 6, 1, 12, tzinfo=UTC)
    cancelled, allowed = (
        await create_post(app, make_request(at=at)),
        await create_post(app, make_request("other", at=at, allow_blackout=True)),
    )
    await app.cancel(cancelled.job.id)
    await add_blackout(app)
    await app.posts.check_can_publish_now(cancelled.job.id)
    await app.posts.check_can_publish_now(allowed.job.id)
