"""Stored responses of idempotency keys; and drafts, which are removed when posts are made of them."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from postino.errors import Conflict, NotFound
from postino.stores.operations.pagination import MAX_PAGE_BYTES
from postino.values.job import new_id
from postino.values.post import Draft, IdempotentRequest, ResponseRecorder, StoredResponse
from tests.contract.harness import StoreHarness
from tests.contract.sample_posts import make_spec, new_posts, rows

ASKED = IdempotentRequest("key:1", "order 7", "a" * 64, "POST /v1/posts")


def make_response(made: Any) -> StoredResponse:
    return StoredResponse(201, " ".join(f"{post.job.id} {created}" for post, created in made))


async def create(harness: StoreHarness, value: IdempotentRequest = ASKED, **how: Any) -> list[Any]:
    store, draft = how.pop("store", harness.store), how.pop("draft", None)
    [made] = await store.create_posts(
        [new_posts(make_spec(), once=ResponseRecorder(value, make_response), draft=draft)], **how
    )
    return [one.post for one in made]


async def test_response_is_stored_with_its_posts(harness: StoreHarness) -> None:
    assert await harness.store.stored_response(ASKED) is None
    [made] = await create(harness)
    assert await harness.store.stored_response(ASKED) == StoredResponse(201, f"{made.job.id} True")


async def test_repeated_request_gets_the_first_response(harness: StoreHarness) -> None:
    await create(harness)
    before = await harness.store.stored_response(ASKED)
    assert await create(harness) == []
    assert await create(harness, again=True) == []
    assert await harness.store.stored_response(ASKED) == before
    assert rows(harness) == (1, 1, 1, 0)


@pytest.mark.parametrize(
    "changed", [{"request_hash": "b" * 64}, {"request_hash": "b" * 64, "endpoint": "POST /v1/drafts"}]
)
async def test_key_of_another_request_is_refused_and_both_are_named(
    harness: StoreHarness, changed: dict[str, str]
) -> None:
    await create(harness)
    other = dataclasses.replace(ASKED, **changed)
    for refused in (create(harness, other), harness.store.stored_response(other)):
        with pytest.raises(Conflict, match=f"POST /v1/posts .request {'a' * 12}.; this is .*{'b' * 12}"):
            await refused
    assert rows(harness) == (1, 1, 1, 0)


async def test_idempotency_keys_are_separate_for_each_caller(harness: StoreHarness) -> None:
    await create(harness)
    assert len(await create(harness, dataclasses.replace(ASKED, caller="key:2", request_hash="b" * 64))) == 1


async def test_concurrent_requests_with_one_key_get_one_response(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    made = await asyncio.gather(*(create(harness, store=stores[number % 3]) for number in range(30)))
    assert sum(map(len, made)) == 1
    assert rows(harness) == (1, 1, 1, 0)


async def test_refused_request_stores_no_response(harness: StoreHarness) -> None:
    with pytest.raises(NotFound):
        await create(harness, draft=Draft(new_id(), None, "maria", "{}"))
    assert await harness.store.stored_response(ASKED) is None
    assert rows(harness) == (0, 0, 0, 0)
    assert len(await create(harness)) == 1


async def test_draft_is_changed_only_in_the_version_that_was_read(harness: StoreHarness) -> None:
    draft = Draft(new_id(), "rosso", "maria", '{"text": "one"}')
    added = await harness.store.add_draft(draft)
    assert added is not None
    assert added == await harness.store.draft(draft.id)
    changed = await harness.store.change_draft(dataclasses.replace(added, body='{"text": "two"}'))
    assert (changed.version, changed.body) == (2, '{"text": "two"}')
    with pytest.raises(Conflict, match="was changed after you read it"):
        await harness.store.change_draft(dataclasses.replace(added, body='{"text": "three"}'))
    with pytest.raises(Conflict, match="was changed after you read it"):
        await harness.store.remove_draft(added)
    assert await harness.store.remove_draft(changed) == changed
    for gone in (
        harness.store.draft(draft.id),
        harness.store.remove_draft(changed),
        harness.store.change_draft(changed),
    ):
        with pytest.raises(NotFound, match=str(draft.id)):
            await gone


async def test_drafts_are_listed_newest_first_by_brand_and_page(harness: StoreHarness) -> None:
    brands = ("rosso", None, "verde", "rosso")
    first, second, third, fourth = [Draft(new_id(), brand, "maria", "{}") for brand in brands]
    for draft in (first, second, third, fourth):
        await harness.store.add_draft(draft)

    async def list_drafts(seen: frozenset[str] | None, before: Draft | None = None, limit: int = 10) -> list[Any]:
        return [one.id for one in await harness.store.drafts(seen, None if before is None else before.id, limit)]

    assert await list_drafts(None) == [one.id for one in (fourth, third, second, first)]
    assert await list_drafts(frozenset(["rosso"])) == [fourth.id, first.id]
    assert await list_drafts(frozenset(["rosso", "verde"]), limit=2) == [fourth.id, third.id]
    assert await list_drafts(frozenset(["rosso", "verde"]), third) == [first.id]
    assert await list_drafts(frozenset()) == []


async def test_drafts_after_a_full_page_are_not_read(harness: StoreHarness) -> None:
    large = '{"text": "' + "a" * (MAX_PAGE_BYTES // 2) + '"}'
    drafts = [Draft(new_id(), brand, "maria", large) for brand in ("rosso", "verde") * 5]
    for draft in drafts:
        await harness.store.add_draft(draft)
    for seen in (None, frozenset(["rosso", "verde"])):
        listed = await harness.store.drafts(seen, None, 10)
        assert [one.id for one in listed][:2] == [one.id for one in drafts[:-3:-1]]
        assert len(listed) <= 4


async def test_draft_is_removed_with_its_posts_and_makes_none_twice(harness: StoreHarness) -> None:
    draft = Draft(new_id(), None, "maria", "{}")
    await harness.store.add_draft(draft)
    await harness.store.create_posts([new_posts(make_spec(), draft=draft)])
    with pytest.raises(NotFound):
        await harness.store.draft(draft.id)
    with pytest.raises(NotFound):
        await harness.store.create_posts([new_posts(make_spec(fingerprint="2"), draft=draft)])
    assert rows(harness) == (1, 1, 1, 0)


async def test_changed_draft_creates_no_posts(harness: StoreHarness) -> None:
    read = await harness.store.add_draft(Draft(new_id(), None, "maria", '{"text": "old"}'))
    assert read is not None
    changed = await harness.store.change_draft(dataclasses.replace(read, body='{"text": "new"}'))
    with pytest.raises(Conflict, match="was changed after you read it"):
        await create(harness, draft=read)
    assert await harness.store.draft(read.id) == changed
    assert await harness.store.stored_response(ASKED) is None
    assert rows(harness) == (0, 0, 0, 0)
    assert len(await create(harness, draft=changed)) == 1


async def test_draft_with_an_idempotency_key_is_created_once(harness: StoreHarness) -> None:
    once = ResponseRecorder(ASKED, lambda draft: StoredResponse(201, str(draft.id)))
    added = await harness.store.add_draft(Draft(new_id(), None, "maria", "{}"), once=once)
    assert added is not None
    assert await harness.store.add_draft(Draft(new_id(), None, "maria", "{}"), once=once) is None
    assert await harness.store.stored_response(ASKED) == StoredResponse(201, str(added.id))
    assert len(await harness.store.drafts(None, None, 10)) == 1
