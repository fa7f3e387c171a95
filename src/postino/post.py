"""The contract of posts: contents, accounts and the posts they make, as the store keeps them.

A post is a job of type `postino.post`: its id is its job's id, and what happens to it is written with its job.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from postino.job import Job, State

POST = "postino.post"


class AccountState(StrEnum):
    ACTIVE = "active"
    TOKEN_EXPIRED = "token_expired"  # its posts are held until somebody connects it again
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAccount:
    """An account as it is kept: what it takes to speak for it is sealed."""

    id: str
    network: str
    handle: str
    base_url: str
    sealed: bytes = field(repr=False)
    brand: str | None = None
    remote_id: str | None = None
    state: AccountState = AccountState.ACTIVE
    reason: str | None = None  # why it is not active
    created_at: datetime | None = None  # None: not written yet


@dataclass(frozen=True, slots=True, kw_only=True)
class NewContent:
    """What people wrote, as JSON."""

    id: UUID
    text: str
    brand: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPost:
    """A post about to be enqueued as the job of the same id."""

    id: UUID
    account: str
    network: str
    fingerprint: str
    publish_until_at: datetime | None = None
    guard: bool = False  # published now: the same by the same account moments ago is taken for a second click
    regardless: bool = False  # of blackouts


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPost:
    """A post, its content and its job as they are now."""

    job: Job
    content_id: UUID
    content: str
    version: int  # of the content: how often it was edited, and one
    publish_until_at: datetime | None = None
    account_state: AccountState | None = None  # None: the account is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFilter:
    """Which posts to list: newest first, before the cursor."""

    states: tuple[State, ...] = ()
    network: str | None = None
    account: str | None = None
    brand: str | None = None
    content_id: UUID | None = None
    before: UUID | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Twin:
    """The same content by the same account, moments ago."""

    id: UUID
    account: str


class PostStore(Protocol):
    async def create_posts(
        self, content: NewContent, posts: Sequence[NewPost], jobs: Sequence[Any], *, again: bool = False
    ) -> Sequence[Any]:
        """Content, posts, jobs and keys: all or none. Where a key is known, the post that has it comes back.

        Takes NewJob values and returns Enqueued ones. Raises Conflict where a guarded post has a twin.
        """
        ...

    async def edit_post(
        self, post_id: UUID, content: NewContent, post: NewPost, payload: bytes, key: str, act: Any
    ) -> Job:
        """Only while nothing has been sent. The new key is this job's too; one that is another's is a Conflict."""
        ...

    async def reschedule_post(self, post_id: UUID, run_at: datetime, key: str, act: Any) -> Job:
        """Likewise, for another time."""
        ...

    async def post(self, post_id: UUID) -> StoredPost: ...
    async def posts(self, wanted: PostFilter) -> Sequence[StoredPost]: ...
    async def miss_posts(self, give_up_after: float) -> Sequence[Job]:
        """Fails what was to be out by now and of which nothing has been sent."""
        ...

    async def put_account(self, account: StoredAccount) -> StoredAccount:
        """Adds it, or gives a known one new credentials, which makes it active."""
        ...

    async def account(self, account_id: str) -> StoredAccount: ...
    async def accounts(self) -> Sequence[StoredAccount]: ...
    async def mark_account(self, account_id: str, state: AccountState, reason: str | None, act: Any) -> StoredAccount:
        """Its posts wait while it is not active."""
        ...
