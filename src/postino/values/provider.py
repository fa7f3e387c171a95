"""The contract of a network: one file in `providers/` each, and nothing else talks to the outside.

A network defines actions: functions that get an `Http` and return a value, or a `Failure` if the network refused.
They run as steps of a `Call`, which records their results and makes sure that nothing is published twice.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from postino.errors import PostinoError
from postino.values.json_text import parse_json


class PromiseClass(StrEnum):
    """What Postino can promise about duplicates on a network."""

    A = "A"  # the visible call can be repeated, or looked up by a handle
    B = "B"  # the network refuses duplicates for a while, and lists posts
    C = "C"  # the network lists posts, so that ours can be recognised
    D = "D"  # neither: after a lost response a person must decide


@dataclass(frozen=True, slots=True)
class Promise:
    grade: PromiseClass
    sentence: str  # for people: what happens after a lost response


@dataclass(frozen=True, slots=True)
class Credential:
    """One credential an account needs: how to ask for it, and whether to hide what is typed."""

    prompt: str
    secret: bool = True
    unless: str | None = None  # not needed if the account has this other credential
    is_handle: bool = False  # the account's handle, unless it is given
    is_remote_id: bool = False  # also what the network calls the account


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image or video, by its URL."""

    url: str
    kind: str = "image"
    alt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account on a network, with its credentials."""

    id: str
    network: str
    handle: str
    base_url: str
    credentials: Mapping[str, str] = field(repr=False)
    brand: str | None = None
    remote_id: str | None = None  # the network's id of the account: a DID, a user id, a chat id
    version: int = 0  # of the stored account when it was opened
    service: str = ""  # whose circuit counts the responses to its calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A post to publish: the rendered text in one part or, as a thread, in several, each a reply to the one before."""

    id: UUID
    account: Account
    parts: tuple[str, ...]
    title: str | None = None
    media: tuple[Media, ...] = ()
    created_at: datetime
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Published:
    """A published post: the network's id (or its handle, if there is no id yet) and its URL."""

    remote_id: str
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """New credentials, and when they expire."""

    credentials: Mapping[str, str] = field(repr=False)
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of a server."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Return the parsed body. Raises UnreadableResponse if it is not JSON, or too deep."""
        try:
            return parse_json(self.body)
        except ValueError:
            # The body is not shown: it may begin with a token.
            raise UnreadableResponse(
                f"The response ({self.status}, {len(self.body)} bytes) is not readable JSON."
            ) from None


class FailureKind(StrEnum):
    """What a refusal by the network means for the next step."""

    TRANSIENT = "transient"  # it may work later; after a visible call Postino looks the post up first
    RATE_LIMIT = "rate_limit"  # not before `until`
    AUTH = "auth"  # the credentials are refused
    SUSPENDED = "suspended"  # the network has blocked the account
    PERMANENT = "permanent"  # it can never work unchanged
    DOUBT = "doubt"  # it may have been accepted; only a lookup can tell


@dataclass(frozen=True, slots=True)
class Failure:
    """A refusal by the network. `message` tells the author what is wrong and what to do."""

    kind: FailureKind
    message: str
    code: str | None = None  # the network's own
    until: datetime | None = None
    everyone: bool = False  # the rate limit applies to all accounts


class NotSent(PostinoError):
    """Nothing was sent, or not the whole request, so it had no effect."""


class Unreachable(NotSent):
    """The server failed: it accepts no connection, or took no more data before the request was complete."""


class CallBlocked(NotSent):
    """A gate closed while the job was running."""


class LostResponse(PostinoError):
    """Something was sent, and no complete response came back in time."""


class UnreadableResponse(LostResponse):
    """The response cannot be read."""


class ResponseTooLarge(UnreadableResponse):
    """The response is larger than Postino reads. The server works: the content of an account may be that large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What the network returned for a visible call."""

    remote_id: str
    url: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    # Where the id is unique, if only the response says it: what `get_id_scope` returns, a space, and more.
    id_scope: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The post is on the network."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class NotFound:
    """The post was not found. This does not prove that it is not there, or will not appear."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The network cannot say, or several posts match."""

    why: str


