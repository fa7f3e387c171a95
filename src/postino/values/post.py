"""Accounts, contents and posts, as the store keeps them.

A post is a job of type `postino.post`: both have the same id, and the job holds the state.
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
    TOKEN_EXPIRED = "token_expired"  # its posts wait until a person reconnects the account
    SUSPENDED = "suspended"  # blocked by the network; its posts wait until a person reconnects or resumes the account
    LOCKED = "locked"  # its credentials do not open: the vault lacks their key, or somebody changed the account's row
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAccount:
    """An account as it is stored, with sealed credentials."""

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
    version: int = 1  # changes with the credentials and the state
    service: str = ""  # whose circuit holds its posts; the store sets it


@dataclass(frozen=True, slots=True, kw_only=True)
class NewContent:
    """A content as JSON, about to be stored."""

    id: UUID
    text: str
    search_text: str = ""  # the text in one case, to search in
    brand: str | None = None
    user_id: str | None = None  # as in `Job`


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPost:
    """A post about to be enqueued as the job with the same id."""

    id: UUID
    account: str
    network: str
    fingerprint: str
    publish_until_at: datetime | None = None
    guard: bool = False  # refuse it if the same still waits for this account, or was published moments ago
    ignore_blackouts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPost:
    """A post with its content and its job as they are now."""

    job: Job
    content_id: UUID
    content: str
    version: int  # of the content; 1 until it is edited
    publish_until_at: datetime | None = None
    account_state: AccountState | None = None  # None: the account was removed


class SavedPost(NamedTuple):
    """A post, and whether this call created it; otherwise its idempotency key was known."""

    post: StoredPost
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFilter:
    """Which posts to list before the cursor: the newest first or, with `from_at` or `to_at`, the latest."""

    states: tuple[State, ...] = ()
    network: str | None = None
    account: str | None = None
    brand: str | None = None
    brands: frozenset[str] | None = None  # the caller's brands; None: all brands, and no brand
    content_id: UUID | None = None
    from_at: datetime | None = None  # scheduled then or later
    to_at: datetime | None = None  # and before this
    words: str | None = None  # in the text
    before: UUID | None = None
    before_at: datetime | None = None  # with `from_at` or `to_at` the cursor is id and time
    limit: int = 50

    @property
    def by_time(self) -> bool:
        return self.from_at is not None or self.to_at is not None


@dataclass(frozen=True, slots=True)
class PageCursor:
    """Where the next page starts."""

    id: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class PostPage:
    """A page of posts and the cursor of the next page. It may be empty if many posts did not match."""

    posts: Sequence[StoredPost]
    next: PageCursor | None


@dataclass(frozen=True, slots=True)
class DayBounds:
    """Start and end of a day of the calendar, as instants."""

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
    """The first posts of a day, and the number of its posts, counted up to a bound."""

    entries: Sequence[CalendarEntry]
    posts: int


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The response to a request, byte for byte."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request with an idempotency key. The same request always gets the same response."""

    caller: str
    key: str
    request_hash: str  # of method, path and the fields of the body
    endpoint: str  # such as `POST /v1/posts`


@dataclass(frozen=True, slots=True)
class ResponseRecorder:
    """Renders the response from the result, inside the transaction that creates it: it must not read anything else."""

    request: IdempotentRequest
    render: Callable[[Any], StoredResponse]


@dataclass(frozen=True, slots=True)
class Draft:
    """A request for posts that is not scheduled yet, as JSON."""

    id: UUID
    brand: str | None
    author: str
    body: str
    version: int = 1
    created_at: datetime | None = None  # None: not written yet
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPosts:
    """The posts of one content, and the NewJob of each.

    With `once` the response is stored with them. The draft they come from is deleted; a draft that changed since it was
    read raises Conflict.
    """

    content: NewContent
    posts: Sequence[NewPost]
    jobs: Sequence[Any]
    once: ResponseRecorder | None = None
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A post with the same content by the same account, which still waits or was published moments ago."""

    id: UUID
    account: str
    brand: str | None


def describe_missing_post(post_id: UUID) -> str:
    return f"Post {post_id} does not exist. List the posts to see the newest ones."


def describe_missing_account(account_id: str) -> str:
    return f"Account {account_id} does not exist. Run `postino accounts list` to see all accounts."


def describe_missing_draft(draft_id: UUID) -> str:
    return f"Draft {draft_id} does not exist. A draft that was scheduled has become posts."
