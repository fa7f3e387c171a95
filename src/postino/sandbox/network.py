"""The contract of a simulated network: one file in `networks/` each, with its endpoints in a table.

A network decides what a call does and how its errors look. Reading, counting, failing and answering calls is the same
for all networks, and no part of this contract.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

from postino.sandbox.network_state import NetworkState, SandboxFile

MAX_INTEGER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a network: JSON, or bytes as they are."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    afterwards: Callable[[NetworkState], None] | None = None  # a separate write, after the rest is on disk
    retry_at: datetime | None = None  # the end of the rate limit that the reply names, in whatever way


class RequestRefused(Exception):
    """The network refuses the call; what the call wrote is rolled back."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCall:
    """A call as it arrived. `params` combines the query, the form and the JSON body."""

    endpoint: "SandboxEndpoint"
    url: str  # of the network, without a trailing slash
    path: Mapping[str, str]
    params: Mapping[str, Any]
    files: Mapping[str, SandboxFile]
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    token: str | None = None
    fetched: Mapping[str, SandboxFile | None] = field(default_factory=dict)  # by URL; None if the download failed

    def text(self, name: str, default: str = "") -> str:
        value = self.params.get(name)
        return default if value is None else str(value)

    def is_true(self, name: str) -> bool:
        return self.text(name).lower() in ("1", "true")


EndpointAction: TypeAlias = Callable[[SandboxCall, NetworkState], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxEndpoint:
    """One endpoint of a network."""

    name: str
    methods: tuple[str, ...]
    path: str  # with {placeholders}
    act: EndpointAction
    takes: Sequence[str] = ()  # any other parameter is refused
    raw: bool = False  # the body is not parsed
    attachments: bool = False  # files may have any field name
    open: bool = False  # needs no token
    reads: bool = False  # changes nothing, so a blocked account may call it
    visible: bool = False  # people see its effect
    listed: bool = False  # what it creates appears in a list
    refreshes: bool = False  # renews tokens
    gone: Callable[[SandboxCall, NetworkState], None] | None = None  # deletes the session or container of the call
    when: Callable[[SandboxCall], bool] | None = None  # distinguishes endpoints with the same path
    fetches: Callable[[SandboxCall], Sequence[str]] | None = None  # the URLs that the network downloads


class TokenProblem(StrEnum):
    """What is wrong with a token."""

    MISSING = "missing"
    UNKNOWN = "unknown"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSetup:
    """The id, credentials and first tokens of a new account."""

    remote_id: str
    credentials: Mapping[str, str] = field(repr=False)
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)  # token → kind


class SandboxNetwork(ABC):
    """One simulated network: its name, its look in the feed, its endpoints, its accounts and its errors."""

    name: ClassVar[str]
    title: ClassVar[str]
    colour: ClassVar[str]
    icon: ClassVar[str]  # an SVG path in a 24 × 24 square, filled with evenodd
    handle: ClassVar[str]  # of the account that exists from the start
    prefix: ClassVar[str] = ""  # a pattern of what may precede every path
    settings: ClassVar[Mapping[str, float]] = {}
    endpoints: ClassVar[tuple[SandboxEndpoint, ...]]

    @abstractmethod
    def set_up_account(self, handle: str) -> AccountSetup:
        """Return the account for this handle; always the same for the same handle."""

    def read_token(self, call: SandboxCall) -> str | None:
        kind, _, token = call.headers.get("authorization", "").partition(" ")
        return token if kind.lower() == "bearer" and token else None

    def default_headers(self, state: NetworkState) -> Mapping[str, str]:
        """Return the headers of every reply to an account."""
        return {}

    def check_rate_limit(self, state: NetworkState) -> int | None:
        """Count the call; return the seconds to wait if the account called too often."""
        return None

    @abstractmethod
    def reply_bad_request(self, message: str) -> Reply: ...

    @abstractmethod
    def reply_unauthorized(self, problem: TokenProblem) -> Reply: ...

    @abstractmethod
    def reply_blocked(self) -> Reply: ...

    @abstractmethod
    def reply_not_found(self) -> Reply: ...

    @abstractmethod
    def reply_internal_error(self) -> Reply: ...

    @abstractmethod
    def reply_misleading_error(self) -> Reply:
        """Return an error that does not tell whether the call was processed."""

    @abstractmethod
    def reply_rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        """Return a 429 in the network's format; `seconds` None: without an end."""


def parse_whole_number(text: str) -> int | None:
    """Return the number, or None if the text is no whole number that fits into the database."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else MAX_INTEGER + 1
    return number if number <= MAX_INTEGER else None


def derive_secret(network: str, handle: str, purpose: str, length: int = 40) -> str:
    return hashlib.sha256(f"{network} {handle} {purpose}".encode()).hexdigest()[:length]


def derive_digits(network: str, handle: str, length: int) -> str:
    """Return digits that could be an id: the first is not 0."""
    number = int(derive_secret(network, handle, "id"), 16)
    return str(10 ** (length - 1) + number % (9 * 10 ** (length - 1)))
