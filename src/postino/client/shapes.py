"""What is answered about posts and jobs, as plain dicts: what openapi.json tells, word for word."""

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
    Page,
    QueueName,
    Severity,
    Source,
    State,
    Status,
    Uuid,
)

__all__ = ["Page"]


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


class Job(TypedDict):
    """One unit of work. Without `run_at` it waits for a person's word."""

    id: Uuid
    type: str
    channel: str
    queue: QueueName
    state: State
    payload: Any
    idempotency_key: str
    scheduled_at: At
    run_at: At | None
    created_at: At
    account: str | None
    brand: str | None
    user_id: str | None
    parent_id: Uuid | None
    correlation_id: str | None
    attempts: int
    max_attempts: int | None
    backoff: Any
    time_limit: float | None
    generation: int
    rescues: int
    deferrals: int
    deferred: str | None
    sent: bool
    look_at: At | None
    remote_id: str | None
    last_error: str | None
    claimed_by: str | None
    claimed_at: At | None
    dispatched_at: At | None
    limited: int
    regardless: bool
    result: Any
    finished_at: At | None


class QueuedJob(Job):
    """A job that was queued, or known already, with what people should know about it."""

    notes: list[str]


class JobDetails(Job):
    """A job with every try."""

    history: list[TracedTry]


class UncertainJob(Job):
    """A job of which something may be out there; which of its calls are in doubt, and what the ledger knows of them."""

    trouble: str | None
    needs_person: bool
    in_doubt: list[str]
    intents: list[Intent]
    receipts: list[Receipt]


class UncertainDetails(UncertainJob):
    """The same with every try."""

    history: list[JobTry]


class Candidate(TypedDict):
    """A post on the network that may be the one."""

    remote_id: str
    url: str | None


class Sight(TypedDict):
    """What a look at the network showed."""

    sighting: Literal["found", "not_found", "cannot_tell"]
    why: str | None
    candidates: list[Candidate]


class Evaluation(TypedDict):
    """Whether a job could run at a time, and what would be in its way."""

    runnable: bool
    in_blackout: bool
    has_collision: bool
    blockers: list[Blocker]


class Evaluated(TypedDict):
    """What a job that is only thought of would meet."""

    channel: str
    run_at: At
    evaluation: Evaluation
    notes: list[str]


class PreviewedJob(Evaluated):
    """What would be queued; `known` is the job that has this key already."""

    preview: Literal[True]
    type: str
    queue: QueueName
    account: str | None
    brand: str | None
    user_id: str | None
    correlation_id: str | None
    max_attempts: int | None
    time_limit: float | None
    known: Uuid | None


class Letter(TypedDict):
    """A job that failed for good, and why."""

    id: Uuid
    cause: Cause
    died_at: At
    error: str | None
    resolved_at: At | None
    resolution: str | None
    job: Job


class LetterDetails(Letter):
    """The same with every try and the last stack trace."""

    trace: str | None
    history: list[TracedTry]


class Trouble(TypedDict):
    """Dead letters that failed alike, one of them by its id."""

    cause: Cause
    channel: str
    type: str
    error: str
    letters: int
    first_at: At
    last_at: At
    example: Uuid


class JobDone(TypedDict):
    """One of many that was done, and the job after it."""

    id: Uuid
    done: Literal[True]
    job: Job


class LetterDone(TypedDict):
    """One of many that was laid aside."""

    id: Uuid
    done: Literal[True]
    dead_letter: Letter


class NotDone(TypedDict):
    """One of many that was refused: with which status, and why."""

    id: Uuid
    done: Literal[False]
    status: int
    detail: str


class JobResults(TypedDict):
    """What became of each job; with a filter, `next_cursor` is the `before` of those that follow."""

    data: list[JobDone | NotDone]
    next_cursor: Uuid | None


class LetterResults(TypedDict):
    """What became of each dead letter; with a filter, `next_cursor` is the `before` of those that follow."""

    data: list[LetterDone | NotDone]
    next_cursor: Uuid | None


class Event(TypedDict):
    """Something that happened, as the stream tells it."""

    id: str
    type: str
    at: At
    job_id: Uuid | None
    brand: str | None
    data: Any
