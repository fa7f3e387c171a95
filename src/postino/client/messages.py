"""Build API requests and hold responses, as plain values. Nothing here does any I/O."""

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
class ApiRequest(Generic[T]):
    """One HTTP request; `T` is the type of its response. `repr` omits the body, which may hold credentials."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    idempotency_key: str | None = None
    last_event_id: str | None = None
    content_type: str = "application/json"

    @property
    def is_repeatable(self) -> bool:
        """Return whether sending the request twice has the same effect as sending it once."""
        return self.method == "GET" or self.idempotency_key is not None

    @property
    def target(self) -> str:
        """The path with its query string."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def headers(self) -> dict[str, str]:
        optional = {"Idempotency-Key": self.idempotency_key, "Last-Event-ID": self.last_event_id}
        headers = {name: text for name, text in optional.items() if text is not None}
        return headers if self.body is None else {**headers, "Content-Type": self.content_type}

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A complete HTTP response."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoResponse:
    """The connection failed before a complete response arrived. The server may have processed the request."""

    reason: str


def get(*path: object, **query: object) -> ApiRequest[Any]:
    """Build a GET request. Parameters that are None are omitted."""
    return ApiRequest("GET", build_path(path), build_query(query))


def send(method: str, *path: object, body: Mapping[str, Any] | None = None, key: str | None = None) -> ApiRequest[Any]:
    """Build a request with a JSON body. Fields that are None are sent as null."""
    if key is not None and not (0 < len(key) <= 255 and key.isascii() and key.isprintable()):
        raise WrongUse("key: an idempotency key has 1 to 255 printable ASCII characters.", "key")
    try:
        content = None if body is None else json.dumps(body, default=to_text, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise WrongUse(f"The request cannot be written as JSON: {error}. Nothing was sent.") from None
    return ApiRequest(method, build_path(path), body=content, idempotency_key=key)


def post(*path: object, key: str | None = None, **body: Any) -> ApiRequest[Any]:
    """Build a POST request, without a body if there are no fields. Fields that are None are omitted."""
    return send("POST", *path, body=omit_none(body) if body else None, key=key)


def delete(*path: object, **query: object) -> ApiRequest[Any]:
    """Build a DELETE request."""
    return replace(send("DELETE", *path), query=build_query(query))


def omit_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def build_path(parts: tuple[object, ...]) -> str:
    names = [str(part) for part in parts]
    for name in names:
        if name in ("", ".", "..") or "/" in name:  # servers treat an encoded slash as a separator too
            raise WrongUse(f"{name!r} is not a valid id. Nothing was sent.", "id")
    return "/v1/" + "/".join(quote(name, safe="") for name in names)


def build_query(query: Mapping[str, object]) -> dict[str, str]:
    return {name: to_text(value) for name, value in query.items() if value is not None}


def to_text(value: object) -> str:
    """Convert a value to the text that a query string or a JSON body holds."""
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
            return ",".join(to_text(item) for item in value)
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be sent")
