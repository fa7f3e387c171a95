"""The part of the store that is about contents, posts, drafts and accounts: operations on a driver."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from postino.job import Job
from postino.post import (
    AccountState,
    Answer,
    Asked,
    Day,
    Draft,
    NewContent,
    NewPost,
    NewPosts,
    Once,
    PostFilter,
    PostPage,
    StoredAccount,
    StoredPost,
    Window,
    Written,
)
from postino.store import Act
from postino.stores.driver import Driver
from postino.stores.operations import answers, connecting, drafts, listing
from postino.stores.operations import posts as post_desk


class SqlPosts:
    driver: Driver
    waiting_for_keys: asyncio.Semaphore  # on somebody's open transaction: never on all connections at once

    async def create_posts(
        self, wanted: Sequence[NewPosts], *, again: bool = False, patience: float | None = None
    ) -> Sequence[Sequence[Written]]:
        async with self.waiting_for_keys:
            return await self.driver.transact(post_desk.create(wanted, again), patience=patience)

    async def answer(self, asked: Asked) -> Answer | None:
        return await self.driver.read(answers.known(asked))

    async def answers(self, asked: Sequence[Asked]) -> Sequence[Answer | None]:
        return await self.driver.read(answers.given(asked))

    async def edit_post(
        self, post_id: UUID, content: NewContent, post: NewPost, payload: bytes, key: str, act: Act
    ) -> Job:
        return await self.driver.transact(post_desk.edit(post_id, content, post, payload, key, act))

    async def reschedule_post(self, post_id: UUID, run_at: datetime, key: str, act: Act) -> Job:
        return await self.driver.transact(post_desk.reschedule(post_id, run_at, key, act))

    async def hurry_post(self, post_id: UUID, act: Act, *, regardless: bool = False) -> Job:
        return await self.driver.transact(post_desk.hurry(post_id, act, regardless))

    async def post(self, post_id: UUID) -> StoredPost:
        return await self.driver.read(listing.get(post_id))

    async def posts(self, wanted: PostFilter) -> Sequence[StoredPost]:
        return await self.driver.read(listing.all_posts(wanted))

    async def page_of_posts(self, wanted: PostFilter) -> PostPage:
        return await self.driver.read(listing.page(wanted))

    async def calendar(self, days: Sequence[Window], brands: frozenset[str] | None, each: int) -> Sequence[Day]:
        return await self.driver.read(listing.calendar(days, brands, each))

    async def miss_posts(self, give_up_after: float) -> Sequence[Job]:
        return await self.driver.transact(post_desk.miss(give_up_after))

    async def add_account(self, account: StoredAccount, act: Act | None = None) -> StoredAccount:
        return await self.driver.transact(connecting.add(account, act))

    async def put_account(
        self, account: StoredAccount, act: Act | None = None, *, before: StoredAccount | None = None
    ) -> StoredAccount:
        return await self.driver.transact(connecting.put(account, act, before))

    async def account(self, account_id: str) -> StoredAccount:
        return await self.driver.read(post_desk.account(account_id))

    async def accounts(self) -> Sequence[StoredAccount]:
        return await self.driver.read(post_desk.accounts())

    async def accounts_named(self, names: Sequence[str]) -> Sequence[StoredAccount]:
        return await self.driver.read(post_desk.accounts_named(names))

    async def mark_account(self, account_id: str, state: AccountState, reason: str | None, act: Act) -> StoredAccount:
        return await self.driver.transact(post_desk.mark_account(account_id, state, reason, act))

    async def add_draft(self, draft: Draft, *, once: Once | None = None) -> Draft | None:
        async with self.waiting_for_keys:
            return await self.driver.transact(drafts.add(draft, once))

    async def draft(self, draft_id: UUID) -> Draft:
        return await self.driver.read(drafts.get(draft_id))

    async def drafts(self, brands: frozenset[str] | None, before: UUID | None, limit: int) -> Sequence[Draft]:
        seen = None if brands is None else sorted(brands)
        return await self.driver.read(drafts.list_drafts(seen, before, limit))

    async def change_draft(self, draft: Draft) -> Draft:
        return await self.driver.transact(drafts.change(draft))

    async def remove_draft(self, draft: Draft) -> Draft:
        return await self.driver.transact(drafts.remove(draft))
