"""The contract of a network: one file in `providers/` each, and nothing else talks to the outside.

A network is asked through acts: functions that get the door outwards and end with a value, a `Failure` if the network
said no. Acts run as steps of a `Call`, which remembers what came of them and sees to it that nothing goes out twice.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from postino.errors import PostinoError


class Grade(StrEnum):
    """What a network lets anybody promise."""

    A = "A"  # the visible call may be repeated, or its outcome asked for by a handle
    B = "B"  # the network itself refuses a repetition for a while, and lists what is there
    C = "C"  # it lists what is there, by which ours can be recognised
    D = "D"  # it neither refuses nor lists: after a lost answer a person is asked


@dataclass(frozen=True, slots=True)
class Promise:
    grade: Grade
    sentence: str  # for people: what happens after an answer is lost


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
    """A picture or film, by its address."""

    url: str
    kind: str = "image"
    alt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Somebody's presence on a network, with what it takes to speak for it."""

    id: str
    network: str
    handle: str
    base_url: str
    credentials: Mapping[str, str] = field(repr=False)
    brand: str | None = None
    remote_id: str | None = None  # what the network calls it: a DID, a user id, a chat


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What is to be published: the finished text in one part or, as a thread, in several, each a reply to the last."""

    id: UUID
    account: Account
    parts: tuple[str, ...]
    title: str | None = None
    media: tuple[Media, ...] = ()
    created_at: datetime
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Published:
    """What came of it: the network's id, or its handle where there is none yet, and where to look at it."""

    remote_id: str
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """A fresh set of credentials, and when they end."""

    credentials: Mapping[str, str] = field(repr=False)
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Raises Garbled if it is none: cut short, or a page meant for people."""
        try:
            return json.loads(self.body)
        except ValueError:
            # Not what it says: the beginning of an answer may be a token.
            raise UnreadableResponse(f"The answer ({self.status}, {len(self.body)} bytes) is not JSON.") from None


class FailureKind(StrEnum):
    """What a network's no means for what happens next."""

    TRANSIENT = "transient"  # it may work later
    RATE_LIMIT = "rate_limit"  # not before `until`
    AUTH = "auth"  # the credentials are refused
    PERMANENT = "permanent"  # as it stands it can never work
    DOUBT = "doubt"  # it may have been accepted all the same; in a visible call only a look can tell


@dataclass(frozen=True, slots=True)
class Failure:
    """A network's no, in words for a person who publishes: what is wrong and what they can do."""

    kind: FailureKind
    message: str
    code: str | None = None  # the network's own
    until: datetime | None = None
    everyone: bool = False  # too many, of all accounts together


class NotSent(PostinoError):
    """Nothing left this machine: no connection, or it was too late to begin."""


class Unreachable(NotSent):
    """No connection was to be had."""


class CallBlocked(NotSent):
    """A gate closed while the job was at work."""


class LostResponse(PostinoError):
    """Something left, and no answer came back in time or in one piece."""


class UnreadableResponse(LostResponse):
    """An answer came that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a network gave in exchange for a visible call."""

    remote_id: str
    url: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """It is there."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class NotFound:
    """It is not to be seen. No proof that it is not there, or will not be."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The network does not say, or there are several that might be it."""

    why: str


LookupResult = Found | NotFound | CannotTell


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Written before a visible call leaves. What is found by likeness must be newer than `intended_at`."""

    number: int  # 1 for the first try of its step
    intended_at: datetime
    send_before_at: datetime


@dataclass(frozen=True, slots=True)
class Resend:
    """Why sending the same again is harmless, and for how long after it was first intended; None: for ever."""

    reason: str
    within: timedelta | None = None
    harmless: bool = True


SAME_HANDLE = Resend("the network takes it for the same, by its handle")
DUPLICATE_RULE = Resend("the network refuses duplicates")
NEVER = Resend("nothing tells a repetition from a second post", harmless=False)


def resend_with_key(within: timedelta) -> Resend:
    return Resend("the network knows its key", within)


class Http(Protocol):
    """The door outwards, opened for one act: it knows until when the act may begin, and shows no secrets."""

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Raises NotSent or NoAnswer; whatever the server says is an answer."""
        ...

    async def fetch(self, url: str, *, most: int) -> Answer:
        """A picture or film from an address a person gave: checked first, and no more than so many bytes."""
        ...


Action = Callable[..., Awaitable[Any]]  # (http, *arguments) → what came of it, or a Failure
Lookup = Callable[..., Awaitable[LookupResult | Failure]]  # (http, intent, *arguments)


class Call(Protocol):
    """The three verbs of a publish. Whatever ends a run early (no, not yet, in doubt) ends it inside these."""

    async def step(self, name: str, act: Action, *arguments: Any) -> Any:
        """Inert: may be repeated after a crash. What came of it is remembered, so it must be JSON."""
        ...

    async def until(self, name: str, ready: Action, *arguments: Any, every: timedelta, patience: timedelta) -> Any:
        """Asks until the answer is not None; between two questions the job is parked and holds nothing."""
        ...

    async def once(self, name: str, act: Action, *arguments: Any, found: Lookup | None, resend: Resend) -> Receipt:
        """Visible. If its answer is lost, `found` looks for it before anything is sent again, if it ever is.

        Without `found` nobody can look, and a person is asked, unless sending again is harmless.
        """
        ...

    async def list_taken_ids(self, remote_ids: list[str]) -> set[str]:
        """Which of these posts of this account belong to other jobs."""
        ...


class Provider(Protocol):
    """One network. `timeout` is that of a call, `visibility` how long a new post may stay out of its own lists."""

    name: str
    promise: Promise
    timeout: timedelta
    visibility: timedelta

    async def publish(self, post: Post, call: Call) -> Published: ...
    async def refresh(self, account: Account, http: Http) -> Tokens | Failure: ...
    def classify(self, answer: Answer) -> Failure:
        """The network's own code table; `rules.failures.classify_status` where it says nothing."""
        ...
