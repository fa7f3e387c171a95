"""The contract of a simulated network: one file in `networks/` each, with its routes in a table.

A network decides what a call means and how it says no. How calls arrive, are counted, fail and are answered is not
its business: that is the same for all of them.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

from postino.sandbox.network_state import File, Memory

LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: JSON, or bytes as they are."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    afterwards: Callable[[Memory], None] | None = None  # written on its own, once the rest is on disk
    retry_at: datetime | None = None  # the caller was told, in whatever way, to stay away until then


class Refused(Exception):
    """The network says no; whatever the call had written is taken back."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A call as it arrived. `params` are those of the address, the form or the JSON body together."""

    endpoint: "Endpoint"
    url: str  # of the network, without a slash at its end
    path: Mapping[str, str]
    params: Mapping[str, Any]
    files: Mapping[str, File]
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    token: str | None = None
    fetched: Mapping[str, File | None] = field(default_factory=dict)  # by address; None where it could not be fetched

    def text(self, name: str, default: str = "") -> str:
        value = self.params.get(name)
        return default if value is None else str(value)

    def truth(self, name: str) -> bool:
        return self.text(name).lower() in ("1", "true")


Act: TypeAlias = Callable[[Ask, Memory], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A row of a route table."""

    name: str
    methods: tuple[str, ...]
    path: str  # with {placeholders}
    act: Act
    takes: Sequence[str] = ()  # any other parameter is refused
    raw: bool = False  # the body is bytes nobody looks into
    attachments: bool = False  # files may come under any name
    open: bool = False  # needs no token
    reads: bool = False  # changes nothing, so a blocked account may still do it
    visible: bool = False  # people can see what it does
    listed: bool = False  # what it makes shows up in a list
    refreshes: bool = False  # gives new tokens for old
    gone: Callable[[Ask, Memory], None] | None = None  # forgets the session or container the call relies on
    when: Callable[[Ask], bool] | None = None  # tells apart endpoints that share an address
    fetches: Callable[[Ask], Sequence[str]] | None = None  # what the network would fetch for itself


class Doubt(StrEnum):
    """What is wrong with a token."""

    MISSING = "missing"
    UNKNOWN = "unknown"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What a network hands to somebody who opens an account."""

    remote_id: str
    credentials: Mapping[str, str] = field(repr=False)
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)  # token → kind


class Network(ABC):
    """One network: its name, looks and routes, how accounts are opened, and how it says no."""

    name: ClassVar[str]
    title: ClassVar[str]
    colour: ClassVar[str]
    icon: ClassVar[str]  # a path in a square of 24, filled by the rule of even and odd
    handle: ClassVar[str]  # of the account that is there from the start
    prefix: ClassVar[str] = ""  # a pattern for what may stand before every path
    settings: ClassVar[Mapping[str, float]] = {}
    endpoints: ClassVar[tuple[Endpoint, ...]]

    @abstractmethod
    def membership(self, handle: str) -> Membership:
        """The same for the same handle, always."""

    def token(self, ask: Ask) -> str | None:
        kind, _, token = ask.headers.get("authorization", "").partition(" ")
        return token if kind.lower() == "bearer" and token else None

    def usual_headers(self, memory: Memory) -> Mapping[str, str]:
        """Sent with every answer to an account."""
        return {}

    def overdrawn(self, memory: Memory) -> int | None:
        """Seconds to wait, if this account called too often."""
        return None

    @abstractmethod
    def bad_request(self, message: str) -> Reply: ...

    @abstractmethod
    def unauthorized(self, doubt: Doubt) -> Reply: ...

    @abstractmethod
    def blocked(self) -> Reply: ...

    @abstractmethod
    def no_such_endpoint(self) -> Reply: ...

    @abstractmethod
    def internal_error(self) -> Reply: ...

    @abstractmethod
    def published_anyway(self) -> Reply:
        """An error that says nothing about whether it worked."""

    @abstractmethod
    def rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        """In the network's own words and headers; None: without a hint how long."""


def whole_number(text: str) -> int | None:
    """None if it is none, or one no database could hold."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else LARGEST + 1
    return number if number <= LARGEST else None


def secret_of(network: str, handle: str, purpose: str, length: int = 40) -> str:
    return hashlib.sha256(f"{network} {handle} {purpose}".encode()).hexdigest()[:length]


def digits_of(network: str, handle: str, length: int) -> str:
    """A number that could be an id: it does not begin with a nought."""
    number = int(secret_of(network, handle, "id"), 16)
    return str(10 ** (length - 1) + number % (9 * 10 ** (length - 1)))
