"""What is answered about posts, as plain dicts: what openapi.json tells, word for word."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from postino.client.words import (
    At,
    BlockerKind,
    CallVerdict,
    Cause,
    ContentStatus,
    Flag,
    MediaKind,
    Severity,
    Source,
    Status,
    Uuid,
)


class Complaint(TypedDict):
    """What is wrong with one field; or with a post on an account, and whether it would go out all the same."""

    field: str | None
    message: str
    account: NotRequired[str | None]
    network: NotRequired[str | None]
    severity: NotRequired[Severity]


class Refusal(TypedDict):
    """Problem details (RFC 9457): what was refused and why, and the field that is to blame where one is."""

    type: str
    title: str
    status: int
    detail: str
    field: NotRequired[str]
    problems: NotRequired[list[Complaint]]
    request_id: NotRequired[str]


class Post(TypedDict):
    """A content on one account, and how it stands."""

    id: Uuid
    status: Status
    flags: list[Flag]
    reasons: dict[Flag, str]
    network: str
    account: str
    content_id: Uuid
    scheduled_at: At
    run_at: At | None
    published_at: At | None
    remote_id: str | None
    url: str | None
    attempts: int
    last_error: str | None
    needs_person: bool
    publish_until: At | None
    version: int
    created_at: At
    text: str


class ChangedPost(Post):
    """A post after a change, with what people should know about its time."""

    notes: list[str]


class Try(TypedDict):
    """One try of a post or job: when, by whom, how it ended."""

    generation: int
    number: int
    started_at: At
    ended_at: At
    worker: str
    outcome: str
    message: str | None


class JobTry(Try):
    """One try of a job, with the kind of error it ended in."""

    error_class: str | None


class TracedTry(JobTry):
    """One try of a job, with its stack trace."""

    trace: str | None


class Step(TypedDict):
    """A step that is remembered, so that it is not done twice."""

    name: str
    asked_at: At
    done_at: At | None


class Intent(TypedDict):
    """A visible call that was about to leave. Before `look_at` nobody asks what became of it."""

    step: str
    number: int
    intended_at: At
    send_before_at: At
    look_at: At


class Receipt(TypedDict):
    """What became of a visible call, and who says so."""

    step: str
    number: int
    verdict: CallVerdict
    told_by: Source
    why: str | None
    at: At | None
    remote_id: str | None
    url: str | None


class PostDetails(Post):
    """A post with all that happened to it."""

    history: list[Try]
    steps: list[Step]
    intents: list[Intent]
    receipts: list[Receipt]
    cause: Cause | None
    cancelled: str | None


class Made(TypedDict):
    """What became of one wish: a post for each account."""

    content_id: Uuid
    status: ContentStatus
    posts: list[Post]
    notes: list[str]


class MadeOne(Post):
    """The same where there is one account: it is also the post itself, for clients that do not look into `posts`."""

    posts: list[Post]
    notes: list[str]


class Media(TypedDict):
    """A picture or film, by its address."""

    url: str
    alt: str
    kind: MediaKind | None


class Override(TypedDict):
    """What is said otherwise on one network; what is left out is as everywhere."""

    text: NotRequired[str]
    thread: NotRequired[list[str]]
    title: NotRequired[str]
    hashtags: NotRequired[list[str]]
    media: NotRequired[list[Media]]
    options: dict[str, Any]


class Content(TypedDict):
    """What was said, and how it stands on all its accounts together."""

    id: Uuid
    status: ContentStatus
    text: str
    thread: list[str]
    title: str | None
    hashtags: list[str]
    media: list[Media]
    placeholders: dict[str, str]
    overrides: dict[str, Override]
    posts: list[Post]


class Problem(TypedDict):
    """What a network would say against a post, or do to it."""

    severity: Severity
    field: str | None
    message: str


class PlacedProblem(Problem):
    """The same with the account it is about, null where it is about all of them."""

    account: str | None
    network: str | None


class Preview(TypedDict):
    """How a post would look on an account."""

    account: str
    network: str
    publishable: bool
    parts: list[str]
    title: str | None
    media: list[Media]
    hashtags: list[str]
    problems: list[Problem]


class Previewed(TypedDict):
    """How it would look everywhere; nothing was made."""

    preview: Literal[True]
    posts: list[Preview]
    notes: list[str]


class Judged(TypedDict):
    """Whether it could be made as it is, and all that speaks against it."""

    valid: bool
    problems: list[PlacedProblem]
    posts: list[Preview]
    notes: list[str]


class Blocker(TypedDict):
    """One thing in the way. Without `until_at` no clock ends it."""

    kind: BlockerKind
    sentence: str
    since_at: At | None
    until_at: At | None
    cause: str | None
    unblock: str | None


class Explained(TypedDict):
    """Why it has not run, in a sentence; `eta` is when it goes on if nothing else happens."""

    sentence: str
    runnable: bool
    eta: At | None
    blockers: list[Blocker]


class DraftMedia(TypedDict, total=False):
    """A picture or film of a draft, as far as it was said."""

    url: str | None
    id: None
    alt: str
    kind: MediaKind | None


class DraftOverride(TypedDict, total=False):
    """What a draft says otherwise on one network."""

    text: str | None
    thread: list[str] | None
    title: str | None
    hashtags: list[str] | None
    media: list[DraftMedia] | None
    options: dict[str, Any]


class Draft(TypedDict):
    """A post that is not made yet, with whatever was said of it so far."""

    id: Uuid
    author: str
    brand: str | None
    version: int
    created_at: At
    changed_at: At
    text: NotRequired[str]
    thread: NotRequired[list[str]]
    title: NotRequired[str]
    hashtags: NotRequired[list[str]]
    media: NotRequired[list[DraftMedia]]
    placeholders: NotRequired[dict[str, str]]
    overrides: NotRequired[dict[str, DraftOverride]]
    accounts: NotRequired[list[str]]
    at: NotRequired[str]
    timezone: NotRequired[str]
    publish_until: NotRequired[str]
