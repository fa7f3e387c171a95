"""Posts of several callers in one transaction: each caller gets the same result as alone."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from postino.engine import store_retry
from postino.engine.enqueue import PostBatcher
from postino.errors import Conflict, StoreUnreachable
from postino.stores.records import AuditContext
from postino.values.job import new_id
from postino.values.post import AccountState, Draft, IdempotentRequest, NewPosts, ResponseRecorder, StoredResponse
from tests.contract.harness import StoreHarness
from tests.contract.sample_posts import account, content, make_spec, new_posts, rows

LATER = datetime(2030, 1, 1, tzinfo=UTC)


def make_response(made: Any) -> StoredResponse:
    return StoredResponse(201, " ".join(f"{post.content} {created}" for post, created in made))


def make_request(key: str, request: str = "a") -> IdempotentRequest:
    return IdempotentRequest("key:1", key, request * 64, "POST /v1/posts")


def new_keyed_post(key: str, text: str, request: str = "a") -> NewPosts:
    return new_posts(
        make_spec(run_at=LATER),
        new_content=content(text),
        once=ResponseRecorder(make_request(key, request), make_response),
    )


async def test_each_caller_of_a_batch_gets_its_stored_posts(harness: StoreHarness) -> None:
    await harness.store.save_account(account("anna"))
    await harness.store.set_account_state("anna", AccountState.PAUSED, None, AuditContext("maria"))
    several = new_posts(
        make_spec("anna"), make_spec("bert", until=LATER, ignore_blackouts=True), new_content=content("both")
    )
    made = await harness.store.create_posts(
        [new_posts(make_spec("anna", run_at=LATER), new_content=content("one")), several]
    )
    assert [[one.post.content for one in those] for those in made] == [["one"], ["both", "both"]]
    for written in [one for those in made for one in those]:
        assert written == (await harness.store.post(written.post.job.id), True)
    assert rows(harness) == (2, 3, 3, 0)


async def test_equal_requests_in_a_batch_are_one_post(harness: StoreHarness) -> None:
    first, second = ([make_spec(key="plan", run_at=LATER)] for _ in range(2))
    [[one], [other]] = await harness.store.create_posts([new_posts(*first), new_posts(*second)])
    assert (one.created, other.created) == (True, False)
    assert one.post == other.post
    assert rows(harness) == (1, 1, 1, 1)


async def test_second_request_with_a_key_in_a_batch_gets_the_first_response(
    harness: StoreHarness,
) -> None:
    made = await harness.store.create_posts(
        [new_keyed_post("k", "one"), new_keyed_post("k", "two"), new_keyed_post("l", "three")]
    )
    assert [len(those) for those in made] == [1, 0, 1]
    assert await harness.store.stored_response(make_request("k")) == StoredResponse(201, "one True")
    assert await harness.store.stored_response(make_request("l")) == StoredResponse(201, "three True")
    assert rows(harness) == (2, 2, 2, 0)


async def test_refused_request_does_not_fail_its_batch(harness: StoreHarness) -> None:
    post_batcher = PostBatcher(harness.store)
    await post_batcher.create(new_keyed_post("k", "first"))
    numbered = [new_keyed_post(f"k{number}", str(number)) for number in range(9)]
    ended = await asyncio.gather(
        *map(post_batcher.create, [*numbered[:4], new_keyed_post("k", "another", "b"), *numbered[4:]]),
        return_exceptions=True,
    )
    assert [type(end) for end in ended] == [list] * 4 + [Conflict] + [list] * 5
    assert rows(harness) == (10, 10, 10, 0)


async def test_many_callers_at_once_on_several_stores_make_each_post_once(harness: StoreHarness) -> None:
    creators = [PostBatcher(harness.store), PostBatcher(await harness.open_another_store())]
    both = [
        post_batcher.create(new_keyed_post(f"k{number % 20}", "same"))
        for number in range(60)
        for post_batcher in creators
    ]
    made = await asyncio.gather(*both)
    assert sum(map(len, made)) == 20
    assert rows(harness) == (20, 20, 20, 0)


async def test_duplicate_in_a_batch_is_refused_alone(harness: StoreHarness) -> None:
    post_batcher = PostBatcher(harness.store)
    await post_batcher.create(new_posts(make_spec(guard=True)))
    ended = await asyncio.gather(
        post_batcher.create(new_posts(make_spec(guard=True))),
        post_batcher.create(new_keyed_post("k", "one")),
        return_exceptions=True,
    )
    assert isinstance(ended[0], Conflict)
    assert len(ended[1]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [[], ["bert"], ["carl", "anna", "nobody", "anna"]])
async def test_accounts_are_found_by_their_names_in_their_order(harness: StoreHarness, names: list[str]) -> None:
    for name in ("anna", "bert", "carl"):
        await harness.store.save_account(account(name))
    there = [name for name in dict.fromkeys(names) if name != "nobody"]
    assert [item.id for item in await harness.store.accounts_by_id(names)] == there


async def test_committed_batch_with_a_lost_response_is_not_inserted_again(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, tries = harness.store.create_posts, 0

    async def create_and_lose(wanted: Any, **how: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries == 2:
            raise Conflict("somebody holds it")
        made = await create(wanted, **how)
        if tries == 1:
            raise StoreUnreachable("the answer to COMMIT was lost")
        return made

    monkeypatch.setattr(harness.store, "create_posts", create_and_lose)
    monkeypatch.setattr(store_retry, "RETRY_DELAY", 0)
    both = [new_posts(make_spec(), new_content=content(text)) for text in ("one", "two")]
    made = await asyncio.gather(*map(PostBatcher(harness.store).create, both))
    assert [[(one.post.content, one.created) for one in those] for those in made] == [[("one", True)], [("two", True)]]
    assert (tries, rows(harness)) == (4, (2, 2, 2, 0))


async def test_scheduling_a_draft_again_after_a_lost_response_returns_its_posts(harness: StoreHarness) -> None:
    draft = await harness.store.add_draft(Draft(id=new_id(), brand=None, author="maria", body="{}"))
    assert draft is not None
    planned = new_posts(make_spec(run_at=LATER, key="plan"), draft=draft)
    [[first]] = await harness.store.create_posts([planned])
    [[again]] = await harness.store.create_posts([planned], again=True)
    assert again.post == first.post
