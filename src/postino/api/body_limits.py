"""What comes in: at most a megabyte of JSON, in whole characters and in time. The rest is refused before it is read."""

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.problems import problem

MOST_BYTES = 1_000_000
WITH_BODY = ("POST", "PATCH", "PUT")
BROKEN = re.compile("[\x00\ud800-\udfff]")  # NUL and half characters can neither be stored nor sent
ESCAPE = b"\\u"  # as nothing else they can be written in JSON
MOST_FILE_BYTES = 20_000_000
MOST_OF_STRANGERS = 20_000
SIZES = {"/v1/imports": MOST_FILE_BYTES, "/v1/login": MOST_OF_STRANGERS}
SLOWEST = 10_000  # bytes in a second, after the first moments
MOST_LEVELS = 100
MOST_FIELDS = 100  # of a body; each that there is not costs time to be told of
MOST_FIELDS_OF_STRANGERS = 20
MOST_NAMES = 1_000  # of an object in it
MOST_ELEMENTS = 10_000  # of a list in it
AS_THEY_ARE = ("payload",)  # a job's own, in which nobody looks for fields
MOST_SHOWN = 100  # characters of a name
TOO_LARGE = "The body is larger than {:,} bytes. Pictures and films go by their address, not in here."
TOO_LARGE_A_FILE = "The file is larger than {:,} bytes. Split it into several."
TOO_SLOW = "The body did not arrive within {:g} seconds. Send it again, all at once."
TOO_DEEP = "The body is nested too deeply."
TOO_MANY = "{} has more than {:,} {}."
BROKEN_CHARACTER = "holds a broken character: type it again instead of pasting it."


class Unreadable(Exception):
    """The body is not what can be read, and why."""

    def __init__(self, status: int, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field = status, detail, field


class Gone(Exception):
    """Whoever sent it hung up before it was whole."""


class Bodies:
    """Reads each body whole and hands it on as JSON, whatever its header calls it; a file as it is."""

    def __init__(self, app: ASGIApp, *, patience: float) -> None:
        self.app = app
        self.patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in WITH_BODY:
            await self.app(scope, receive, send)
            return
        most = SIZES.get(scope["path"], MOST_BYTES)
        a_file = most == MOST_FILE_BYTES
        try:
            body = await self.read(scope, receive, most)
            if not a_file:  # whoever reads a file says what is wrong with it, and where
                check(body, MOST_FIELDS_OF_STRANGERS if most == MOST_OF_STRANGERS else MOST_FIELDS)
        except Unreadable as error:
            refusal = problem(error.status, f"{error.detail} Nothing was changed.", error.field)
            await refusal(scope, receive, send)
            return
        except Gone:
            return
        await self.app(scope if a_file else as_json(scope), once(body, receive), send)

    async def read(self, scope: Scope, receive: Receive, most: int) -> bytes:
        """Whole, or not at all: what a sender did not finish is nothing it asked for."""
        too_large = Unreadable(413, (TOO_LARGE_A_FILE if most == MOST_FILE_BYTES else TOO_LARGE).format(most))
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise too_large
        parts, size, begun_at = [], 0, asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self.patience) as limit:
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_large
                    if not message.get("more_body"):
                        return b"".join(parts)
                    limit.reschedule(begun_at + self.patience + size / SLOWEST)
        except TimeoutError:
            raise Unreadable(408, TOO_SLOW.format(self.patience)) from None


def as_json(scope: Scope) -> Scope:
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*headers, (b"content-type", b"application/json")]}


def check(body: bytes, most_fields: int = MOST_FIELDS) -> None:
    if not body:
        return
    try:
        value = json.loads(
            body.decode(), parse_constant=no_number, parse_float=finite, object_pairs_hook=each_name_once
        )
    except UnicodeDecodeError as error:
        raise Unreadable(400, f"The body is not UTF-8 text (byte {error.start}).") from None
    except RecursionError:
        raise Unreadable(400, TOO_DEEP) from None
    except ValueError as error:
        raise Unreadable(400, f"The body is not JSON: {error}.") from None
    fields = value if isinstance(value, dict) else {"": value}
    if len(fields) > most_fields:
        raise Unreadable(422, TOO_MANY.format("The body", most_fields, "fields"))
    for name, part in fields.items():
        check_size(name, part)
    place = broken(value) if ESCAPE in body else None
    if place is not None:
        field = told(place)
        raise Unreadable(422, f"{field or 'The body'} {BROKEN_CHARACTER}", field)


def check_size(name: str, part: Any) -> None:
    """Refuses what would take long to look at piece by piece."""
    level, shown = [part], BROKEN.sub("\ufffd", name[:MOST_SHOWN])
    for _ in range(MOST_LEVELS):
        level = [it for it in level if isinstance(it, dict | list)]
        if not level:
            return
        if name not in AS_THEY_ARE:
            if any(len(it) > MOST_NAMES for it in level if isinstance(it, dict)):
                raise Unreadable(422, TOO_MANY.format(f"An object in {shown}", MOST_NAMES, "fields"), shown)
            if any(len(it) > MOST_ELEMENTS for it in level):
                raise Unreadable(422, TOO_MANY.format(shown or "The body", MOST_ELEMENTS, "elements"), shown)
        level = [inner for it in level for inner in (it.values() if isinstance(it, dict) else it)]
    raise Unreadable(400, TOO_DEEP)


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON knows")


def finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Unreadable(400, f"The body holds a number that is too large: {text[:40]}.")
    return number


def each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two values under one name nobody knows which was meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name in found if times[name] > 1)
        shown = BROKEN.sub("\ufffd", twice)[:MOST_SHOWN]
        raise Unreadable(422, f"{shown} is in the same object twice: say it once.", shown)
    return found


def broken(value: Any) -> list[str | int] | None:
    """Where, from the inside out, there are characters that nobody can keep; None: nowhere."""
    match value:
        case str():
            return [] if BROKEN.search(value) else None
        case dict():
            for name, part in value.items():
                if BROKEN.search(name):
                    return []
                if (place := broken(part)) is not None:
                    return [*place, name]
        case list():
            for number, part in enumerate(value):
                if (place := broken(part)) is not None:
                    return [*place, number]
    return None


def told(place: Sequence[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part[:MOST_SHOWN]}" for part in reversed(place))
    return "".join(parts).removeprefix(".")


def once(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, then whatever comes after it."""
    unread = [body]

    async def again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return again
