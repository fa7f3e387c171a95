"""What comes in: at most a megabyte of JSON, in whole characters. Everything else is refused before it is read."""

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.problems import problem

MOST_BYTES = 1_000_000
MOST_DROPPED = 20 * MOST_BYTES
WITH_BODY = ("POST", "PATCH", "PUT")
BROKEN = re.compile("[\x00\ud800-\udfff]")  # NUL and half characters can neither be stored nor sent
FILES = ("/v1/imports",)
MOST_FILE_BYTES = 20_000_000
TOO_LARGE_A_FILE = f"The file is larger than {MOST_FILE_BYTES:,} bytes. Split it into several."
TOO_LARGE = f"The body is larger than {MOST_BYTES:,} bytes. Pictures and films go by their address, not in here."


class Unreadable(Exception):
    """The body is not what can be read, and why."""

    def __init__(self, status: int, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field = status, detail, field


class Bodies:
    """Reads each body whole and hands it on as JSON, whatever its header calls it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in WITH_BODY:
            await self.app(scope, receive, send)
            return
        if scope["path"] in FILES:
            await self.pass_file(scope, receive, send)
            return
        try:
            body = await read(receive)
            check(body)
        except Unreadable as error:
            closing = {"Connection": "close"} if error.status == 413 else None
            refusal = problem(error.status, f"{error.detail} Nothing was changed.", error.field, closing)
            await refusal(scope, receive, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
        as_json = {**scope, "headers": [*headers, (b"content-type", b"application/json")]}
        await self.app(as_json, once(body, receive), send)

    async def pass_file(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As it is: whoever reads it says what is wrong with it, and where."""
        try:
            body = await read(receive, MOST_FILE_BYTES)
        except Unreadable as error:
            refusal = problem(error.status, f"{error.detail} Nothing was changed.", None, {"Connection": "close"})
            await refusal(scope, receive, send)
            return
        await self.app(scope, once(body, receive), send)


async def read(receive: Receive, most: int = MOST_BYTES) -> bytes:
    """Of what is too large some is read all the same, and dropped: most senders do not listen before they are done."""
    parts, size = [], 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size <= most:
            parts.append(part)
        over = message["type"] == "http.disconnect" or not message.get("more_body")
        if size > max(MOST_DROPPED, most) or (over and size > most):
            raise Unreadable(413, TOO_LARGE if most == MOST_BYTES else TOO_LARGE_A_FILE)
        if over:
            return b"".join(parts)


def check(body: bytes) -> None:
    if not body:
        return
    try:
        value = json.loads(body.decode(), parse_constant=no_number)
    except UnicodeDecodeError as error:
        raise Unreadable(400, f"The body is not UTF-8 text (byte {error.start}).") from None
    except RecursionError:
        raise Unreadable(400, "The body is nested too deeply.") from None
    except ValueError as error:
        raise Unreadable(400, f"The body is not JSON: {error}.") from None
    for field in broken(value, ""):
        told = f"{field or 'The body'} holds a broken character: type it again instead of pasting it."
        raise Unreadable(422, told, field)


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON knows")


def broken(value: Any, place: str) -> Iterator[str]:
    """Where there are characters that nobody can keep."""
    match value:
        case str() if BROKEN.search(value):
            yield place
        case dict():
            for name, part in value.items():
                if BROKEN.search(name):
                    yield place
                yield from broken(part, f"{place}.{name}".removeprefix("."))
        case list():
            for number, part in enumerate(value):
                yield from broken(part, f"{place}[{number}]")


def once(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, then whatever comes after it."""
    unread = [body]

    async def again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return again
