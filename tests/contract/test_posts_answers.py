"""What was answered once is answered again; and drafts, which are gone when posts are made of them."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from postino.errors import Conflict, NotFound
from postino.values.job import new_id
from postino.values.post import Draft, IdempotentRequest, ResponseRecorder, StoredResponse
from tests.contract.desk import Desk
from tests.contract.posting import new_posts, rows, wanted

ASKED = IdempotentRequest("key:1", "order 7", "a" * 64, "POST /v1/posts")


def told(made: Any) -> StoredResponse:
    return StoredResponse(201, " ".join(f"{post.job.id} {created}" for post, created in made))


async def create(desk: Desk, asked: IdempotentRequest = ASKED, **how: Any) -> list[Any]:
    store, draft = how.pop("store", desk.store), how.pop("draft", None)
    [made] = await store.create_posts([new_posts(wanted(), once=ResponseRecorder(asked, told), draft=draft)], **how)
    return [one.post for one in made]


async def test_the_answer_is_written_with_the_posts_it_tells_of(desk: Desk) -> None:
    assert await desk.store.stored_response(ASKED) is None
    [made] = await create(desk)
    assert await desk.store.stored_response(ASKED) == StoredResponse(201, f"{made.job.id} True")


async def test_the_same_request_makes_nothing_and_has_the_first_answer(desk: Desk) -> None:
    await create(desk)
    before = await desk.store.stored_response(ASKED)
    assert await create(desk) == []
    assert await create(desk, again=True) == []
    assert await desk.store.stored_response(ASKED) == before
    assert rows(desk) == (1, 1, 1, 0)


@pytest.mark.parametrize(
    "changed", [{"request_hash": "b" * 64}, {"request_hash": "b" * 64, "endpoint": "POST /v1/drafts"}]
)
async def test_another_request_with_the_key_is_refused_and_both_are_named(desk: Desk, changed: dict[str, str]) -> None:
    await create(desk)
    other = dataclasses.replace(ASKED, **changed)
    for refused in (create(desk, other), desk.store.stored_response(other)):
        with pytest.raises(Conflict, match=f"POST /v1/posts with the body {'a' * 12}; this is .*{'b' * 12}"):
            await refused
    assert rows(desk) == (1, 1, 1, 0)


async def test_each_caller_has_keys_of_their_own(desk: Desk) -> None:
    await create(desk)
    assert len(await create(desk, dataclasses.replace(ASKED, caller="key:2", request_hash="b" * 64))) == 1


async def test_of_many_at_once_one_makes_it_and_the_others_wait_for_its_answer(desk: Desk) -> None:
    stores = [desk.store, await desk.another_store(), await desk.another_store()]
    made = await asyncio.gather(*(create(desk, store=stores[number % 3]) for number in range(30)))
    assert sum(map(len, made)) == 1
    assert rows(desk) == (1, 1, 1, 0)


async def test_what_is_refused_keeps_no_answer(desk: Desk) -> None:
    with pytest.raises(NotFound):
        await create(desk, draft=Draft(new_id(), None, "maria", "{}"))
    assert await desk.store.stored_response(ASKED) is None
    assert rows(desk) == (0, 0, 0, 0)
    assert len(await create(desk)) == 1


async def test_a_draft_is_kept_changed_by_one_at_a_time_and_removed(desk: Desk) -> None:
    draft = Draft(new_id(), "rosso", "maria", '{"text": "one"}')
    added = await desk.store.add_draft(draft)
    assert added is not None
    assert added == await desk.store.draft(draft.id)
    changed = await desk.store.change_draft(dataclasses.replace(added, body='{"text": "two"}'))
    assert (changed.version, changed.body) == (2, '{"text": "two"}')
    with pytest.raises(Conflict, match="was changed after you read it"):
        await desk.store.change_draft(dataclasses.replace(added, body='{"text": "three"}'))
    with pytest.raises(Conflict, match="was changed after you read it"):
        await desk.store.remove_draft(added)
    assert await desk.store.remove_draft(changed) == changed
    for gone in (desk.store.draft(draft.id), desk.store.remove_draft(changed), desk.store.change_draft(changed)):
        with pytest.raises(NotFound, match=str(draft.id)):
            await gone


async def test_drafts_are_listed_newest_first_by_brand_and_page(desk: Desk) -> None:
    brands = ("rosso", None, "verde", "rosso")
    first, second, third, fourth = [Draft(new_id(), brand, "maria", "{}") for brand in brands]
    for draft in (first, second, third, fourth):
        await desk.store.add_draft(draft)

    async def found(seen: frozenset[str] | None, before: Draft | None = None, limit: int = 10) -> list[Any]:
        return [one.id for one in await desk.store.drafts(seen, None if before is None else before.id, limit)]

    assert await found(None) == [one.id for one in (fourth, third, second, first)]
    assert await found(frozenset(["rosso"])) == [fourth.id, first.id]
    assert await found(frozenset(["rosso", "verde"]), limit=2) == [fourth.id, third.id]
    assert await found(frozenset(["rosso", "verde"]), third) == [first.id]
    assert await found(frozenset()) == []


async def test_a_draft_is_gone_with_the_posts_made_of_it_and_makes_none_twice(desk: Desk) -> None:
    draft = Draft(new_id(), None, "maria", "{}")
    await desk.store.add_draft(draft)
    await desk.store.create_posts([new_posts(wanted(), draft=draft)])
    with pytest.raises(NotFound):
        await desk.store.draft(draft.id)
    with pytest.raises(NotFound):
        await desk.store.create_posts([new_posts(wanted(fingerprint="2"), draft=draft)])
    assert rows(desk) == (1, 1, 1, 0)


async def test_of_a_draft_that_was_changed_meanwhile_no_posts_are_made(desk: Desk) -> None:
    read = await desk.store.add_draft(Draft(new_id(), None, "maria", '{"text": "old"}'))
    assert read is not None
    changed = await desk.store.change_draft(dataclasses.replace(read, body='{"text": "new"}'))
    with pytest.raises(Conflict, match="was changed after you read it"):
        await create(desk, draft=read)
    assert await desk.store.draft(read.id) == changed
    assert await desk.store.stored_response(ASKED) is None
    assert rows(desk) == (0, 0, 0, 0)
    assert len(await create(desk, draft=changed)) == 1


async def test_a_draft_made_with_a_key_is_made_once(desk: Desk) -> None:
    once = ResponseRecorder(ASKED, lambda draft: StoredResponse(201, str(draft.id)))
    added = await desk.store.add_draft(Draft(new_id(), None, "maria", "{}"), once=once)
    assert added is not None
    assert await desk.store.add_draft(Draft(new_id(), None, "maria", "{}"), once=once) is None
    assert await desk.store.stored_response(ASKED) == StoredResponse(201, str(added.id))
    assert len(await desk.store.drafts(None, None, 10)) == 1
