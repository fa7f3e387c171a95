"""Requests and what comes back, as values: nothing here speaks to anybody."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID

from postino.errors import WrongUse

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """What is asked, and the type of what is answered. A body may hold credentials: it is not shown."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    key: str | None = None
    after: str | None = None  # the last event that was heard
    kind: str = "application/json"  # of the body

    @property
    def repeatable(self) -> bool:
        """Sent twice it does no more than sent once."""
        return self.method == "GET" or self.key is not None

    @property
    def address(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def headers(self) -> dict[str, str]:
        said = {"Idempotency-Key": self.key, "Last-Event-ID": self.after}
        told = {name: text for name, text in said.items() if text is not None}
        return told | ({} if self.body is None else {"Content-Type": self.kind})

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # their names in small letters
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came. Whether the request arrived, nobody knows here."""

    why: str


def get(*path: object, **query: object) -> Request[Any]:
    return Request("GET", path_of(path), query_of(query))


def send(method: str, *path: object, body: Mapping[str, Any] | None = None, key: str | None = None) -> Request[Any]:
    """Fields that are None are sent as null: leave out what is not to be said."""
    if key is not None and not (0 < len(key) <= 255 and key.isascii() and key.isprintable()):
        raise WrongUse("key: an idempotency key has 1 to 255 printable ASCII characters.", "key")
    try:
        sent = None if body is None else json.dumps(body, default=text_of, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise WrongUse(f"The request cannot be written as JSON: {error}. Nothing was sent.") from None
    return Request(method, path_of(path), body=sent, key=key)


def post(*path: object, key: str | None = None, **body: Any) -> Request[Any]:
    return send("POST", *path, body=said(body), key=key)


def remove(*path: object, **query: object) -> Request[Any]:
    return replace(send("DELETE", *path), query=query_of(query))


def said(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def path_of(parts: tuple[object, ...]) -> str:
    names = [str(part) for part in parts]
    for name in names:
        if name in ("", ".", "..") or "/" in name:  # a server reads a slash as the end of a name, however it is written
            raise WrongUse(f"{name!r} is no id, or none that fits into an address. Nothing was sent.", "id")
    return "/v1/" + "/".join(quote(name, safe="") for name in names)


def query_of(query: Mapping[str, object]) -> dict[str, str]:
    return {name: text_of(value) for name, value in query.items() if value is not None}


def text_of(value: object) -> str:
    """As an address or a JSON text has it."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case datetime() | date():
            return value.isoformat()
        case int() | UUID():
            return str(value)
        case list() | tuple() | set() | frozenset():
            return ",".join(text_of(one) for one in value)
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be sent")
