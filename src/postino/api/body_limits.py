"""Middleware for request bodies: reads each completely, in time and within its limits, and checks that it is JSON.

It reads no body where the route takes none. Large bodies are parsed in a thread, and never twice.
"""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.beside_loop import LARGE, BesideLoop
from postino.api.caller import ANONYMOUS, CALLER
from postino.api.problems import matches, problem
from postino.api.routes import JSON_BODY, BodyLimit, Route
from postino.values.text import INVALID_CHARACTERS, INVALID_CHARACTERS_MESSAGE, MAX_QUOTED

PARSED = "postino.body"  # key of the parsed body in the scope
MAX_LARGE_BODIES = 4  # of one caller at once
ESCAPE = b"\\u"  # JSON can contain an invalid character only as an escape
MIN_BYTES_PER_SECOND = 10_000  # after the first `read_timeout` seconds
MAX_DEPTH = 100
MAX_KEYS = 1_000  # of an object within the body
MAX_ELEMENTS = 10_000  # of a list within the body
MAX_OBJECTS = 1_000  # of a list of objects: an object takes ten times as long to validate as a text
FREE_FIELDS = ("payload",)  # belongs to a job's handler; its size is not limited
TOO_LARGE = "The body is larger than {:,} bytes. Give images and videos by their URL."
FILE_TOO_LARGE = "The file is larger than {:,} bytes. Split it into several."
NO_BODY = "This request takes no body. Send it without one."
TOO_MANY_AT_ONCE = "You are sending {} large bodies at once, which is the maximum. Send this one when another is done."
TOO_SLOW = "The body did not arrive within {:g} seconds. Send it again without pauses."
TOO_DEEP = "The body is nested too deeply."
TOO_MANY = "{} has more than {:,} {}."


