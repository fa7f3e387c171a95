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
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import PostSpec, account, content, create, make_spec

CREATED = {"network": "mastodon", "account": "anna", "brand": "rosso"}


async def create_post(harness: StoreHarness, text: NewContent | None = None, **fields: Any) -> Job:
    [created] = await create(harness.store, make_post(**fields), new_content=text)
    return created.job


def make_post(**fields: Any) -> PostSpec:
    return make_spec(**{"brand": "rosso", **fields})


async def claim_post(harness: StoreHarness, **fields: Any) -> Job:
    post = await create_post(harness, **fields)
    (claimed,) = await harness.take()
    assert claimed.id == post.id
    return claimed


async def list_post_events(harness: StoreHarness, post_id: UUID) -> list[Event]:
    return [event for event in await harness.events() if event.job_id == post_id and event.type.startswith("post.")]


async def get_last_event(harness: StoreHarness, job: Job) -> dict[str, Any]:
    """Return the data of the last event of a post, without the fields that all its events share."""
    event = (await list_post_events(harness, job.id))[-1]
    shared = {**CREATED, "post_id": str(job.id), "scheduled_at": format_time(job.scheduled_at)}
    assert event.data.items() >= shared.items()
    assert str(UUID(event.data["content_id"])) == event.data["content_id"]
    return {name: value for name, value in event.data.items() if name not in {*shared, "content_id"}}


def format_time(at: Any) -> str:
    return str(at.isoformat(timespec="microseconds").replace("+00:00", "Z"))


async def test_created_posts_are_scheduled_with_their_content(harness: StoreHarness) -> None:
    result = content()
    first, again = make_post(), make_post(account="bruno", run_at=harness.clock.later(hours=1))
    await create(harness.store, first, again, new_content=result)
    for _, job in (first, again):
        [event] = await list_post_events(harness, job.id)
        stored = await harness.store.job(job.id)
        assert event.type == EventType.POST_SCHEDULED
        assert event.data == {
            "post_id": str(job.id), "content_id": str(result.id), "network": "mastodon", "account": job.account,
            "brand": "rosso", "scheduled_at": format_time(stored.scheduled_at), "status": "scheduled",
        }  # fmt: skip


async def test_a_post_that_exists_already_is_not_scheduled_again(harness: StoreHarness) -> None:
    post = make_post(key="k")
    await create(harness.store, post)
    [known] = await create(harness.store, make_post(key="k"))
    assert not known.created
    assert [event.type for event in await list_post_events(harness, post[1].id)] == [EventType.POST_SCHEDULED]


async def test_a_published_post_has_its_events_in_order(harness: StoreHarness) -> None:
    claimed = await claim_post(harness)
    harness.clock.turn(seconds=3)
    await harness.end(claimed, Done({"url": "https://there/7"}, "7"))
    events = await harness.events()
    assert [event.type for event in events] == [
        "post.scheduled", "job.claimed", "post.publishing", "job.completed", "post.published",
    ]  # fmt: skip
    assert events[2].data["status"] == "publishing"
    assert events[2].data["attempts"] == 1
    assert await get_last_event(harness, claimed) == {
        "status": "published", "remote_id": "7", "url": "https://there/7",
        "published_at": format_time(harness.clock.now),
    }  # fmt: skip
    finished = await harness.store.job(claimed.id)
    assert format_time(finished.finished_at) == events[-1].data["published_at"]


@pytest.mark.parametrize(
    ("outcome", "type_", "fields"),
    [
        (Reject("Too long."), "failed", {"cause": "permanent", "last_error": "Too long.", "attempts": 1}),
        (Unknown("No answer."), "uncertain", {"last_error": "No answer.", "attempts": 1}),
    ],
)
async def test_the_event_of_a_failed_post_has_the_reason(
    harness: StoreHarness, outcome: Outcome, type_: str, fields: dict[str, Any]
) -> None:
    claimed = await claim_post(harness)
    await harness.end(claimed, outcome)
    assert (await list_post_events(harness, claimed.id))[-1].type == f"post.{type_}"
    assert await get_last_event(harness, claimed) == {"status": type_, **fields}


async def test_the_event_of_an_uncertain_post_has_the_time_of_its_lookup(harness: StoreHarness) -> None:
    claimed = await claim_post(harness)
    look_at = harness.clock.later(seconds=40)
    await harness.end(claimed, Unknown("No answer.", look_at))
    assert (await get_last_event(harness, claimed))["until"] == format_time(look_at)


@pytest.mark.parametrize("kind", [Defer, GateClosed, RateLimited])
async def test_a_deferred_post_says_until_when_and_why(harness: StoreHarness, kind: type[Defer]) -> None:
    claimed = await claim_post(harness)
    harness.clock.turn(seconds=5)
    until_at = harness.clock.later(seconds=90)
    await harness.end(claimed, kind(until_at, "Too many requests."))
    assert (await list_post_events(harness, claimed.id))[-1].type == EventType.POST_DEFERRED
    assert await get_last_event(harness, claimed) == {
        "status": "scheduled", "until": format_time(until_at), "reason": "Too many requests.",
    }  # fmt: skip


