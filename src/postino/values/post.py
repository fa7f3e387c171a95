"""The contract of posts: contents, accounts and the posts they make, as the store keeps them.

A post is a job of type `postino.post`: its id is its job's id, and what happens to it is written with its job.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from postino.values.job import Job, State

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
    search_text: str = ""  # the text in one case, to search in
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
    ignore_blackouts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPost:
    """A post, its content and its job as they are now."""

    job: Job
    content_id: UUID
    content: str
    version: int  # of the content: how often it was edited, and one
    publish_until_at: datetime | None = None
    account_state: AccountState | None = None  # None: the account is gone


class SavedPost(NamedTuple):
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
class PageCursor:
    """Where a list goes on."""

    id: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class PostPage:
    """Posts in their order, and where to go on: perhaps without any, when much was looked through in vain."""

    posts: Sequence[StoredPost]
    next: PageCursor | None


@dataclass(frozen=True, slots=True)
class DayBounds:
    """A day of the calendar, as instants."""

    from_at: datetime
    to_at: datetime


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """A post in the calendar."""

    id: UUID
    state: State
    network: str
    account: str
    scheduled_at: datetime
    content: str


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """The first posts of a day, and how many there are, counted up to a bound."""

    entries: Sequence[CalendarEntry]
    posts: int


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What was answered to a request, word for word."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request with a key of its caller's. The same one is answered the same, for ever."""

    caller: str
    key: str
    request_hash: str  # what was asked, as a hash
    endpoint: str  # in words: `POST /v1/posts`


@dataclass(frozen=True, slots=True)
class ResponseRecorder:
    """What to answer is told from what was made, in the transaction that makes it, and must not look elsewhere."""

    request: IdempotentRequest
    render: Callable[[Any], StoredResponse]


@dataclass(frozen=True, slots=True)
class Draft:
    """A request for posts that nobody has made yet, as JSON."""

    id: UUID
    brand: str | None
    author: str
    body: str
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
    once: ResponseRecorder | None = None
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class RecentDuplicate:
    """The same content by the same account, moments ago."""

    id: UUID
    account: str


def describe_missing_post(post_id: UUID) -> str:
    return f"Post {post_id} does not exist. Run `postino posts list` to see the newest posts."


def describe_missing_account(account_id: str) -> str:
    return f"Account {account_id} does not exist. Run `postino accounts list` to see all accounts."


def describe_missing_draft(draft_id: UUID) -> str:
    return f"Draft {draft_id} does not exist. A draft that was scheduled has become posts."
