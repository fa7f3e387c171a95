"""The contract of posts: contents, accounts and the posts they make, as the store keeps them.

A post is a job of type `postino.post`: its id is its job's id, and what happens to it is written with its job.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol
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
    words: str = ""  # what it is found by
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


class Written(NamedTuple):
    """A post as it is now, and whether this call made it; otherwise its key was known."""

    post: StoredPost
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFilter:
    """Which posts to list, before the cursor: the newest first or, where times are said, the latest."""

    states: tuple[State, ...] = ()
    network: str | None = None
    account: str | None = None
    brand: str | None = None
    brands: frozenset[str] | None = None  # those that may be seen; None: all, and what has none
    content_id: UUID | None = None
    from_at: datetime | None = None  # scheduled then or later
    to_at: datetime | None = None  # and before this
    words: str | None = None  # somewhere in what is said
    before: UUID | None = None
    before_at: datetime | None = None  # by time, the cursor is both
    limit: int = 50

    @property
    def by_time(self) -> bool:
        return self.from_at is not None or self.to_at is not None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list goes on."""

    id: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class PostPage:
    """Posts in their order, and where to go on: perhaps without any, when much was looked through in vain."""

    posts: Sequence[StoredPost]
    next: Place | None


@dataclass(frozen=True, slots=True)
class Window:
    """A day of the calendar, as instants."""

    from_at: datetime
    to_at: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """A post in the calendar."""

    id: UUID
    state: State
    network: str
    account: str
    scheduled_at: datetime
    content: str


@dataclass(frozen=True, slots=True)
class Day:
    """The first posts of a day, and how many there are, counted up to a bound."""

    entries: Sequence[Entry]
    posts: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered to a request, word for word."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with a key of its caller's. The same one is answered the same, for ever."""

    caller: str
    key: str
    request: str  # what was asked, as a hash
    what: str  # in words: `POST /v1/posts`


@dataclass(frozen=True, slots=True)
class Once:
    """What to answer is told from what was made, in the transaction that makes it, and must not look elsewhere."""

    asked: Asked
    told: Callable[[Any], Answer]


@dataclass(frozen=True, slots=True)
class Draft:
    """A request for posts that nobody has made yet, as JSON."""

    id: UUID
    brand: str | None
    author: str
    said: str
    version: int = 1
    created_at: datetime | None = None  # None: not written yet
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPosts:
    """What one content makes: its posts, and for each the NewJob that carries it.

    With `once`, what it tells of them is kept as the answer. The draft they were made from is gone with it; one that
    was changed since it was read is a Conflict.
    """

    content: NewContent
    posts: Sequence[NewPost]
    jobs: Sequence[Any]
    once: Once | None = None
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class Twin:
    """The same content by the same account, moments ago."""

    id: UUID
    account: str


def no_post(post_id: UUID) -> str:
    return f"There is no post {post_id}. The list of posts shows the newest ones."


def no_account(account_id: str) -> str:
    return f"There is no account {account_id}. The list of accounts shows those there are."


def no_draft(draft_id: UUID) -> str:
    return f"There is no draft {draft_id}. Of one that was scheduled there are posts."


class PostStore(Protocol):
    async def create_posts(
        self, wanted: Sequence[NewPosts], *, again: bool = False, patience: float | None = None
    ) -> Sequence[Sequence[Written]]:
        """Contents, posts, jobs, keys and answers: all or none. Where a key is known, the post that has it comes back.

        Raises Conflict where a guarded post has a twin, or a caller's key was used for another request. Of what was
        answered before nothing is made, and nothing comes back.
        """
        ...

    async def answer(self, asked: Asked) -> Answer | None:
        """What was answered to this request before. Raises Conflict if its key was used for another one."""
        ...

    async def answers(self, asked: Sequence[Asked]) -> Sequence[Answer | None]:
        """The same for several at once; one that must be refused refuses all."""
        ...

    async def edit_post(
        self, post_id: UUID, content: NewContent, post: NewPost, payload: bytes, key: str, act: Any
    ) -> Job:
        """Only while nothing has been sent. The new key is this job's too; one that is another's is a Conflict."""
        ...

    async def reschedule_post(self, post_id: UUID, run_at: datetime, key: str, act: Any) -> Job:
        """Likewise, for another time."""
        ...

    async def hurry_post(self, post_id: UUID, act: Any, *, regardless: bool = False) -> Job:
        """Likewise: now, before what is only planned, and even in a blackout if a person says so."""
        ...

    async def post(self, post_id: UUID) -> StoredPost: ...
    async def posts(self, wanted: PostFilter) -> Sequence[StoredPost]: ...
    async def page_of_posts(self, wanted: PostFilter) -> PostPage:
        """The same, without looking through more than a bounded number of posts for those that fit."""
        ...

    async def calendar(self, days: Sequence[Window], brands: frozenset[str] | None, each: int) -> Sequence[Day]:
        """At most `each` posts of every day."""
        ...

    async def miss_posts(self, give_up_after: float) -> Sequence[Job]:
        """Fails what was to be out by now and of which nothing has been sent."""
        ...

    async def add_account(self, account: StoredAccount, act: Any = None) -> StoredAccount:
        """Raises Conflict where there is one of this name: of two who add it at once, one does."""
        ...

    async def put_account(
        self, account: StoredAccount, act: Any = None, *, before: StoredAccount | None = None
    ) -> StoredAccount:
        """Adds it, or gives a known one new credentials, which makes it active. What a person does is noted.

        Raises Conflict if it is of another brand than `before`, or would be while posts of it are still to go out.
        """
        ...

    async def account(self, account_id: str) -> StoredAccount: ...
    async def accounts(self) -> Sequence[StoredAccount]: ...
    async def accounts_named(self, names: Sequence[str]) -> Sequence[StoredAccount]:
        """Those of them that there are, in their order."""
        ...

    async def mark_account(self, account_id: str, state: AccountState, reason: str | None, act: Any) -> StoredAccount:
        """Its posts wait while it is not active."""
        ...

    async def add_draft(self, draft: Draft, *, once: Once | None = None) -> Draft | None:
        """None where it was answered before."""
        ...

    async def draft(self, draft_id: UUID) -> Draft: ...
    async def drafts(self, brands: frozenset[str] | None, before: UUID | None, limit: int) -> Sequence[Draft]: ...
    async def change_draft(self, draft: Draft) -> Draft:
        """Raises Conflict if somebody else has changed it since it was read."""
        ...

    async def remove_draft(self, draft: Draft) -> Draft:
        """Likewise."""
        ...
