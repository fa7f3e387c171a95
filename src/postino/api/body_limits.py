"""Middleware for request bodies: reads each completely, in time and within its limits, and checks that it is JSON."""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.problems import problem
from postino.api.routes import JSON_BODY, METHODS_WITH_BODY, BodyLimit
from postino.api.text_checks import BROKEN, BROKEN_CHARACTER, MAX_NAME

ESCAPE = b"\\u"  # JSON can write a broken character only as an escape
MIN_BYTES_PER_SECOND = 10_000  # after the first `read_timeout` seconds
MAX_DEPTH = 100
MAX_KEYS = 1_000  # of an object within the body
MAX_ELEMENTS = 10_000  # of a list within the body
FREE_FIELDS = ("payload",)  # belongs to a job's handler; its size is not limited
TOO_LARGE = "The body is larger than {:,} bytes. Give images and videos by their URL."
FILE_TOO_LARGE = "The file is larger than {:,} bytes. Split it into several."
TOO_SLOW = "The body did not arrive within {:g} seconds. Send it again without pauses."
TOO_DEEP = "The body is nested too deeply."
TOO_MANY = "{} has more than {:,} {}."


class InvalidBody(Exception):
    """A body that cannot be read, with the status and text of the error."""

    def __init__(self, status: int, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field = status, detail, field


class ClientDisconnected(Exception):
    """The client closed the connection before the body was complete."""


class BodyLimits:
    """Passes JSON bodies on as `application/json`, whatever their header says, and files unchanged."""

    def __init__(self, app: ASGIApp, *, read_timeout: float, limits: Mapping[str, BodyLimit]) -> None:
        self.app, self.read_timeout, self.limits = app, read_timeout, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in METHODS_WITH_BODY:
            await self.app(scope, receive, send)
            return
        limit = self.limits.get(scope["path"], JSON_BODY)
        try:
            body = await self.read(scope, receive, limit)
            if not limit.is_file:  # the import itself reports what is wrong with a file, line by line
                check_body(body, limit.max_fields)
        except InvalidBody as error:
            await problem(error.status, f"{error.detail} Nothing was changed.", error.field)(scope, receive, send)
            return
        except ClientDisconnected:
            return
        await self.app(scope if limit.is_file else set_json_type(scope), replay_body(body, receive), send)

    async def read(self, scope: Scope, receive: Receive, limit: BodyLimit) -> bytes:
        """Return the complete body. A request that the client did not finish is dropped."""
        message = FILE_TOO_LARGE if limit.is_file else TOO_LARGE
        too_large = InvalidBody(413, message.format(limit.max_bytes))
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and int(declared) > limit.max_bytes:
            raise too_large
        parts, size, started_at = [], 0, asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self.read_timeout) as timeout:
                while True:
                    received = await receive()
                    if received["type"] == "http.disconnect":
                        raise ClientDisconnected
                    parts.append(received.get("body", b""))
                    size += len(parts[-1])
                    if size > limit.max_bytes:
                        raise too_large
                    if not received.get("more_body"):
                        return b"".join(parts)
                    timeout.reschedule(started_at + self.read_timeout + size / MIN_BYTES_PER_SECOND)
        except TimeoutError:
            raise InvalidBody(408, TOO_SLOW.format(self.read_timeout)) from None


def set_json_type(scope: Scope) -> Scope:
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*headers, (b"content-type", b"application/json")]}


def check_body(body: bytes, max_fields: int = JSON_BODY.max_fields) -> None:
    """Raise InvalidBody unless this is JSON in UTF-8, within the limits and without ambiguous or broken content."""
    if not body:
        return
    try:
        value = json.loads(
            body.decode(), parse_constant=reject_constant, parse_float=parse_finite, object_pairs_hook=build_object
        )
    except UnicodeDecodeError as error:
        raise InvalidBody(400, f"The body is not UTF-8 text (byte {error.start}).") from None
    except RecursionError:
        raise InvalidBody(400, TOO_DEEP) from None
    except ValueError as error:
        raise InvalidBody(400, f"The body is not JSON: {error}.") from None
    fields = value if isinstance(value, dict) else {"": value}
    if len(fields) > max_fields:
        raise InvalidBody(422, TOO_MANY.format("The body", max_fields, "fields"))
    for name, part in fields.items():
        check_size(name, part)
    place = find_broken(value) if ESCAPE in body else None
    if place is not None:
        field = format_place(place)
        raise InvalidBody(422, f"{field or 'The body'} {BROKEN_CHARACTER}", field)


def check_size(name: str, part: Any) -> None:
    """Reject what would take long to validate."""
    level, shown = [part], BROKEN.sub("\ufffd", name[:MAX_NAME])
    for _ in range(MAX_DEPTH):
        level = [it for it in level if isinstance(it, dict | list)]
        if not level:
            return
        if name not in FREE_FIELDS:
            if any(len(it) > MAX_KEYS for it in level if isinstance(it, dict)):
                raise InvalidBody(422, TOO_MANY.format(f"An object in {shown}", MAX_KEYS, "fields"), shown)
            if any(len(it) > MAX_ELEMENTS for it in level):
                raise InvalidBody(422, TOO_MANY.format(shown or "The body", MAX_ELEMENTS, "elements"), shown)
        level = [inner for it in level for inner in (it.values() if isinstance(it, dict) else it)]
    raise InvalidBody(400, TOO_DEEP)


def reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InvalidBody(400, f"The body holds a number that is too large: {text[:40]}.")
    return number


def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object whose names are unique: of two values under one name, nobody knows which is meant."""
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated = next(name for name in values if counts[name] > 1)
        shown = BROKEN.sub("\ufffd", repeated)[:MAX_NAME]
        raise InvalidBody(422, f"{shown} is in the same object twice. Give it once.", shown)
    return values


def find_broken(value: Any) -> list[str | int] | None:
    """Return the place of a broken character, innermost part first; None if there is none."""
    match value:
        case str():
            return [] if BROKEN.search(value) else None
        case dict():
            for name, part in value.items():
                if BROKEN.search(name):
                    return []
                if (place := find_broken(part)) is not None:
                    return [*place, name]
        case list():
            for number, part in enumerate(value):
                if (place := find_broken(part)) is not None:
                    return [*place, number]
    return None


def format_place(place: Sequence[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part[:MAX_NAME]}" for part in reversed(place))
    return "".join(parts).removeprefix(".")


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that yields the body once more, then what follows it."""
    unread = [body]

    async def receive_again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return receive_again