LookupResult = Found | NotFound | CannotTell


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Stored before a visible call is sent. A post found by its text must be newer than `intended_at`."""

    number: int  # 1 for the first attempt of its step
    intended_at: datetime
    send_before_at: datetime


@dataclass(frozen=True, slots=True)
class Resend:
    """Why sending again is harmless, and for how long after the first intent; None: for ever."""

    reason: str
    within: timedelta | None = None
    harmless: bool = True
    # The handle or key derives from the job's id. A handle that the network gave, or that a step chose, may have been
    # lost with a restored database: then a repetition has another one.
    is_derived: bool = False


SAME_HANDLE = Resend("the network recognises it by its handle")
DERIVED_HANDLE = Resend("the network recognises it by a handle that derives from the job's id", is_derived=True)
DUPLICATE_RULE = Resend("the network refuses duplicates")
NEVER = Resend("the network cannot tell a repetition from a second post", harmless=False)


def resend_with_key(within: timedelta, *, is_derived: bool = False) -> Resend:
    """Return a Resend for a network that accepts an idempotency key for a limited time.

    `is_derived`: the key derives from the job's id.
    """
    return Resend("the network knows its idempotency key", within, is_derived=is_derived)


Body = bytes | Sequence[bytes]  # of a request, whole or in parts that are sent one after the other


class Http(Protocol):
    """The HTTP client of one action. It refuses to send after the deadline and redacts secrets."""

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        body: Body | None = None,
        timeout: float | None = None,
        inert: bool = False,
    ) -> Answer:
        """Return the response, whatever its status. Raises NotSent or LostResponse.

        `inert`: nobody can see its effect, for example a sign-in. Of a visible call with several requests, only those
        that are neither inert nor GET may have published something.
        """
        ...

    async def fetch(self, url: str, *, most: int) -> Answer:
        """Download a file from a URL that a person gave, at most `most` bytes. The URL is checked first."""
        ...


Action = Callable[..., Awaitable[Any]]  # (http, *arguments) → a result, or a Failure
Lookup = Callable[..., Awaitable[LookupResult | Failure]]  # (http, intent, *arguments)


class Call(Protocol):
    """The three kinds of steps of a publish. A refusal, a wait or an uncertain result ends the run inside them."""

    async def step(self, name: str, act: Action, *arguments: Any) -> Any:
        """Run an invisible step. It may be repeated after a crash. Its result is stored, so it must be JSON."""
        ...

    async def until(self, name: str, ready: Action, *arguments: Any, every: timedelta, patience: timedelta) -> Any:
        """Poll until the result is not None. Between two polls the job is parked and holds no slot."""
        ...

    async def once(
        self,
        name: str,
        act: Action,
        *arguments: Any,
        found: Lookup | None,
        resend: Resend,
        prepare: Action | None = None,
    ) -> Receipt:
        """Run the visible step once. If its response is lost, `found` looks it up before anything is sent again.

        Without `found` a person must resolve the job, unless sending again is harmless. A visible step has a few
        seconds to begin its request. What takes longer, such as a download, belongs in `prepare`: an invisible action
        that runs each time before the step is sent. `act` gets its result as the first argument.
        """
        ...

    async def list_taken_ids(self, remote_ids: list[str]) -> set[str]:
        """Return which of these posts of this account belong to other jobs."""
        ...


class Provider(Protocol):
    """One network. `listing_delay` is how long a new post may be missing from its lists.

    A network whose ids are not unique for an account also has `get_id_scope`: see `find_id_scope`.
    """

    name: str
    promise: Promise
    timeout: timedelta
    listing_delay: timedelta

    async def publish(self, post: Post, call: Call) -> Published: ...
    async def refresh(self, account: Account, http: Http) -> Tokens | Failure: ...
    def classify(self, answer: Answer) -> Failure:
        """Classify an error response by the network's own code table, else by `rules.failures.classify_status`."""
        ...


def find_id_scope(network: Provider, account: Account) -> str:
    """Return where the ids of the account's posts are unique, such as a chat; empty: in the whole account."""
    get_id_scope: Callable[[Account], str] | None = getattr(network, "get_id_scope", None)
    return get_id_scope(account) if get_id_scope else ""
