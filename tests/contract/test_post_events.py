"""Events of posts: each change of a post is one event with the fields people need; a job that is no post has none."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from postino.rules.settlement import rescue_job, settle_missed
from postino.stores.records import SettledJob
from postino.values.event import Event, EventType
from postino.values.job import Job
from postino.values.outcome import Defer, Done, GateClosed, Outcome, RateLimited, Reject, Retry, Unknown
from postino.values.post import AccountState, NewContent
from tests.contract.desk import ME, Desk
from tests.contract.posting import Wanted, account, content, create, wanted

CREATED = {"network": "mastodon", "account": "anna", "brand": "rosso"}


async def create_post(desk: Desk, text: NewContent | None = None, **fields: Any) -> Job:
    [created] = await create(desk.store, make_post(**fields), said=text)
    return created.job


def make_post(**fields: Any) -> Wanted:
    return wanted(**{"brand": "rosso", **fields})


async def claim_post(desk: Desk, **fields: Any) -> Job:
    post = await create_post(desk, **fields)
    (claimed,) = await desk.take()
    assert claimed.id == post.id
    return claimed


async def list_post_events(desk: Desk, post_id: UUID) -> list[Event]:
    return [event for event in await desk.events() if event.job_id == post_id and event.type.startswith("post.")]


async def get_last_event(desk: Desk, job: Job) -> dict[str, Any]:
    """Return the data of the last event of a post, without the fields that all its events share."""
    event = (await list_post_events(desk, job.id))[-1]
    shared = {**CREATED, "post_id": str(job.id), "scheduled_at": format_time(job.scheduled_at)}
    assert event.data.items() >= shared.items()
    assert str(UUID(event.data["content_id"])) == event.data["content_id"]
    return {name: value for name, value in event.data.items() if name not in {*shared, "content_id"}}


def format_time(at: Any) -> str:
    return str(at.isoformat(timespec="microseconds").replace("+00:00", "Z"))


async def test_created_posts_are_scheduled_with_their_content(desk: Desk) -> None:
    said = content()
    first, again = make_post(), make_post(account="bruno", run_at=desk.clock.later(hours=1))
    await create(desk.store, first, again, said=said)
    for _, job in (first, again):
        [event] = await list_post_events(desk, job.id)
        stored = await desk.store.job(job.id)
        assert event.type == EventType.POST_SCHEDULED
        assert event.data == {
            "post_id": str(job.id), "content_id": str(said.id), "network": "mastodon", "account": job.account,
            "brand": "rosso", "scheduled_at": format_time(stored.scheduled_at), "status": "scheduled",
        }  # fmt: skip


async def test_a_post_that_exists_already_is_not_scheduled_again(desk: Desk) -> None:
    post = make_post(key="k")
    await create(desk.store, post)
    [known] = await create(desk.store, make_post(key="k"))
    assert not known.created
    assert [event.type for event in await list_post_events(desk, post[1].id)] == [EventType.POST_SCHEDULED]


async def test_a_published_post_has_its_events_in_order(desk: Desk) -> None:
    claimed = await claim_post(desk)
    desk.clock.turn(seconds=3)
    await desk.end(claimed, Done({"url": "https://there/7"}, "7"))
    events = await desk.events()
    assert [event.type for event in events] == [
        "post.scheduled", "job.claimed", "post.publishing", "job.completed", "post.published",
    ]  # fmt: skip
    assert events[2].data["status"] == "publishing"
    assert events[2].data["attempts"] == 1
    assert await get_last_event(desk, claimed) == {
        "status": "published", "remote_id": "7", "url": "https://there/7", "published_at": format_time(desk.clock.now),
    }  # fmt: skip
    finished = await desk.store.job(claimed.id)
    assert format_time(finished.finished_at) == events[-1].data["published_at"]


@pytest.mark.parametrize(
    ("outcome", "type_", "fields"),
    [
        (Reject("Too long."), "failed", {"cause": "permanent", "last_error": "Too long.", "attempts": 1}),
        (Unknown("No answer."), "uncertain", {"last_error": "No answer.", "attempts": 1}),
    ],
)
async def test_a_post_that_does_not_succeed_says_why(
    desk: Desk, outcome: Outcome, type_: str, fields: dict[str, Any]
) -> None:
    claimed = await claim_post(desk)
    await desk.end(claimed, outcome)
    assert (await list_post_events(desk, claimed.id))[-1].type == f"post.{type_}"
    assert await get_last_event(desk, claimed) == {"status": type_, **fields}


async def test_an_uncertain_post_says_when_the_network_is_asked(desk: Desk) -> None:
    claimed = await claim_post(desk)
    look_at = desk.clock.later(seconds=40)
    await desk.end(claimed, Unknown("No answer.", look_at))
    assert (await get_last_event(desk, claimed))["until"] == format_time(look_at)


@pytest.mark.parametrize("kind", [Defer, GateClosed, RateLimited])
async def test_a_deferred_post_says_until_when_and_why(desk: Desk, kind: type[Defer]) -> None:
    claimed = await claim_post(desk)
    desk.clock.turn(seconds=5)
    until_at = desk.clock.later(seconds=90)
    await desk.end(claimed, kind(until_at, "Too many requests."))
    assert (await list_post_events(desk, claimed.id))[-1].type == EventType.POST_DEFERRED
    assert await get_last_event(desk, claimed) == {
        "status": "scheduled", "until": format_time(until_at), "reason": "Too many requests.",
    }  # fmt: skip


async def test_a_deferral_without_a_known_end_has_no_time(desk: Desk) -> None:
    claimed = await claim_post(desk)
    desk.clock.turn(seconds=5)
    await desk.end(claimed, GateClosed(desk.clock(), "mastodon is paused."))
    assert await get_last_event(desk, claimed) == {"status": "scheduled", "reason": "mastodon is paused."}


@pytest.mark.parametrize("in_doubt", [False, True])
async def test_after_a_rate_limit_no_event_has_a_run_at_in_the_past(desk: Desk, in_doubt: bool) -> None:
    claimed = await claim_post(desk)
    if in_doubt:
        await desk.intend(claimed)
        claimed = await desk.store.job(claimed.id)
    desk.clock.turn(minutes=5)
    until_at = desk.clock.later(seconds=90)
    await desk.end(claimed, RateLimited(until_at, "Too many requests."))
    [event] = [event for event in await desk.events() if event.type in ("job.deferred", "job.uncertain")]
    assert event.data["run_at"] == until_at.isoformat()
    assert (await desk.store.job(claimed.id)).run_at != until_at, "it keeps its place in its lane"


async def test_a_retry_has_no_event_until_it_is_published_again(desk: Desk) -> None:
    claimed = await claim_post(desk)
    await desk.end(claimed, Retry("Status 503."))
    desk.clock.turn(hours=1)
    again = await desk.take_one()
    assert [event.type for event in await list_post_events(desk, claimed.id)] == [
        "post.scheduled", "post.publishing", "post.publishing",
    ]  # fmt: skip
    assert await get_last_event(desk, again) == {"status": "publishing", "attempts": 2}


async def test_a_cancelled_post_says_by_whom(desk: Desk) -> None:
    post = await create_post(desk)
    await desk.store.cancel_job(post.id, ME)
    assert (await list_post_events(desk, post.id))[-1].type == EventType.POST_CANCELLED
    assert await get_last_event(desk, post) == {
        "status": "cancelled", "cancelled_by": ME.actor, "reason": ME.reason,
    }  # fmt: skip


async def test_a_rescheduled_or_replayed_post_is_scheduled_again(desk: Desk) -> None:
    post = await create_post(desk, run_at=desk.clock.later(hours=1))
    await desk.store.reschedule_post(post.id, desk.clock.later(hours=2), "another key", ME)
    moved = await desk.store.job(post.id)
    assert await get_last_event(desk, moved) == {"status": "scheduled"}
    desk.clock.turn(hours=2)
    await desk.end(await desk.take_one(), Reject("Too long."))
    await desk.store.replay_dead_letter(post.id, None, True, ME)
    types = [event.type for event in await list_post_events(desk, post.id)]
    assert types == ["post.scheduled", "post.scheduled", "post.publishing", "post.failed", "post.scheduled"]


async def test_a_missed_post_fails_with_its_cause(desk: Desk) -> None:
    claimed = await claim_post(desk)
    await desk.settle(claimed, settle_missed())
    assert (await get_last_event(desk, claimed))["cause"] == "missed"


async def test_a_lost_claim_writes_no_event_of_the_post(desk: Desk) -> None:
    claimed = await claim_post(desk)
    assert await desk.end(claimed, Done(remote_id="7"))
    before = await desk.events()
    assert not await desk.end(claimed, Done(remote_id="7"))
    assert await desk.events() == before


async def test_a_settlement_repeated_after_a_lost_response_writes_its_events_once(desk: Desk) -> None:
    claimed = await claim_post(desk)
    settled = SettledJob(claimed, rescue_job(claimed, desk.clock()))
    assert await desk.end(claimed, Reject("Too long."))
    before = await desk.events()
    await desk.store.settle([settled], again=True)
    assert await desk.events() == before


async def test_a_job_that_is_no_post_has_no_events_of_posts(desk: Desk) -> None:
    for outcome in (Done(remote_id="7"), Reject("no"), Unknown("no"), Defer(desk.clock() + timedelta(hours=9), "no")):
        await desk.run(outcome, account="anna", channel="mastodon")
        desk.clock.turn(seconds=1)
    job = await desk.put(run_at=desk.clock.later(hours=1))
    await desk.store.cancel_job(job.id, ME)
    assert not [event.type for event in await desk.events() if event.type.startswith("post.")]


async def test_an_account_whose_token_expires_is_reported_once(desk: Desk) -> None:
    await desk.store.add_account(account("anna", brand="rosso"))
    for _ in range(2):
        await desk.store.set_account_state("anna", AccountState.TOKEN_EXPIRED, "Log in again.", ME)
    [event] = [event for event in await desk.events() if event.type == EventType.ACCOUNT_TOKEN_EXPIRED]
    assert event.data == {"account": "anna", "network": "mastodon", "reason": "Log in again.", "brand": "rosso"}