class InvalidBody(Exception):
    """A body that cannot be read, with the status and text of the error."""

    def __init__(self, status: int, detail: str, field: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field = status, detail, field
        self.headers = None if retry_after is None else {"Retry-After": str(retry_after)}


class ClientDisconnected(Exception):
    """The client closed the connection before the body was complete."""


class BodyLimits:
    """Passes JSON bodies on as `application/json`, whatever their header says, and files unchanged."""

    def __init__(self, app: ASGIApp, *, read_timeout: float, routes: Sequence[Route], beside: BesideLoop) -> None:
        self.app, self.read_timeout, self.routes, self.beside = app, read_timeout, routes, beside
        self.large_bodies: Counter[str] = Counter()  # by caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not has_body(scope):
            await self.app(scope, receive, send)
            return
        route = self.find_route(scope)
        if route is None:  # the response is 404 or 405; a router that finds a route all the same gets no body
            await self.app(scope, replay_body(b"", receive), send)
            return
        try:
            if not route.takes_body:
                raise InvalidBody(413, NO_BODY)
            with self.limit_large_bodies(scope) as count_body:
                await self.pass_on(scope, receive, send, route.body, count_body)
        except InvalidBody as error:
            response = problem(error.status, f"{error.detail} Nothing was changed.", error.field, error.headers)
            await response(scope, receive, send)
        except ClientDisconnected:
            return

    def find_route(self, scope: Scope) -> Route | None:
        """Return the route of a request. A path without parameters goes before one with them, whatever its methods."""
        method, path = scope["method"], scope["path"]
        routes = [one for one in self.routes if one.path == path] or [
            one for one in self.routes if matches(one.path, path)
        ]
        return next((one for one in routes if one.method == method), None)

    async def pass_on(
        self, scope: Scope, receive: Receive, send: Send, limit: BodyLimit, count_body: Callable[[int], None]
    ) -> None:
        body = await self.read(scope, receive, limit, count_body)
        if not limit.is_file:  # the import itself reports what is wrong with a file, line by line
            value = await self.beside.run(partial(check_body, body, limit.max_fields), len(body))
            scope = {**set_json_type(scope), PARSED: value}
        await self.app(scope, replay_body(body, receive), send)

    @contextmanager
    def limit_large_bodies(self, scope: Scope) -> Iterator[Callable[[int], None]]:
        """Return a function that counts the request once its body is large. Raises InvalidBody if there are many."""
        caller = scope.get(CALLER, ANONYMOUS).key
        counted = 0

        def count_body(size: int) -> None:
            nonlocal counted
            if size <= LARGE or counted:
                return
            if self.large_bodies[caller] >= MAX_LARGE_BODIES:
                raise InvalidBody(429, TOO_MANY_AT_ONCE.format(MAX_LARGE_BODIES), retry_after=1)
            counted = 1
            self.large_bodies[caller] += 1

        try:
            yield count_body
        finally:
            self.large_bodies[caller] -= counted
            self.large_bodies += Counter()  # drops callers that have none

    async def read(self, scope: Scope, receive: Receive, limit: BodyLimit, count_body: Callable[[int], None]) -> bytes:
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
                    count_body(size)
                    if not received.get("more_body"):
                        return b"".join(parts)
                    timeout.reschedule(started_at + self.read_timeout + size / MIN_BYTES_PER_SECOND)
        except TimeoutError:
            raise InvalidBody(408, TOO_SLOW.format(self.read_timeout)) from None


class ParsedRequest(Request):
    """A request whose body BodyLimits has parsed."""

    async def json(self) -> Any:
        return self.scope[PARSED] if PARSED in self.scope else await super().json()


class ParsedBodyRoute(APIRoute):
    """A route that takes the parsed body instead of parsing it again."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle: Callable[[Request], Awaitable[Response]] = super().get_route_handler()

        async def handle_parsed(request: Request) -> Response:
            return await handle(ParsedRequest(request.scope, request.receive))

        return handle_parsed


def has_body(scope: Scope) -> bool:
    """Return whether the headers announce a body."""
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


def set_json_type(scope: Scope) -> Scope:
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*headers, (b"content-type", b"application/json")]}


def check_body(body: bytes, max_fields: int = JSON_BODY.max_fields) -> Any:
    """Return the value of a body.

    Raises InvalidBody unless it is JSON in UTF-8, within the limits, with unique names and valid characters.
    """
    if not body:
        return None
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
    place = find_invalid_character(value) if ESCAPE in body else None
    if place is not None:
        field = format_place(place)
        raise InvalidBody(422, f"{field or 'The body'} {INVALID_CHARACTERS_MESSAGE}", field)
    return value


def check_size(name: str, part: Any) -> None:
    """Reject fields that would take long to validate."""
    level, shown = [part], INVALID_CHARACTERS.sub("\ufffd", name[:MAX_QUOTED])
    for _ in range(MAX_DEPTH):
        level = [it for it in level if isinstance(it, dict | list)]
        if not level:
            return
        if name not in FREE_FIELDS:
            if any(len(it) > MAX_KEYS for it in level if isinstance(it, dict)):
                raise InvalidBody(422, TOO_MANY.format(f"An object in {shown}", MAX_KEYS, "fields"), shown)
            for most in {limit_elements(it) for it in level if len(it) > limit_elements(it)}:
                raise InvalidBody(422, TOO_MANY.format(shown or "The body", most, "elements"), shown)
        level = [inner for it in level for inner in (it.values() if isinstance(it, dict) else it)]
    raise InvalidBody(400, TOO_DEEP)


def limit_elements(part: dict[str, Any] | list[Any]) -> int:
    """Return how many elements this part may have. Validation stops at the first wrong one."""
    return MAX_OBJECTS if isinstance(part, list) and part and isinstance(part[0], dict | list) else MAX_ELEMENTS


def reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise InvalidBody(400, f"The body contains a number that is too large: {text[:40]}.")
    return number


def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; reject it if a name occurs twice, because the client may mean either value."""
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated = next(name for name in values if counts[name] > 1)
        shown = INVALID_CHARACTERS.sub("\ufffd", repeated)[:MAX_QUOTED]
        raise InvalidBody(422, f"{shown} is in the same object twice. Give it once.", shown)
    return values


def find_invalid_character(value: Any) -> list[str | int] | None:
    """Return the place of an invalid character, innermost part first; None if there is none."""
    match value:
        case str():
            return [] if INVALID_CHARACTERS.search(value) else None
        case dict():
            for name, part in value.items():
                if INVALID_CHARACTERS.search(name):
                    return []
                if (place := find_invalid_character(part)) is not None:
                    return [*place, name]
        case list():
            for number, part in enumerate(value):
                if (place := find_invalid_character(part)) is not None:
                    return [*place, number]
    return None


def format_place(place: Sequence[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part[:MAX_QUOTED]}" for part in reversed(place))
    return "".join(parts).removeprefix(".")


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that yields the body once more, then what follows it."""
    unread = [body]

    async def receive_again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return receive_again
