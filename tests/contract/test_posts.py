"""Posts: inserted with their jobs or not at all, never twice by mistake, missed rather than late."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from postino.config import RetentionConfig
from postino.errors import Conflict, NotFound, WrongUse
from postino.rules.settlement import DeadLetterCause
from postino.values.event import EventType
from postino.values.job import State, new_id
from postino.values.outcome import Done, Reject, Retry
from postino.values.post import AccountState, NewPost, PostFilter
from tests.contract.harness import ME, StoreHarness, ids
from tests.contract.sample_posts import account, content, create, make_spec, rows

# Creating


async def test_post_has_its_job_content_and_account_state(harness: StoreHarness) -> None:
    await harness.store.save_account(account())
    until = harness.clock.later(hours=1)
    result = content("Grüße", brand="rosso", user_id="u1")
    (made,) = await create(harness.store, make_spec(key="k", until=until, brand="rosso"), new_content=result)
    assert made.created
    post = await harness.store.post(made.job.id)
    assert post.job == await harness.store.job(made.job.id)
    assert (post.content_id, post.content, post.version) == (result.id, "Grüße", 1)
    assert (post.publish_until_at, post.account_state) == (until, AccountState.ACTIVE)


async def test_a_post_whose_account_is_gone_is_still_there(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec())
    assert (await harness.store.post(made.job.id)).account_state is None


async def test_unknown_post_and_plain_job_are_not_found_as_posts(harness: StoreHarness) -> None:
    job = await harness.put()
    for unknown in (new_id(), job.id):
        with pytest.raises(NotFound, match=f"Post {unknown} does not exist"):
            await harness.store.post(unknown)


async def test_one_content_to_many_accounts_is_one_content_and_many_posts(harness: StoreHarness) -> None:
    result = content()
    made = await create(
        harness.store, make_spec("anna"), make_spec("bruno"), make_spec("carla", channel="bluesky"), new_content=result
    )
    assert rows(harness) == (1, 3, 3, 0)
    assert {(await harness.store.post(item.job.id)).content_id for item in made} == {result.id}
    assert len(await harness.take()) == 3, "each is a job of its own"


async def test_known_key_returns_the_existing_post(harness: StoreHarness) -> None:
    (first,) = await create(harness.store, make_spec(key="k"))
    (known,) = await create(harness.store, make_spec(key="k", fingerprint="other"), new_content=content("other"))
    assert (known.created, known.job) == (False, first.job)
    assert rows(harness) == (1, 1, 1, 1)


async def test_only_posts_with_new_keys_are_created(harness: StoreHarness) -> None:
    (first,) = await create(harness.store, make_spec("anna", key="k1"))
    result = content("both")
    made = await create(harness.store, make_spec("anna", key="k1"), make_spec("bruno", key="k2"), new_content=result)
    assert [item.created for item in made] == [False, True]
    assert (await harness.store.post(first.job.id)).content == "hello"
    assert (await harness.store.post(made[1].job.id)).content == "both"


async def test_repetition_after_a_lost_response_creates_nothing_twice(harness: StoreHarness) -> None:
    posts, result = [make_spec("anna", guard=True), make_spec("bruno", guard=True)], content()
    first = await create(harness.store, *posts, new_content=result)
    again = await create(harness.store, *posts, new_content=result, again=True)
    assert [item.job.id for item in again] == [item.job.id for item in first]
    assert rows(harness) == (1, 2, 2, 0)


async def test_repetition_creates_all_if_the_first_call_was_lost(harness: StoreHarness) -> None:
    made = await create(harness.store, make_spec("anna", guard=True), make_spec("bruno", key="k"), again=True)
    assert [item.created for item in made] == [True, True]
    assert rows(harness) == (1, 2, 2, 1)


async def test_many_calls_with_one_key_make_one_post(harness: StoreHarness) -> None:
    others = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    made = await asyncio.gather(*(create(others[turn % 3], make_spec(key="k")) for turn in range(12)))
    assert len({item.job.id for (item,) in made}) == 1
    assert sum(item.created for (item,) in made) == 1
    assert rows(harness) == (1, 1, 1, 1)


# Editing


def make_edit(post_id: UUID) -> NewPost:
    return NewPost(id=post_id, account="anna", network="mastodon", fingerprint="better")


async def test_an_edit_changes_content_payload_fingerprint_and_adds_a_key(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec(key="k1", guard=True))
    result = content("better")
    job = await harness.store.edit_post(made.job.id, result, make_edit(made.job.id), b"better", "k2", ME)
    assert (job.payload, job.idempotency_key) == (b"better", "k1"), "the key is fixed at creation"
    post = await harness.store.post(job.id)
    assert (post.content_id, post.content, post.version) == (result.id, "better", 2)
    for key in ("k1", "k2"):
        (known,) = await create(harness.store, make_spec(key=key))
        assert (known.created, known.job.id) == (False, job.id)
    await create(harness.store, make_spec(guard=True))  # what it was before is not what it is now
    with pytest.raises(Conflict):
        await create(harness.store, make_spec(guard=True, fingerprint="better"))
    assert (await harness.list_event_types(job.id))[-1] == EventType.EDITED


async def test_edit_back_to_the_first_content_keeps_its_own_key(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec(key="k1"))
    for key in ("k2", "k1"):
        await harness.store.edit_post(made.job.id, content(key), make_edit(made.job.id), b"{}", key, ME)
    post = await harness.store.post(made.job.id)
    assert (post.content, post.version) == ("k1", 3)


async def test_edit_into_another_post_is_refused(harness: StoreHarness) -> None:
    first, second = await create(harness.store, make_spec("anna", key="k1"), make_spec("bruno", key="k2"))
    claimed = (await harness.take(1))[0]
    await harness.remember(claimed, "picture")
    assert await harness.end(claimed, Retry("later"))
    one, other = (first, second) if claimed.id == first.job.id else (second, first)
    before, known = await harness.store.post(one.job.id), await harness.store.ledger(one.job.id)
    counted, trail = rows(harness), await harness.store.audit()
    key = other.job.idempotency_key
    with pytest.raises(Conflict, match=f"the same as post {other.job.id}. Nothing was changed"):
        await harness.store.edit_post(one.job.id, content("other"), make_edit(one.job.id), b"other", key, ME)
    assert await harness.store.post(one.job.id) == before
    assert (await harness.store.ledger(one.job.id), rows(harness), await harness.store.audit()) == (
        known,
        counted,
        trail,
    )


async def test_running_or_sent_post_is_not_edited(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec(key="k1"))
    job = await harness.take_one()

    async def refused() -> None:
        with pytest.raises(Conflict):
            await harness.store.edit_post(job.id, content("other"), make_edit(job.id), b"other", "k2", ME)

    await refused()
    await harness.intend(job)
    await harness.accept(job, "r1")
    assert await harness.end(await harness.store.job(job.id), Retry("later"))
    await refused()
    post = await harness.store.post(made.job.id)
    assert (post.content, post.version, rows(harness)) == ("hello", 1, (1, 1, 1, 1))


async def test_a_job_that_is_no_post_is_not_edited_as_one(harness: StoreHarness) -> None:
    job = await harness.put()
    with pytest.raises(NotFound, match="does not exist"):
        await harness.store.edit_post(job.id, content("other"), make_edit(job.id), b"other", "k2", ME)
    assert (await harness.store.job(job.id)).payload == b"{}"


async def test_concurrent_edits_count_versions_one_by_one(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec(key="k"))
    others = [harness.store, await harness.open_another_store()]
    edits = [
        others[turn % 2].edit_post(made.job.id, content(str(turn)), make_edit(made.job.id), b"{}", str(turn), ME)
        for turn in range(6)
    ]
    await asyncio.gather(*edits)
    assert (await harness.store.post(made.job.id)).version == 7


# Missed


async def test_post_past_its_deadline_fails_as_missed(harness: StoreHarness) -> None:
    until = harness.clock.later(minutes=5)
    late, early, unlimited = await create(
        harness.store,
        make_spec("anna", until=until, run_at=harness.clock.later(minutes=1)),
        make_spec("bruno", until=until + timedelta(hours=1)),
        make_spec("carla"),
    )
    harness.clock.turn(minutes=4, seconds=59)
    assert await harness.store.fail_missed_posts(3600) == []
    missed_at = harness.clock.turn(seconds=1)
    assert [job.id for job in await harness.store.fail_missed_posts(3600)] == [late.job.id]
    assert await harness.store.fail_missed_posts(3600) == []
    job = await harness.store.job(late.job.id)
    assert (job.state, job.finished_at) == (State.FAILED, missed_at)
    assert "missed" in (job.last_error or "")
    assert (await harness.store.dead_letter(job.id)).cause is DeadLetterCause.MISSED
    assert await harness.list_event_types(job.id) == [EventType.POST_SCHEDULED, EventType.FAILED, EventType.POST_FAILED]
    (line,) = await harness.store.attempts(job.id)
    assert (line.worker, line.outcome, line.number) == ("postino", "failed", 0)
    assert ids(await harness.take()) == {early.job.id, unlimited.job.id}


async def test_running_or_sent_post_is_never_missed(harness: StoreHarness) -> None:
    until = harness.clock.later(minutes=1)
    await create(harness.store, *(make_spec(name, until=until) for name in ("anna", "bruno", "carla", "dora")))
    running, doubtful, refused, half = await harness.take()
    for job in (doubtful, refused, half):
        await harness.intend(job)
    await harness.refuse(refused)
    await harness.accept(half, "r1")
    for job in (doubtful, refused, half):
        assert await harness.end(await harness.store.job(job.id), Retry("later"))
    harness.clock.turn(hours=1)
    assert ids([*await harness.store.fail_missed_posts(3600)]) == {refused.id}
    states = [await harness.state(job) for job in (running, doubtful, half)]
    assert states == [State.RUNNING, State.UNCERTAIN, State.PENDING]


async def test_lane_goes_on_behind_a_missed_post(harness: StoreHarness) -> None:
    await create(harness.store, make_spec(until=harness.clock.later(minutes=1)))
    (next_one,) = await create(harness.store, make_spec(fingerprint="next"))
    harness.clock.turn(minutes=2)
    await harness.store.fail_missed_posts(3600)
    assert ids(await harness.take()) == {next_one.job.id}


async def test_concurrent_duties_fail_each_missed_post_once(harness: StoreHarness) -> None:
    until = harness.clock.later(minutes=1)
    made = await create(harness.store, *(make_spec(f"account {number}", until=until) for number in range(20)))
    harness.clock.turn(hours=1)
    others = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    missed = await asyncio.gather(*(store.fail_missed_posts(3600) for store in others))
    assert sorted(job.id for some in missed for job in some) == sorted(item.job.id for item in made)


# Lists


async def test_posts_are_listed_newest_first_by_filter_and_page(harness: StoreHarness) -> None:
    await harness.store.save_account(account("anna"))
    await harness.put(), await harness.put()  # jobs that are no posts
    result = content("both", brand="rosso")
    posts = [
        make_spec("anna", brand="rosso"),
        make_spec("bruno", channel="bluesky", brand="rosso"),
        make_spec("anna", fingerprint="2"),
    ]
    first, second = [found.job.id for found in await create(harness.store, *posts[:2], new_content=result)]
    (third,) = [found.job.id for found in await create(harness.store, posts[2])]
    await harness.store.cancel_job(second, ME)

    async def found(**filter_: object) -> list[UUID]:
        return [post.job.id for post in await harness.store.posts(PostFilter(**filter_))]  # type: ignore[arg-type]

    assert await found() == [third, second, first]
    assert await found(account="anna") == [third, first]
    assert await found(network="bluesky") == [second]
    assert await found(brand="rosso") == [second, first]
    assert await found(content_id=result.id) == [second, first]
    assert await found(states=(State.CANCELLED,)) == [second]
    assert await found(states=(State.CANCELLED, State.PENDING)) == [third, second, first]
    assert await found(account="anna", brand="rosso") == [first]
    assert await found(account="nobody") == []
    assert await found(limit=2) == [third, second]
    assert await found(limit=2, before=second) == [first]
    assert await found(before=first) == []
    assert (await harness.store.posts(PostFilter(limit=1)))[0] == await harness.store.post(third)


async def test_a_finished_and_a_replayed_post_are_each_listed_once(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec())
    assert await harness.end(await harness.take_one(), Reject("no"))
    await harness.store.replay_dead_letter(made.job.id, None, True, ME)
    (post,) = await harness.store.posts(PostFilter())
    assert (post.job.state, post.job.generation) == (State.PENDING, 2)
    assert await harness.end(await harness.take_one(), Done(remote_id="r1"))
    (post,) = await harness.store.posts(PostFilter())
    assert (post.job.state, post.job.remote_id) == (State.COMPLETED, "r1")


@pytest.mark.parametrize("force", [False, True])
async def test_replay_of_a_post_never_replaces_its_payload(harness: StoreHarness, force: bool) -> None:
    (made,) = await create(harness.store, make_spec(payload=b'{"text": "hello"}'))
    assert await harness.end(await harness.take_one(), Reject("no"))
    before = await harness.store.post(made.job.id)
    with pytest.raises(WrongUse, match="create a new post") as raised:
        await harness.store.replay_dead_letter(made.job.id, b'{"text": "other"}', force, ME)
    assert raised.value.field == "payload"
    assert await harness.store.post(made.job.id) == before
    await harness.store.replay_dead_letter(made.job.id, None, True, ME)
    assert (await harness.take_one()).payload == made.job.payload


async def test_payload_of_a_waiting_post_changes_only_with_its_content(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec())
    with pytest.raises(WrongUse, match="postino posts edit"):
        await harness.store.edit_job(made.job.id, b"other", ME)
    assert (await harness.store.job(made.job.id)).payload == made.job.payload
    assert await harness.store.audit() == []


async def test_replayed_missed_post_has_no_deadline(harness: StoreHarness) -> None:
    (made,) = await create(harness.store, make_spec("anna", until=harness.clock.later(minutes=1)))
    harness.clock.turn(minutes=2)
    assert [job.id for job in await harness.store.fail_missed_posts(3600)] == [made.job.id]
    await harness.store.replay_dead_letter(made.job.id, None, False, ME)
    assert await harness.store.fail_missed_posts(3600) == []
    assert [job.id for job in await harness.take()] == [made.job.id]


async def test_post_is_never_pruned_and_can_always_be_replayed(harness: StoreHarness) -> None:
    out, failed = await create(harness.store, make_spec("anna"), make_spec("bruno"))
    for job in await harness.take():
        await harness.end(job, Done(remote_id="r1") if job.id == out.job.id else Reject("no"))
    before = await harness.store.post(out.job.id)
    harness.clock.turn(days=11)
    await harness.store.prune(RetentionConfig(finished_days=10))
    assert harness.database.sql("SELECT count(*) FROM {finished_jobs}") == [(0,)]
    assert await harness.store.post(out.job.id) == before
    await harness.store.replay_dead_letter(failed.job.id, None, True, ME)
    (again,) = [post for post in await harness.store.posts(PostFilter()) if post.job.id == failed.job.id]
    assert (again.job.state, again.job.generation) == (State.PENDING, 2)