async def test_a_deferral_without_a_known_end_has_no_time(harness: StoreHarness) -> None:
    claimed = await claim_post(harness)
    harness.clock.turn(seconds=5)
    await harness.end(claimed, GateClosed(harness.clock(), "mastodon is paused."))
    assert await get_last_event(harness, claimed) == {"status": "scheduled", "reason": "mastodon is paused."}


@pytest.mark.parametrize("in_doubt", [False, True])
async def test_after_a_rate_limit_no_event_has_a_run_at_in_the_past(harness: StoreHarness, in_doubt: bool) -> None:
    claimed = await claim_post(harness)
    if in_doubt:
        await harness.intend(claimed)
        claimed = await harness.store.job(claimed.id)
    harness.clock.turn(minutes=5)
    until_at = harness.clock.later(seconds=90)
    await harness.end(claimed, RateLimited(until_at, "Too many requests."))
    [event] = [event for event in await harness.events() if event.type in ("job.deferred", "job.uncertain")]
    assert event.data["run_at"] == until_at.isoformat()
    assert (await harness.store.job(claimed.id)).run_at != until_at, "it keeps its place in its lane"


async def test_a_retry_has_no_event_until_it_is_published_again(harness: StoreHarness) -> None:
    claimed = await claim_post(harness)
    await harness.end(claimed, Retry("Status 503."))
    harness.clock.turn(hours=1)
    again = await harness.take_one()
    assert [event.type for event in await list_post_events(harness, claimed.id)] == [
        "post.scheduled", "post.publishing", "post.publishing",
    ]  # fmt: skip
    assert await get_last_event(harness, again) == {"status": "publishing", "attempts": 2}


async def test_the_event_of_a_cancelled_post_names_who_cancelled_it(harness: StoreHarness) -> None:
    post = await create_post(harness)
    await harness.store.cancel_job(post.id, ME)
    assert (await list_post_events(harness, post.id))[-1].type == EventType.POST_CANCELLED
    assert await get_last_event(harness, post) == {
        "status": "cancelled", "cancelled_by": ME.actor, "reason": ME.reason,
    }  # fmt: skip


async def test_a_rescheduled_or_replayed_post_is_scheduled_again(harness: StoreHarness) -> None:
    post = await create_post(harness, run_at=harness.clock.later(hours=1))
    await harness.store.reschedule_post(post.id, harness.clock.later(hours=2), "another key", ME)
    moved = await harness.store.job(post.id)
    assert await get_last_event(harness, moved) == {"status": "scheduled"}
    harness.clock.turn(hours=2)
    await harness.end(await harness.take_one(), Reject("Too long."))
    await harness.store.replay_dead_letter(post.id, None, True, ME)
    types = [event.type for event in await list_post_events(harness, post.id)]
    assert types == ["post.scheduled", "post.scheduled", "post.publishing", "post.failed", "post.scheduled"]


async def test_a_missed_post_fails_with_its_cause(harness: StoreHarness) -> None:
    claimed = await claim_post(harness)
    await harness.settle(claimed, settle_missed())
    assert (await get_last_event(harness, claimed))["cause"] == "missed"


async def test_a_lost_claim_writes_no_event_of_the_post(harness: StoreHarness) -> None:
    claimed = await claim_post(harness)
    assert await harness.end(claimed, Done(remote_id="7"))
    before = await harness.events()
    assert not await harness.end(claimed, Done(remote_id="7"))
    assert await harness.events() == before


async def test_a_settlement_repeated_after_a_lost_response_writes_its_events_once(harness: StoreHarness) -> None:
    claimed = await claim_post(harness)
    settled = SettledJob(claimed, rescue_job(claimed, harness.clock()))
    assert await harness.end(claimed, Reject("Too long."))
    before = await harness.events()
    await harness.store.settle([settled], again=True)
    assert await harness.events() == before


async def test_a_job_that_is_no_post_has_no_events_of_posts(harness: StoreHarness) -> None:
    for outcome in (
        Done(remote_id="7"),
        Reject("no"),
        Unknown("no"),
        Defer(harness.clock() + timedelta(hours=9), "no"),
    ):
        await harness.run(outcome, account="anna", channel="mastodon")
        harness.clock.turn(seconds=1)
    job = await harness.put(run_at=harness.clock.later(hours=1))
    await harness.store.cancel_job(job.id, ME)
    assert not [event.type for event in await harness.events() if event.type.startswith("post.")]


@pytest.mark.parametrize(
    ("state", "type_"),
    [
        (AccountState.TOKEN_EXPIRED, EventType.ACCOUNT_TOKEN_EXPIRED),
        (AccountState.SUSPENDED, EventType.ACCOUNT_SUSPENDED),
        (AccountState.LOCKED, EventType.ACCOUNT_LOCKED),
    ],
)
async def test_a_held_account_is_reported_once(harness: StoreHarness, state: AccountState, type_: EventType) -> None:
    await harness.store.add_account(account("anna", brand="rosso"))
    for _ in range(2):
        await harness.store.set_account_state("anna", state, "Sign in there.", ME)
    [event] = [event for event in await harness.events() if event.type == type_]
    assert event.data == {"account": "anna", "network": "mastodon", "reason": "Sign in there.", "brand": "rosso"}
